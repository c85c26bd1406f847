"""Features of a document in its list, and the judgments of the subtopics that recur. Numpy only.

Shapes: N candidates, F vector width, D features, S subtopics that recur.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.greedy import rows_of
from srd_gym.measures.judgments import judged
from srd_gym.topic import FloatArray, Topic

FEATURES = (
    "standardised score", "cosine", "cosine less the largest", "cosine less the tenth", "reciprocal rank",
    "logarithm of the rank", "likeness to the first 5", "likeness to the first 10", "likeness to all",
    "likeness to the nearest 5", "largest cosine", "tenth cosine less the largest",
)  # fmt: skip
"""D of them. Cosines are those with the query, 0 where there is none; ranks are those of the retrieval order, else of
the cosines. Likeness is the mean cosine with other documents of the list."""
_AT_ONCE = 1 << 22
"""Cosines of documents with each other that are computed at once."""
_LEAST_SPREAD = 1e-6


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Rows of length 1 (zeros stay): [..., F] float32."""
    return rows_of(vectors).unit(slice(None))


def list_features(topic: Topic, units: FloatArray) -> FloatArray:
    """[N, D] float32, the columns of `FEATURES`.

    Args:
        topic: the topic.
        units: [N, F] its vectors, of length 1.
    """
    n, query = topic.n_candidates, topic.query_vector
    near = np.zeros(n, np.float32) if query is None else units @ unit_rows(query[None])[0]
    scores = near if topic.retrieval_scores is None else topic.retrieval_scores
    order = np.argsort(-scores, kind="stable")
    rank = np.empty(n, np.float32)
    rank[order] = np.arange(n)
    spread = float(scores.std())
    standard = (scores - scores.mean()) / spread if spread > _LEAST_SPREAD else np.zeros(n)
    falling = np.sort(near)[::-1]
    largest, tenth = falling[0], falling[min(9, n - 1)]
    likeness = [units @ units[order[:count]].mean(axis=0) for count in (5, 10, n)]
    whole = np.ones(n)
    columns = [
        standard, near, near - largest, near - tenth, 1 / (1 + rank), np.log1p(rank), *likeness, _nearest(units, 5),
        whole * largest, whole * (tenth - largest),
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)


def _nearest(units: FloatArray, count: int) -> FloatArray:
    """[N] the mean cosine with the nearest others."""
    n = len(units)
    count = min(count, n - 1)
    if count < 1:
        return np.zeros(n, np.float32)
    means = np.empty(n, np.float32)
    step = max(1, _AT_ONCE // n)
    for start in range(0, n, step):
        cosines = units[start : start + step] @ units.T
        cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -np.inf
        means[start : start + step] = np.partition(cosines, n - count, axis=1)[:, n - count :].mean(axis=1)
    return means


def recurring_subtopics(topics: Sequence[Topic]) -> list[str]:
    """Ids of subtopics for which at least two topics have a relevant document, in alphabetical order: S of them."""
    counts: Counter[str] = Counter()
    for topic in topics:
        covered = np.flatnonzero((judged(topic) > 0).any(axis=0))
        counts.update(topic.subtopic_ids[column] for column in covered)
    return sorted(name for name, count in counts.items() if count > 1)


def judged_as(topic: Topic, names: Sequence[str]) -> NDArray[np.float32]:
    """[N, S + 1]: whether a document is relevant to each of these subtopics, and in the last column to any at all."""
    relevant = judged(topic) > 0
    place = {name: column for column, name in enumerate(topic.subtopic_ids)}
    columns = [relevant[:, place[name]] if name in place else np.zeros(len(relevant), np.bool_) for name in names]
    return np.stack([*columns, relevant.any(axis=1)], axis=1).astype(np.float32)
