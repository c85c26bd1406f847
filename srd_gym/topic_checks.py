"""Checks of a topic under construction: everything is converted, compared with its shape, and frozen, or named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from srd_gym.topic import Topic

_IDS = ("doc_ids", "subtopic_ids", "pool_ids")
_TEXTS = ("doc_texts", "subtopic_texts", "feature_names")
_ARRAYS = (
    "query_vector",
    "doc_vectors",
    "retrieval_scores",
    "subtopic_vectors",
    "subtopic_weights",
    "judgments",
    "pool",
    "doc_features",
)


def check_topic(topic: Topic) -> None:
    """Convert, check and freeze every field of a topic under construction."""
    _check_texts(topic)
    _check_arrays(topic)
    _check_counts(topic)


def _put(topic: Topic, name: str, value: object) -> None:
    """Set a field of a topic that is frozen for everybody else."""
    object.__setattr__(topic, name, value)


def _check_texts(topic: Topic) -> None:
    """Ids and texts are text, and ids differ."""
    if not isinstance(topic.query_id, str):
        raise TypeError(f"query_id must be text, got {topic.query_id!r} ({type(topic.query_id).__name__})")
    if topic.query_text is not None and not isinstance(topic.query_text, str):
        raise TypeError(f"topic {topic.query_id!r}: query_text must be text or None, got {topic.query_text!r}")
    for name in (*_IDS, *_TEXTS):
        value = getattr(topic, name)
        if value is not None:
            _put(topic, name, _texts(topic.query_id, name, value))
    for name in _IDS:
        _check_distinct(topic, name)
    if not topic.doc_ids:
        raise ValueError(f"topic {topic.query_id!r} has no candidates; expected at least one document")


def _check_arrays(topic: Topic) -> None:
    """Arrays have the shapes that the ids and the vector width ask for."""
    given = {
        name: _numbers(topic.query_id, name, value) for name in _ARRAYS if (value := getattr(topic, name)) is not None
    }
    # The documents' vectors set the width, else the query's, else the subtopics'.
    vectors = (given.get(name) for name in ("doc_vectors", "query_vector", "subtopic_vectors"))
    width = next((v.shape[-1] for v in vectors if v is not None and v.ndim), 0)
    n, s, p = len(topic.doc_ids), len(topic.subtopic_ids), len(topic.pool_ids or ())
    expected: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
        "query_vector": (np.float32, (width,)),
        "doc_vectors": (np.float32, (n, width)),
        "retrieval_scores": (np.float32, (n,)),
        "subtopic_vectors": (np.float32, (s, width)),
        "subtopic_weights": (np.float32, (s,)),
        "judgments": (np.int8, (n, s)),
        "pool": (np.int8, (p, s)),
        "doc_features": (np.float32, (n, len(topic.feature_names))),
    }
    for name, array in given.items():
        dtype, shape = expected[name]
        _put(topic, name, _checked_array(topic.query_id, name, array, dtype, shape))


def _texts(query_id: str, name: str, value: Any) -> tuple[str, ...]:
    """The value as a tuple of text; one text alone would be taken apart letter by letter."""
    if isinstance(value, str):
        raise TypeError(f"topic {query_id!r}: {name} must be a sequence of texts, got the single text {value!r}")
    texts = tuple(value)
    wrong = next((entry for entry in texts if not isinstance(entry, str)), None)
    if wrong is not None or None in texts:
        raise TypeError(f"topic {query_id!r}: {name} must be text, got {wrong!r} ({type(wrong).__name__})")
    return texts


def _check_distinct(topic: Topic, name: str) -> None:
    """Ids differ."""
    ids = getattr(topic, name)
    if ids is not None and len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(value for value in ids if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise ValueError(f"topic {topic.query_id!r}: {name} holds {twice!r} twice; keep one of them")


def _numbers(query_id: str, name: str, value: ArrayLike) -> NDArray[Any]:
    """The value as an array of numbers."""
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"topic {query_id!r}: {name} is no array: {error}") from error
    if given.size and given.dtype.kind not in "fiub":
        raise TypeError(f"topic {query_id!r}: {name} must hold numbers, got {given.dtype}")
    return given


def _checked_array(
    query_id: str, name: str, given: NDArray[Any], dtype: type[np.generic], shape: tuple[int, ...]
) -> NDArray[Any]:
    """The value as a read-only, C-ordered, finite array of this dtype and shape."""
    if given.shape != shape:
        raise ValueError(f"topic {query_id!r}: {name} has shape {given.shape}, expected {shape}")
    if np.issubdtype(given.dtype, np.floating) and not np.isfinite(given).all():
        row = int(np.argwhere(~np.isfinite(given))[0][0])
        raise ValueError(
            f"topic {query_id!r}: {name} holds NaN or infinity (first at row {row}); expected finite numbers"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.ascontiguousarray(given, dtype=dtype)
    fits = np.isfinite(array).all() if dtype is np.float32 else np.array_equal(array, given)
    if not fits:
        raise ValueError(f"topic {query_id!r}: {name} holds values that {np.dtype(dtype).name} cannot represent")
    frozen = array.view()
    frozen.flags.writeable = False
    return frozen


def _check_counts(topic: Topic) -> None:
    """Fields that come together are there together, one entry each."""
    pairs = (
        ("doc_texts", len(topic.doc_ids), "candidate"),
        ("subtopic_texts", len(topic.subtopic_ids), "subtopic"),
    )
    for name, count, each in pairs:
        value = getattr(topic, name)
        if value is not None and len(value) != count:
            raise ValueError(
                f"topic {topic.query_id!r}: {name} has {len(value)} entries, expected {count} (one a {each})"
            )
    if (topic.pool is None) != (topic.pool_ids is None):
        raise ValueError(f"topic {topic.query_id!r}: pool and pool_ids come together; one of them is missing")
    weights = topic.subtopic_weights
    if weights is not None and not (weights > 0).all():
        raise ValueError(f"topic {topic.query_id!r}: subtopic_weights must be positive, got {weights.min()}")
    scores = topic.retrieval_scores
    if scores is not None and bool((np.diff(scores) > 0).any()):
        rank = int(np.argmax(np.diff(scores) > 0)) + 1
        raise ValueError(
            f"topic {topic.query_id!r}: retrieval_scores rise from candidate {rank - 1} to {rank}; "
            "candidates must stand in retrieval order, best first"
        )
