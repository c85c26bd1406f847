"""Fields of a topic: the table of their axes and types, and the one function that checks, converts and freezes them.

Shapes: N candidates, S subtopics, F vector width, P judged documents (pool), D feature columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from srd_gym.checks import all_finite, as_scores, numbers_of
from srd_gym.dtypes import AnyArray
from srd_gym.reading import shown, twice_in, with_type

TEXTS = {"doc_ids": "N", "doc_texts": "N", "subtopic_ids": "S", "subtopic_texts": "S", "pool_ids": "P",
         "feature_names": "D"}  # fmt: skip
"""Fields that hold texts -> what each text is of."""
ARRAYS = {"query_vector": "F", "doc_vectors": "NF", "subtopic_vectors": "SF", "retrieval_scores": "N",
          "subtopic_weights": "S", "subtopic_scores": "NS", "doc_features": "ND", "judgments": "NS",
          "pool": "PS"}  # fmt: skip
"""Fields that hold numbers -> their axes."""
GRADES = ("judgments", "pool")
"""Arrays of int8; the others are of float32."""
VECTORS = ("doc_vectors", "query_vector", "subtopic_vectors")
"""Arrays with the axis F: the first that is there sets the width."""
_IDS = ("doc_ids", "subtopic_ids", "pool_ids")
_NUMBERED = {"judgments": 1, "pool": 1, "subtopic_texts": 0, "subtopic_vectors": 0, "subtopic_weights": 0}
"""Fields by which subtopics are counted where they have no ids, the first that is there -> the axis of subtopics."""
_COUNTED = {"N": "doc_ids", "S": "subtopic_ids", "P": "pool_ids", "D": "feature_names"}
_EACH = {"N": "candidate", "S": "subtopic", "P": "document of the pool", "D": "column of features"}
_NONE: tuple[str, ...] = ()
_ALL = (*TEXTS, *ARRAYS)


class PlainIds(tuple[str, ...]):
    """Ids that are known to be different texts, and are not checked again."""


def checked_fields(topic: Any) -> dict[str, Any]:
    """The fields of a topic as they are kept: texts in tuples, arrays of their types, read-only and C-ordered.

    What fits already is not copied. Subtopics without ids are numbered "1", "2", ...

    Raises:
        TypeError: texts that are none, or something else than numbers.
        ValueError: shapes that do not match, numbers that are not finite or in range, or repeated ids; the message
            names the topic.
    """
    if not isinstance(topic.query_id, str):
        raise TypeError(f"query_id must be text, got {with_type(topic.query_id)}")
    try:
        if not isinstance(topic.query_text, str | None):
            raise TypeError(f"query_text must be text or None, got {shown(topic.query_text)}")
        fields: dict[str, Any] = {name: value for name in _ALL if (value := getattr(topic, name)) is not None}
        for name, value in fields.items():
            fields[name] = numbers_of(name, value) if name in ARRAYS else _texts(name, value)
        fields["subtopic_ids"] = fields.get("subtopic_ids") or _numbered(fields)
        fields.setdefault("feature_names", ())
        sizes = {axis: len(fields.get(name, ())) for axis, name in _COUNTED.items()}
        sizes["F"] = next((fields[name].shape[-1] for name in VECTORS if name in fields and fields[name].ndim), 0)
        if not sizes["N"]:
            raise ValueError("no candidates; expected at least one document")
        if ("pool" in fields) != ("pool_ids" in fields):
            raise ValueError("pool and pool_ids come together; one of them is missing")
        for name, value in fields.items():
            if name in ARRAYS:
                fields[name] = _frozen(name, value, tuple(map(sizes.__getitem__, ARRAYS[name])))
            elif len(value) != (size := sizes[TEXTS[name]]):
                raise ValueError(f"{name} has {len(value)} entries, expected {size} (one per {_EACH[TEXTS[name]]})")
    except (TypeError, ValueError) as error:
        error.args = (f"topic {shown(topic.query_id)}: {error}",)
        raise
    return fields


def _texts(name: str, value: object) -> tuple[str, ...]:
    """The value as a tuple of text; one text alone would be taken apart letter by letter."""
    if type(value) is PlainIds or value is _NONE:
        return value
    if isinstance(value, str | set | frozenset) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a sequence of texts, got {with_type(value)}")
    texts = tuple(value)
    if set(map(type, texts)) != {str} and (wrong := [entry for entry in texts if not isinstance(entry, str)]):
        raise TypeError(f"{name} must be text, got {with_type(wrong[0])}")
    if name in _IDS and (twice := twice_in(texts)) is not None:
        raise ValueError(f"{name} holds {shown(twice)} twice; keep one of them")
    return texts


def _numbered(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Ids "1", "2", ... of as many subtopics as are judged, named or weighed."""
    for name, axis in _NUMBERED.items():
        if name in fields:
            shape = fields[name].shape if name in ARRAYS else (len(fields[name]),)
            return tuple(str(s + 1) for s in range(shape[axis] if len(shape) > axis else 0))
    return ()


def _frozen(name: str, given: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Numbers of this shape, as they are kept; scores of subtopics may be NaN."""
    if given.shape != shape:
        raise ValueError(f"{name} has shape {given.shape}, expected {shape}")
    lacks = name == "subtopic_scores"
    rated = np.where(np.isnan(given), 0, given) if lacks else given
    if not all_finite(rated):
        row = int(np.argwhere(~np.isfinite(rated))[0][0])
        kind, wanted = ("infinity", ", or NaN where nobody rated") if lacks else ("NaN or infinity", "")
        raise ValueError(f"{name} holds {kind} (first at row {row}); expected finite numbers{wanted}")
    if name == "retrieval_scores":
        if len(rises := np.flatnonzero(given[1:] > given[:-1])):
            where = f"from candidate {rises[0]} to {rises[0] + 1}"
            raise ValueError(f"{name} rise {where}; candidates must be in retrieval order, best first")
        given = as_scores(given)
    dtype = np.int8 if name in GRADES else np.float32
    if given.dtype == dtype:
        array: AnyArray = np.ascontiguousarray(given)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            array = np.ascontiguousarray(given, dtype)
        if name in GRADES and not np.array_equal(array, given):
            raise ValueError(f"{name} holds values that are not whole numbers from -128 to 127")
        if not all_finite(array) and np.isinf(array).any():
            raise ValueError(f"{name} holds values that float32 cannot represent")
    if name == "subtopic_weights" and not (array > 0).all():
        raise ValueError(f"{name} must be positive, got {array.min()}")
    return read_only(array)


def read_only(array: AnyArray) -> AnyArray:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
