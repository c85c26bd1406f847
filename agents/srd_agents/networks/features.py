"""Features of a candidate's rank, score and cosine with the query, on scales that mean the same everywhere.

Numpy only.

Shapes: T topics, N candidates, F vector width, R relevance columns of linear rankers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.dtypes import AnyArray, BoolArray
from srd_gym.topic import FloatArray, Topic

ORDER_FEATURES = ("falling rank", "reciprocal rank", "normalised score")
"""The columns: 1 at the first rank falling evenly to 0 at the last; 1 / rank; the score, from 0 (the least) to 1
(the largest)."""
FEATURES = ("query cosine", *ORDER_FEATURES)
"""Columns beside the vector; 0 where a topic lacks what they are made of."""
_FEW = 2_000
"""Numbers up to which two passes cut off faster than one of `numpy.clip`, which takes longer to begin."""


def order_features(topic: Topic) -> FloatArray:
    """[N, 3] float32, 0 to 1, the columns of `ORDER_FEATURES`; zeros where the topic has no retrieval order."""
    n = topic.n_candidates
    scores = topic.retrieval_scores
    if scores is None:
        return np.zeros((n, len(ORDER_FEATURES)), np.float32)
    ranks = np.arange(n, dtype=np.float64)
    spread = float(scores[0]) - float(scores[-1])
    normalised = (scores - scores[-1]) / spread if spread > 0 else np.zeros(n)
    return _columns(ranks, max(1, n - 1), normalised)


def order_columns(scores: FloatArray, present: BoolArray) -> FloatArray:
    """`order_features` of candidates in any order, whose scores alone say where they stand: equal ones share a rank.

    Args:
        scores: [T, N] float32, higher is better; all alike where there is no retrieval order.
        present: [T, N] bool, the real candidates.

    Returns:
        [T, N, 3] float32; zeros where all scores are alike, and for padding.
    """
    low = np.where(present, scores, np.inf).min(axis=1, keepdims=True)
    spread = np.where(present, scores, -np.inf).max(axis=1, keepdims=True) - low
    falling = np.where(present, -scores, np.inf)
    ranks = np.stack([np.searchsorted(np.sort(row), row) for row in falling]).astype(np.float32)
    informative = present & (spread > 0)
    normalised = np.divide(scores - low, spread, out=np.zeros_like(ranks), where=informative)
    columns = _columns(ranks, np.maximum(present.sum(axis=1, keepdims=True) - 1, 1).astype(np.float32), normalised)
    columns[~informative] = 0.0
    return columns


def _columns(ranks: NDArray[np.floating], last: Any, normalised: NDArray[np.floating]) -> FloatArray:
    """The columns of `ORDER_FEATURES` from ranks that begin at 0, the last of them, and scores from 0 to 1."""
    return np.stack([1 - ranks / last, 1 / (1 + ranks), normalised], axis=-1).astype(np.float32)


def side_by_side(rows: Sequence[AnyArray]) -> AnyArray:
    """Arrays of one topic each as one array, padded with 0 to the largest."""
    shapes = list(map(np.shape, rows))
    if len(set(shapes)) == 1:
        return np.stack(rows)
    out = np.zeros((len(rows), *np.max(shapes, axis=0)), rows[0].dtype)
    for place, row in zip(out, rows, strict=True):
        place[tuple(map(slice, row.shape))] = row
    return out


def query_vectors(topics: Sequence[Topic], width: int) -> FloatArray:
    """[B, F] float32; a row of zeros where a topic has no query vector."""
    queries = np.zeros((len(topics), width), np.float32)
    for row, topic in zip(queries, topics, strict=True):
        if topic.query_vector is not None:
            row[:] = topic.query_vector
    return queries


def relevance_features(topic: Topic, *, wanted: bool = True) -> FloatArray:
    """[N, 4] float32, the columns of `FEATURES`; [N, 0] where they are not wanted."""
    if not wanted:
        return np.zeros((topic.n_candidates, 0), np.float32)
    vectors, query = topic.require_vectors("a learned ranker"), topic.query_vector
    cosine = np.zeros(topic.n_candidates, np.float32)
    if query is not None and query.any():
        wide = vectors.astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1) * np.linalg.norm(query.astype(np.float64))
        cosine = np.divide(wide @ query, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    return np.column_stack([cosine, order_features(topic)])


def relevance_columns(topic: Topic, columns: Sequence[str] = ()) -> FloatArray:
    """[N, R] float32, each column from 0 (the topic's least) to 1 (its largest); 0 where all are equal.

    Args:
        topic: with document vectors.
        columns: the topic's own columns that are wanted, by `Topic.feature_names`.

    Raises:
        ValueError: no document vectors, or no such column.
    """
    own = [topic.feature(name)[:, None] for name in columns]
    values = np.concatenate([relevance_features(topic), *own], axis=1).astype(np.float64)
    low, high = values.min(axis=0), values.max(axis=0)
    spread = high - low
    # Equal numbers may differ by a rounding error, which must not become an order.
    spread[spread <= 1e-6 * np.maximum(np.abs(low), np.abs(high))] = np.inf
    scaled: FloatArray = ((values - low) / spread).astype(np.float32)
    return scaled


def relu(values: Any) -> Any:
    """Positive part, in place, of a numpy array or a tensor of torch: for formulas that serve both."""
    return cut_off(values, 0.0, np.inf) if isinstance(values, np.ndarray) else values.relu_()


def cut_off(values: FloatArray, low: float | np.float32, high: float | np.float32) -> FloatArray:
    """Values changed in place to lie between two numbers; `numpy.clip` only where there are many."""
    if values.size > _FEW:
        return np.clip(values, low, high, out=values)
    np.maximum(values, low, out=values)
    return values if high == np.inf else np.minimum(values, high, out=values)
