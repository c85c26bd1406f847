"""What the retrieval order says of candidates, as numbers that mean the same in every topic. Numpy only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from srd_gym.core import TopicArrays
from srd_gym.topic import Topic

ORDER_FEATURES = ("falling rank", "reciprocal rank", "normalised score")
"""The columns: 1 at the first rank falling evenly to 0 at the last; 1 / rank; the score, from 0 (the least) to 1
(the largest)."""


def order_features(topic: Topic) -> NDArray[np.float32]:
    """[N, 3] float32, 0 to 1, the columns of `ORDER_FEATURES`; zeros where the topic has no retrieval order."""
    n = topic.n_candidates
    scores = topic.retrieval_scores
    if scores is None:
        return np.zeros((n, len(ORDER_FEATURES)), np.float32)
    ranks = np.arange(n)
    spread = float(scores[0]) - float(scores[-1])
    normalised = (scores - scores[-1]) / spread if spread > 0 else np.zeros(n)
    return np.column_stack([1 - ranks / max(1, n - 1), 1 / (1 + ranks), normalised]).astype(np.float32)


def padded_order_features(arrays: TopicArrays) -> NDArray[np.float32]:
    """[T, N, 3] float32, `order_features` of every topic; rows of padding are 0."""
    out = np.zeros((len(arrays), arrays.max_candidates, len(ORDER_FEATURES)), np.float32)
    for row, topic in zip(out, arrays.topics, strict=True):
        row[: topic.n_candidates] = order_features(topic)
    return out
