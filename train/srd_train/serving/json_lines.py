"""Ranking as a stream: one JSON object a line in, one out."""

from __future__ import annotations

import binascii
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from srd_agents.pipeline.arguments import ARGUMENTS
from srd_agents.pipeline.capabilities import puts_copies_last
from srd_agents.pipeline.given import Given, ready_to_rank
from srd_agents.pipeline.given import topic_of as _topic_of
from srd_agents.pipeline.limits import array_of
from srd_agents.pipeline.request import RankingRequest
from srd_agents.pipeline.subtopics import texts_of, weights_apart
from srd_gym.checks import check_integer, unknown
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.protocols import Ranker
from srd_gym.reading import few, json_value, shown, with_type
from srd_gym.topic import Topic, TopicSet
from srd_train.serving.models import Model

REQUIRED = ("query_id", "doc_ids")
_CALLED = {"scores": "retrieval_scores", "texts": "doc_texts"}
"""Words of lines, where they are others than those of `diversify`."""
OPTIONAL = tuple(_CALLED.get(name, name) for name, each in ARGUMENTS.items() if each.schema)
"""Further keys of a line."""
_OF_REQUEST = tuple(name for name, each in ARGUMENTS.items() if each.schema and not each.shape and name != "k")
_LIMITS = (*_OF_REQUEST, "groups", "costs", "already_shown", "pinned")
_OF_DOCUMENTS = tuple(
    _CALLED.get(name, name) for name, each in ARGUMENTS.items() if each.shape.strip("[")[:1] in ("N", "P", "R")
)
_KEYS = (*REQUIRED, *OPTIONAL)
OnError = Literal["stop", "skip", "record"]
"""Treatment of a line that cannot be ranked: the end, a notice, or an object with its number and the error."""
_NOTHING: Mapping[str, object] = dict.fromkeys(_LIMITS)
_ENCODED = ("float32", "float16")


def rank_lines(
    model: Model,
    lines: Iterable[str | bytes],
    answer: Callable[[str], None],
    k: int,
    *,
    on_error: OnError = "stop",
    notice: Callable[[str], None] = lambda _: None,
    pass_through: Collection[str] = (),
) -> int:
    """Answer each line before the next is read, so that a service can talk through a pipe.

    Args:
        model: what ranks.
        lines: JSON objects with `REQUIRED` and some of `OPTIONAL` keys, bytes in UTF-8; blank lines are passed over.
        answer: takes `{"query_id": ..., "ranking": [document ids, best first]}`, ids as they came; of a line with
            `fill` also `"filled"`, ids of the ranking that are above `max_per_group`.
        k: documents per ranking, of lines that do not give theirs.
        on_error: what becomes of a line that cannot be ranked; "record": `{"line": number, "error": ...}`, with the
            query id where there is one.
        notice: takes the errors of lines that are skipped.
        pass_through: further keys that a line may have, which its answer repeats.

    Returns:
        How many lines could not be ranked.

    Raises:
        ValueError: a line that cannot be ranked, where `on_error` is "stop"; the message gives its number. Lines before
            it are answered. Or a key to pass through that has a meaning here.
    """
    if taken := [key for key in pass_through if key in (*_KEYS, "ranking", "filled", "line", "error")]:
        raise ValueError(f"the key {shown(taken[0])} cannot be passed through: it has a meaning here")
    ranker, refused = _LineRanker(model, k, pass_through), 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        content, repeated = dict[str, object](), dict[str, object]()
        try:
            content = content_of(line.decode("utf-8-sig") if isinstance(line, bytes) else line)
            repeated = _repeated(content, pass_through)
            result = {"query_id": content.get("query_id"), **ranker.rank(content)}
        except (ValueError, TypeError) as error:
            if on_error == "stop":
                raise ValueError(f"line {number}: {error}") from error
            refused += 1
            if on_error == "skip":
                notice(f"line {number} is skipped: {error}")
                continue
            found = content.get("query_id")
            result = {"line": number, "query_id": found if isinstance(found, str | int) else None, "error": str(error)}
        answer(json.dumps(result | repeated))
    return refused


def _repeated(content: Mapping[str, object], keys: Collection[str]) -> dict[str, object]:
    """The entries of a line that its answer repeats.

    Raises:
        ValueError: one that JSON cannot hold, though Python reads it.
    """
    repeated = {key: content[key] for key in keys if key in content}
    try:
        json.dumps(repeated, allow_nan=False)
    except ValueError as error:
        raise ValueError(f"{', '.join(repeated)}: JSON has no NaN and no infinity; write null") from error
    return repeated


def content_of(line: str) -> dict[str, object]:
    """The object in a line.

    Raises:
        ValueError: not a JSON object.
    """
    try:
        content = json_value(line)
    except RecursionError as error:
        raise ValueError("not JSON that can be read (nested too deeply)") from error
    except ValueError as error:
        raise ValueError(f"not JSON ({error})") from error
    if not isinstance(content, dict):
        raise ValueError(f"expected a JSON object with {', '.join(REQUIRED)}, got {type(content).__name__}")
    return content


class _LineRanker:
    """Ranks the documents of lines.

    Args:
        model: what ranks.
        k: documents per ranking.
        pass_through: keys of lines that say nothing here.
    """

    def __init__(self, model: Model, k: int, pass_through: Collection[str]) -> None:
        self._model, self._k, self._pass_through = model, k, pass_through
        self._plain = self._request(_NOTHING)

    def rank(self, content: Mapping[str, object]) -> dict[str, list[str | int]]:
        """The answer without its query: ids of the documents to show, best first, as they came.

        Raises:
            ValueError, TypeError: a missing or unknown key, values that do not make a topic, or what the ranker
                refuses.
        """
        given = known(content, self._pass_through)
        k = given.pop("k", self._k)
        check_integer("k", k, 1)
        nothing = given["doc_ids"] == []
        given = _with_a_document(given) if nothing else given
        limits = {key: given.pop(key, None) for key in _LIMITS}
        topic, order = topic_of(given) if nothing else self._topic(given)
        request = self._plain
        alike = "similarity" in given
        if topic.n_subtopics or alike or limits != _NOTHING:
            request = self._request(limits, subtopics=topic.n_subtopics > 0, similarity=alike)
        if nothing:
            return {"ranking": [], "filled": []} if request.limits.fill else {"ranking": []}
        places: Any = {key: _positions(given["doc_ids"], limits[key], key) for key in ("already_shown", "pinned")}
        told = Given(topic.query_id, groups=limits["groups"], costs=limits["costs"], **places)
        limit = request.limits.of(topic, order, told)
        ((ranking, _),) = request.show([topic], k, [limit])
        ids = given["doc_ids"]
        shown_now = [ids[i] for i in (ranking if order is None else order[ranking]).tolist()]
        if not limit.fill:
            return {"ranking": shown_now}
        filled = limit.filled(ranking).tolist()
        return {"ranking": shown_now, "filled": [name for name, above in zip(shown_now, filled, strict=True) if above]}

    def _topic(self, content: dict[str, Any]) -> tuple[Topic, IntArray | None]:
        """`topic_of` with what the ranker needs of it."""
        topic, order = topic_of(content)
        if self._model.compares_words and topic.doc_vectors is None and topic.doc_texts is not None:
            named = not {"subtopics", "subtopic_scores"}.isdisjoint(content)
            (given,) = ready_to_rank([given_of(content)], None, named=named, alone=True)
            topic, order = _topic_of(given, None, "retrieval_scores")
        if self._model.vectorizer is not None:
            (topic,) = self._model.vectorizer.apply(TopicSet([topic], name="topics"))
        elif topic.subtopic_texts is not None and topic.subtopic_scores is None:
            raise ValueError("subtopics are texts: give their embeddings, or subtopic_scores for each document")
        return topic, order

    def _request(self, limits: Mapping[str, object], **of_topic: Any) -> RankingRequest:
        """The request of a line; where it says nothing of near-duplicates, the ranker does."""
        ranker: Ranker | None = None
        asked = dict[str, Any]()
        if not limits["per_cost"]:  # which chooses in place of the command's ranker
            ranker = self._model.ranker
            asked["near_duplicates"] = ranker.copies if puts_copies_last(ranker) else None
        asked |= {name: limits[name] for name in _OF_REQUEST if limits[name] is not None}
        asked |= {name: limits[name] is not None for name in ("groups", "costs")}
        return RankingRequest(ranker=ranker, strict=True, **asked, **of_topic)


def known(content: Mapping[str, object], pass_through: Collection[str] = ()) -> dict[str, Any]:
    """Fields of a line, without nulls and those passed through.

    Raises:
        ValueError: a missing or unknown key.
    """
    given = {key: value for key, value in content.items() if value is not None and key not in pass_through}
    if missing := [key for key in REQUIRED if key not in given]:
        raise ValueError(
            f"no {' and no '.join(missing)}; expected {', '.join(REQUIRED)} and optional {', '.join(OPTIONAL)}; got "
            f"{few(list(content)) or 'no keys'}"
        )
    for key in given:
        if key not in _KEYS:
            raise unknown("key", key, _KEYS, "--pass-through KEY lets answers repeat one of yours.")
    named = given.get("subtopics")
    if isinstance(named, dict) and not named.keys() <= set(_ENCODED):
        given["subtopics"], given["subtopic_weights"] = weights_apart(named, given.get("subtopic_weights"))
    return given


def _with_a_document(given: dict[str, object]) -> dict[str, Any]:
    """A line for which nothing was retrieved, with a document, so that all else is checked as in other lines."""
    if wrong := [key for key in _OF_DOCUMENTS if given.get(key, []) not in ([], "", {"float32": ""}, {"float16": ""})]:
        raise ValueError(f"{wrong[0]}: doc_ids names no document, got {shown(given[wrong[0]])}")
    dropped = {*_OF_DOCUMENTS} - {*_LIMITS}
    return {key: value for key, value in given.items() if key not in dropped} | {"doc_ids": [""]}


def topic_of(content: Mapping[str, object]) -> tuple[Topic, IntArray | None]:
    """The topic of a line; candidates with retrieval scores are put into retrieval order.

    Args:
        content: `REQUIRED` and some of the keys that describe a topic.

    Returns:
        The topic, and for each of its candidates its position in the line (None: the same).

    Raises:
        TypeError: ids that are neither text nor whole numbers, or something that holds no numbers.
        ValueError: values that do not make a topic.
    """
    return _topic_of(given_of(content), None, "retrieval_scores")


def given_of(content: Mapping[str, Any]) -> Given:
    """The topic of a line as `diversify` takes it: ids as text, numbers as arrays.

    Raises:
        TypeError, ValueError: as `topic_of`.
    """
    values: dict[str, Any] = {
        name: content.get(_CALLED.get(name, name)) for name, each in ARGUMENTS.items() if each.shape
    }
    for key in ("doc_ids", "doc_texts"):
        if not isinstance(content.get(key, []), list):
            raise ValueError(f"{key}: expected a list of texts, got {type(content[key]).__name__}")
    query_id = _id("query_id", content["query_id"])
    doc_ids = tuple([_id("doc_ids", each) for each in content["doc_ids"]])
    shapes: dict[str, tuple[int, ...]] = {
        name: (len(doc_ids), -1) for name in ("doc_vectors", "similarity", "subtopic_scores")
    }
    shapes |= {"query_vector": (-1,)}
    if values["subtopics"] and not texts_of(values["subtopics"]):
        shapes["subtopics"] = (-1, *np.shape(content.get("doc_vectors", ()))[1:])
    for key, shape in shapes.items():
        if values[key] is not None:
            values[key] = _array(query_id, key, values[key], shape)
    return Given(query_id, doc_ids, doc_texts=values.pop("texts"), **values)


def _id(key: str, value: object) -> str:
    """An id as topics have it: text."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"{key} must be text or whole numbers, got {with_type(value)}")
    return str(value)


def _positions(doc_ids: Sequence[str | int], ids: object, key: str) -> list[int | None] | None:
    """The places of these documents in the line; of pinned ones, None for places that are free."""
    if ids is None:
        return None
    if not isinstance(ids, list):
        raise ValueError(f"{key}: expected a list of document ids, got {type(ids).__name__}")
    place = {str(doc_id): position for position, doc_id in enumerate(doc_ids)}
    named = [None if each is None and key == "pinned" else _id(key, each) for each in ids]
    if absent := [each for each in named if each is not None and each not in place]:
        raise ValueError(f"{key}: {shown(absent[0])} is not among doc_ids")
    return [None if each is None else place[each] for each in named]


def _array(query_id: str, key: str, value: object, shape: tuple[int, ...]) -> AnyArray:
    """Numbers as an array: lists of them, or base64 of little-endian float32, or of {"float16": ...}.

    Args:
        query_id: for errors.
        key: for errors.
        value: as it came; null among numbers is NaN.
        shape: of what is written in one text of base64, -1 for one length that is not known. A list of texts has a row
            per text, whatever the shape: the topic refuses others than it has.
    """
    kind, encoded = "float32", value
    if isinstance(value, dict):
        if len(value) != 1 or (kind := next(iter(value))) not in _ENCODED:
            raise ValueError(
                f'{key}: expected numbers, base64 of float32, or {{"float16": base64}}, got {shown(value)}'
            )
        encoded = value[kind]
    if isinstance(encoded, str):
        return _decoded(key, [encoded], kind, shape)
    if isinstance(encoded, list) and encoded and all(isinstance(one, str) for one in encoded):
        return _decoded(key, encoded, kind, (len(encoded), -1))
    return array_of(query_id, key, encoded, may_lack=True)


def _decoded(key: str, rows: list[str], kind: str, shape: tuple[int, ...]) -> AnyArray:
    """Numbers from base64: of all rows in one text, or of a text each."""
    try:
        parts = [binascii.a2b_base64(row, strict_mode=True) for row in rows]
        if len({len(part) for part in parts}) > 1:
            raise ValueError("rows of several lengths")
        flat = np.frombuffer(b"".join(parts), dtype=np.dtype(kind).newbyteorder("<"))
        return flat.reshape(shape)
    except ValueError as error:
        each = "" if len(shape) == 1 else f", rows of one width for {shape[0]} documents" if shape[0] > 0 else ""
        raise ValueError(f"{key}: not base64 of little-endian {kind}{each} ({error})") from error
