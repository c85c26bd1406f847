"""Queries and named subtopics from files of the usual forms, which their content tells.

==============  ======================================================================================================
queries         a line or an element
==============  ======================================================================================================
TSV             `id<TAB>text` (MS MARCO, BEIR's exports)
colon           `251:spider bites` (ndeval's and Indri's examples)
JSON lines      `{"_id": "1", "text": "..."}` (BEIR), `{"query_id": 1, "query": "..."}` (MS MARCO)
TREC            `<top>` with `<num>` and `<title>` (ad-hoc tracks)
Web Track XML   `<topic number="1">` with `<query>` and `<subtopic number="1">`
==============  ======================================================================================================

==============  ======================================================================================================
subtopics       a line or an element
==============  ======================================================================================================
TSV             `query<TAB>subtopic<TAB>text`, or `query<TAB>text`
JSON lines      `{"query_id": "1", "_id": "2", "text": "..."}`, or `{"query_id": "1", "subtopics": ["...", "..."]}`
Web Track XML   as above
==============  ======================================================================================================

Subtopics without ids of their own are called "named-1", "named-2", ... within their query: they are no subtopics of the
judgments, whose ids are often numbers. White space in texts is folded. Files may be packed by gzip, xz or bz2.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from defusedxml import ElementTree as SafeElementTree
from defusedxml.common import DefusedXmlException

from srd_gym.data.folders import JsonLine
from srd_gym.files import PathLike
from srd_gym.reading import open_binary, shown
from srd_gym.trec_lines import Paths, claim_query, path_list

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_XML = "topics XML"
_TOPICS = "topics"
_SUBTOPICS = "subtopics"
_QUERY_FORMS = 'id<TAB>text, id:text, {"_id": ..., "text": ...}, TREC <top> or Web Track XML'
_SUBTOPIC_FORMS = 'query<TAB>subtopic<TAB>text, query<TAB>text, {"query_id": ..., "text": ...} or Web Track XML'
_IDS = ("_id", "query_id", "qid", "id")
_TEXTS = ("text", "query", "title")
_TOP = re.compile(r"<top>(?P<body>.*?)(?P<end></top>|(?=<top>)|\Z)", re.DOTALL | re.IGNORECASE)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of such text, which is read as XML alone."""
_LABELS = {"num": "Number", "title": "Topic"}
"""Tags of TREC's topics that are read, and the label that may be written before their text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicText:
    """One topic of a topics file."""

    query_text: str
    """The query as typed."""
    subtopics: dict[str, str]
    """Text by subtopic id, in the file's order."""


_Entry = tuple[str, str, TopicText]
"""Place in a file (for errors), query id, and texts."""


def read_queries(paths: Paths) -> dict[str, TopicText]:
    """Queries from files of any of the forms above, each told by its content; subtopics come from Web Track XML alone.

    Args:
        paths: one file or several parts, which may differ in form.

    Returns:
        Texts by query id, in the order of the files.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another form, a line of another form than the first, a query without a text, or a query twice; the
            message gives file, line, what was expected and what came.
    """
    return _collected(paths, _TOPICS, _query_entries)


def read_topics_xml(paths: Paths) -> dict[str, TopicText]:
    """Queries and subtopic texts from topics files: `<topic number=...>` with `<query>` and `<subtopic number=...>`.

    The files come with a DOCTYPE that lists their elements, which is accepted; entities, which could blow a small file
    up to gigabytes or read other files, are refused. White space is folded; everything else is kept as data.

    Args:
        paths: one file or several parts; XML, plain or gzip.

    Returns:
        Texts by query id.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not XML, an entity declaration or an external reference, a topic without number or query, a number
            that is duplicated, or a topic in two files.
    """
    return _collected(paths, _XML, _xml_entries)


def read_subtopics(paths: Paths) -> dict[str, dict[str, str]]:
    """Named subtopics from files of any of the forms above, each told by its content.

    Args:
        paths: one file or several parts.

    Returns:
        Query id -> subtopic id -> text, in the order of the files.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another form, a subtopic without a text, or a subtopic twice; the message gives file, line, what was
            expected and what came.
    """
    found: dict[str, dict[str, str]] = {}
    for path in path_list(paths, _SUBTOPICS):
        with open_binary(path, _SUBTOPICS) as stream:
            for place, query_id, subtopic_id, text in _subtopic_entries(stream.read(), path):
                own = found.setdefault(query_id, {})
                name = subtopic_id or f"named-{len(own) + 1}"
                if name in own:
                    what = f"subtopic {shown(name)} of query {shown(query_id)}"
                    raise ValueError(f"{place}: {what} is duplicated; keep one of them")
                own[name] = text
    return found


def _collected(paths: Paths, what: str, entries: Callable[[bytes, PathLike], Iterable[_Entry]]) -> dict[str, TopicText]:
    """The entries of several files by query id, each query once."""
    texts: dict[str, TopicText] = {}
    owner: dict[str, PathLike] = {}
    expected = "well-formed XML" if what == _XML else f"topics ({_QUERY_FORMS})"
    for path in path_list(paths, what):
        with open_binary(path, what, expected) as stream:
            for place, query_id, text in entries(stream.read(), path):
                if owner.get(query_id) == path:
                    raise ValueError(f"{place}: topic {shown(query_id)} is duplicated; keep one of them")
                claim_query(what, owner, query_id, path)
                texts[query_id] = text
    return texts


def _query_entries(content: bytes, path: PathLike) -> Iterator[_Entry]:
    """The queries of a file of any form."""
    form = "<" if content[:2] in _UTF16 else _form(content, path, _TOPICS, _QUERY_FORMS)
    if form == "<":
        top = _TOP.search(content.decode("utf-8", errors="replace"))  # XML may declare another encoding
        yield from _top_entries(content, path) if top else _xml_entries(content, path)
        return
    for place, line in _lines(content, path, _TOPICS):
        if form == "{":
            entry = JsonLine.of(line, place)
            query_id, text = _folded(entry.text(*_IDS)), _folded(entry.text(*_TEXTS))
        else:
            query_id, text = _fields(line, form, place, "id<TAB>text" if form == "\t" else "id:text")
        yield place, query_id, TopicText(query_text=text, subtopics={})


def _subtopic_entries(content: bytes, path: PathLike) -> Iterator[tuple[str, str, str | None, str]]:
    """Place, query id, subtopic id (None: it has none) and text of each subtopic of a file of any form."""
    form = _form(content, path, _SUBTOPICS, _SUBTOPIC_FORMS)
    if form == "<":
        for place, query_id, about in _xml_entries(content, path):
            yield from ((place, query_id, name, text) for name, text in about.subtopics.items())
        return
    for place, line in _lines(content, path, _SUBTOPICS):
        if form == "{":
            entry = JsonLine.of(line, place)
            query_id, listed = _folded(entry.text("query_id", "qid")), entry.values.get("subtopics")
            for text in listed if isinstance(listed, list) else ():
                if not isinstance(text, str) or not text.strip():
                    raise entry.fault("a list of texts", text)
                yield place, query_id, None, _folded(text)
            if not isinstance(listed, list):
                named = not entry.values.keys().isdisjoint(("_id", "subtopic_id"))
                name = _folded(entry.text("_id", "subtopic_id")) if named else None
                yield place, query_id, name, _folded(entry.text("text", "subtopic"))
        elif form == "\t" and line.count("\t") == 2:
            query_id, name, text = _fields(line, form, place, "query<TAB>subtopic<TAB>text", 3)
            yield place, query_id, name, text
        else:
            query_id, text = _fields(line, form, place, "query<TAB>text" if form == "\t" else "query:text")
            yield place, query_id, None, text


def _form(content: bytes, path: PathLike, what: str, forms: str) -> str:
    """The mark by which the first line tells the form: "<", "{", a tab or a colon."""
    place, first = next(_lines(content, path, what))
    form = next((mark for mark in "<{" if first.lstrip().startswith(mark)), None)
    form = form or next((mark for mark in "\t:" if mark in first), None)
    if form is None:
        raise ValueError(f"{place}: expected {forms}; got {shown(first)}")
    return form


def _lines(content: bytes, path: PathLike, what: str) -> Iterator[tuple[str, str]]:
    """The place of each line that is not blank, and the line.

    Raises:
        ValueError: there is none.
    """
    text = content.decode("utf-8-sig", errors="strict" if content.lstrip()[:1] != b"<" else "replace")
    lines = [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise ValueError(f"{what}: {path} holds only blank lines; expected at least one line of data")
    yield from ((f"{what}: {path}:{number}", line) for number, line in lines)


def _fields(line: str, mark: str, place: str, expected: str, count: int = 2) -> list[str]:
    """The fields of a line, white space folded, none of them empty; a text may hold colons."""
    fields = [_folded(field) for field in (line.split(mark, 1) if mark == ":" else line.split(mark))]
    if len(fields) != count or not all(fields):
        raise ValueError(f"{place}: expected {expected}, as the first line has it; got {shown(line)}")
    return fields


def _folded(text: str) -> str:
    """The text, runs of white space as one space."""
    return " ".join(text.split())


def _top_entries(content: bytes, path: PathLike) -> Iterator[_Entry]:
    """Topics of TREC's ad-hoc tracks, whose tags need not be closed."""
    text = content.decode("utf-8-sig")
    for top in _TOP.finditer(text):
        place = f"{_TOPICS}: {path}:{text.count(chr(10), 0, top.start()) + 1}"
        if not top["end"]:
            raise ValueError(f"{place}: expected </top> at the end of this <top>, got none; was the file cut off?")
        values = []
        for tag, label in _LABELS.items():
            match = re.search(rf"<{tag}>(?:\s*{label}\s*:)?(?P<text>[^<]*)", top["body"], re.IGNORECASE)
            value = "" if match is None else _folded(match["text"])
            if not value:
                raise ValueError(f"{place}: expected <{tag}> with a text in this <top>, got {shown(top['body'])}")
            values.append(value)
        yield place, values[0], TopicText(query_text=values[1], subtopics={})


def _xml_entries(content: bytes, path: PathLike) -> Iterator[_Entry]:
    """Topics of the Web Track's files."""
    root = _root(content, path)
    place = f"{_XML}: {path}"
    elements = list(root.iter("topic"))
    if not elements:
        raise ValueError(f"{place}: no <topic number=...> in <{root.tag}>; expected a TREC Web Track topics file")
    for element in elements:
        query_id = _number(element, path, "topic")
        query = element.find("query")
        if query is None:
            raise ValueError(f"{place}: topic {shown(query_id)} has no <query>; expected one")
        subtopics: dict[str, str] = {}
        for subtopic in element.findall("subtopic"):
            number = _number(subtopic, path, f"subtopic of topic {shown(query_id)}")
            if number in subtopics:
                raise ValueError(f"{place}: topic {shown(query_id)} has subtopic {shown(number)} twice; keep one")
            subtopics[number] = _inside(subtopic)
        yield place, query_id, TopicText(query_text=_inside(query), subtopics=subtopics)


def _root(content: bytes, path: PathLike) -> Element:
    """The root of the document, which may declare its elements, but no entities."""
    try:
        root: Element = SafeElementTree.parse(io.BytesIO(content), forbid_dtd=False, forbid_entities=True).getroot()
    except DefusedXmlException as error:
        raise ValueError(
            f"{_XML}: {path} declares an entity or refers to another file, which is refused because it can "
            f"exhaust memory or read files ({error}); write the text out in place and remove the declaration"
        ) from error
    except SafeElementTree.ParseError as error:
        raise ValueError(
            f"{_XML}: {path}: not well-formed XML ({error}); correct that line, or fetch it again"
        ) from error
    return root


def _number(element: Element, path: PathLike, what: str) -> str:
    """The attribute `number`."""
    number = element.get("number", "").strip()
    if not number:
        raise ValueError(f'{_XML}: {path}: a {what} has no number; expected <{element.tag} number="...">')
    return number


def _inside(element: Element) -> str:
    """All text inside, white space folded."""
    return _folded("".join(element.itertext()))
