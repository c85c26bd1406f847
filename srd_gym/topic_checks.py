"""Checks of a topic under construction: everything is converted, compared with its shape, and frozen, or named."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from srd_gym.topic import Topic

_IDS = ("doc_ids", "subtopic_ids", "pool_ids")
_TEXTS = (*_IDS, "doc_texts", "subtopic_texts", "feature_names")


def check_topic(topic: Topic) -> None:
    """Convert, check and freeze every field of a topic under construction."""
    _check_texts(topic)
    _check_arrays(topic)
    _check_counts(topic)


def _fault(topic: Topic, found: str, kind: type[Exception] = ValueError) -> Exception:
    """The error about a topic."""
    return kind(f"topic {topic.query_id!r}: {found}")


def _check_texts(topic: Topic) -> None:
    """Ids and texts are text, and ids differ."""
    if not isinstance(topic.query_id, str):
        raise TypeError(f"query_id must be text, got {topic.query_id!r} ({type(topic.query_id).__name__})")
    if not isinstance(topic.query_text, str | None):
        raise _fault(topic, f"query_text must be text or None, got {topic.query_text!r}", TypeError)
    for name in _TEXTS:
        value = getattr(topic, name)
        if value is not None:
            texts = _texts(topic, name, value)
            object.__setattr__(topic, name, texts)
            if name in _IDS and len(set(texts)) < len(texts):
                (twice, _), *_ = Counter(texts).most_common(1)
                raise _fault(topic, f"{name} holds {twice!r} twice; keep one of them")
    if not topic.doc_ids:
        raise ValueError(f"topic {topic.query_id!r} has no candidates; expected at least one document")


def _texts(topic: Topic, name: str, value: Any) -> tuple[str, ...]:
    """The value as a tuple of text; one text alone would be taken apart letter by letter."""
    if isinstance(value, str):
        raise _fault(topic, f"{name} must be a sequence of texts, got the single text {value!r}", TypeError)
    texts = tuple(value)
    wrong = [entry for entry in texts if not isinstance(entry, str)]
    if wrong:
        raise _fault(topic, f"{name} must be text, got {wrong[0]!r} ({type(wrong[0]).__name__})", TypeError)
    return texts


def _check_arrays(topic: Topic) -> None:
    """Arrays have the shapes that the ids and the vector width ask for."""
    n, s, p = len(topic.doc_ids), len(topic.subtopic_ids), len(topic.pool_ids or ())
    # The documents' vectors set the width, else the query's, else the subtopics'.
    names = ("doc_vectors", "query_vector", "subtopic_vectors")
    vectors = [_numbers(topic, name) for name in names if getattr(topic, name) is not None]
    width = next((array.shape[-1] for array in vectors if array.ndim), 0)
    expected: dict[str, tuple[int, ...]] = {
        "query_vector": (width,),
        "doc_vectors": (n, width),
        "retrieval_scores": (n,),
        "subtopic_vectors": (s, width),
        "subtopic_weights": (s,),
        "judgments": (n, s),
        "pool": (p, s),
        "doc_features": (n, len(topic.feature_names)),
    }
    for name, shape in expected.items():
        if getattr(topic, name) is not None:
            dtype = np.int8 if name in ("judgments", "pool") else np.float32
            object.__setattr__(topic, name, _checked_array(topic, name, dtype, shape))


def _numbers(topic: Topic, name: str) -> NDArray[Any]:
    """A field as an array of numbers."""
    try:
        given = np.asarray(getattr(topic, name))
    except ValueError as error:
        raise _fault(topic, f"{name} is no array: {error}") from error
    if given.size and given.dtype.kind not in "fiub":
        raise _fault(topic, f"{name} must hold numbers, got {given.dtype}", TypeError)
    return given


def _checked_array(topic: Topic, name: str, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """A field as a read-only, C-ordered, finite array of this dtype and shape."""
    given = _numbers(topic, name)
    if given.shape != shape:
        raise _fault(topic, f"{name} has shape {given.shape}, expected {shape}")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        row = int(np.argwhere(~np.isfinite(given))[0][0])
        raise _fault(topic, f"{name} holds NaN or infinity (first at row {row}); expected finite numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.ascontiguousarray(given, dtype=dtype)
    fits = np.isfinite(array).all() if dtype is np.float32 else np.array_equal(array, given)
    if not fits:
        raise _fault(topic, f"{name} holds values that {np.dtype(dtype).name} cannot represent")
    frozen = array.view()
    frozen.flags.writeable = False
    return frozen


def _check_counts(topic: Topic) -> None:
    """Fields that come together are there together, one entry each."""
    for name, ids, each in (
        ("doc_texts", topic.doc_ids, "candidate"),
        ("subtopic_texts", topic.subtopic_ids, "subtopic"),
    ):
        value = getattr(topic, name)
        if value is not None and len(value) != len(ids):
            raise _fault(topic, f"{name} has {len(value)} entries, expected {len(ids)} (one a {each})")
    if (topic.pool is None) != (topic.pool_ids is None):
        raise _fault(topic, "pool and pool_ids come together; one of them is missing")
    weights = topic.subtopic_weights
    if weights is not None and not (weights > 0).all():
        raise _fault(topic, f"subtopic_weights must be positive, got {weights.min()}")
    scores = topic.retrieval_scores
    if scores is not None and len(rises := np.flatnonzero(np.diff(scores) > 0)):
        raise _fault(
            topic,
            f"retrieval_scores rise from candidate {rises[0]} to {rises[0] + 1}; candidates must stand in retrieval "
            "order, best first",
        )
