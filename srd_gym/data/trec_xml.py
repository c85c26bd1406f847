"""TREC Web Track topics files: queries and the texts of their subtopics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from defusedxml import ElementTree as SafeElementTree
from defusedxml.common import DefusedXmlException

from srd_gym.files import PathLike
from srd_gym.reading import open_binary, shown

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_WHAT = "topics XML"
_MAX_DEFAULTS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicText:
    """What a topics file says about one topic."""

    query_text: str
    """The query as typed."""
    subtopics: dict[str, str]
    """Text by subtopic id, in the file's order."""


def read_topic_texts(path: PathLike) -> dict[str, TopicText]:
    """Read one topics file: `<topic number=...>` with `<query>` and `<subtopic number=...>`.

    The files come with a DOCTYPE that lists their elements, which is accepted; entities, which could blow a small file
    up to gigabytes or read other files, are refused. White space is folded; everything else is kept as data.

    Args:
        path: the XML file, plain or gzip.

    Returns:
        Texts by query id.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not XML, an entity declaration or an external reference, a topic without number or query, or a
            number that comes twice.
    """
    texts: dict[str, TopicText] = {}
    with open_binary(path, _WHAT, "well-formed XML") as stream:
        root = _root(stream, path)
        for element in root.iter("topic"):
            query_id = _number(element, path, "topic")
            if query_id in texts:
                raise ValueError(f"{_WHAT}: {path}: topic {shown(query_id)} comes twice; keep one of them")
            texts[query_id] = _topic_text(element, path, query_id)
    if not texts:
        raise ValueError(
            f"{_WHAT}: {path}: no <topic number=...> in <{root.tag}>; expected a TREC Web Track topics file"
        )
    return texts


def _root(stream: BinaryIO, path: PathLike) -> Element:
    """The root of the document, which must declare nothing that makes it larger than it is written."""
    parser = SafeElementTree.XMLParser(forbid_dtd=False, forbid_entities=True, forbid_external=True)
    parser.parser.AttlistDeclHandler = _Defaults().declared
    try:
        root: Element = SafeElementTree.parse(stream, parser).getroot()
    except DefusedXmlException as error:
        raise ValueError(
            f"{_WHAT}: {path} declares an entity or refers to another file, which is refused because it can "
            f"exhaust memory or read files ({error}); write the text out in place and remove the declaration"
        ) from error
    return root


class _Defaults:
    """Refuses long defaults of attributes: every element repeats them. The published files have short ones."""

    def __init__(self) -> None:
        self._length = 0

    def declared(self, element: str, attribute: str, kind: str, default: str | None, required: bool) -> None:
        """Count a declared attribute."""
        self._length += 0 if default is None else len(attribute) + len(default)
        if self._length > _MAX_DEFAULTS:
            raise DefusedXmlException(f"defaults of attributes, up to {attribute} of <{element}>, are too long")


def _topic_text(element: Element, path: PathLike, query_id: str) -> TopicText:
    """One topic's texts."""
    query = element.find("query")
    if query is None:
        raise ValueError(f"{_WHAT}: {path}: topic {shown(query_id)} has no <query>")
    subtopics: dict[str, str] = {}
    for subtopic in element.findall("subtopic"):
        number = _number(subtopic, path, f"subtopic of topic {shown(query_id)}")
        if number in subtopics:
            raise ValueError(f"{_WHAT}: {path}: topic {shown(query_id)} has subtopic {shown(number)} twice")
        subtopics[number] = _text(subtopic)
    return TopicText(
        query_text=_text(query),
        subtopics=subtopics,
    )


def _number(element: Element, path: PathLike, what: str) -> str:
    """The attribute `number`."""
    number = element.get("number", "").strip()
    if not number:
        raise ValueError(f'{_WHAT}: {path}: a {what} has no number; expected <{element.tag} number="...">')
    return number


def _text(element: Element) -> str:
    """All text inside, white space folded."""
    return " ".join("".join(element.itertext()).split())
