"""NTN-DIV at work: scores of single topics, step by step. Numpy only.

Shapes: N candidates, F vector width, Z slices, D features, r documents ranked so far.
"""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.stepwise import PartialRanking
from srd_agents.networks.features import relevance_features
from srd_agents.supervised.samples import Pooling, pooled_with
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic


class TensorScorer:
    """The weights of a network with the shift and scale of the vectors folded in.

    Args:
        weights: by the names of `NtnNetwork`'s parameters and buffers.
        pooling: of the network.
    """

    def __init__(self, weights: dict[str, FloatArray], pooling: Pooling) -> None:
        self.shift, self.scale = weights["shift"], np.float32(weights["scale"])
        self.slice_weight, self.vector_weight = weights["slice_weight"], weights["vector_weight"]
        self.feature_weight = weights["feature_weight"]
        self.pooling: Pooling = pooling
        width = len(self.shift)
        tensor: FloatArray = weights["tensor"].copy()
        tensor[np.arange(width), np.arange(width)] += weights["similarity_weight"]
        # [F, F * Z].
        self.tensor: FloatArray = tensor.reshape(width, -1) / np.float32(width)

    def scores(self, topic: Topic, selected: IntArray) -> ScoreArray:
        """The score f of every candidate given these documents: [N] float64.

        Args:
            topic: with vectors of width F.
            selected: [r] int64.
        """
        ranking = TensorRanking(self, topic)
        if len(selected):
            ranking.extend(selected)
        return ranking.scores()


class TensorRanking(PartialRanking):
    """A topic's ranking by f.

    Args:
        scorer: the weights.
        topic: with vectors of width F.
    """

    def __init__(self, scorer: TensorScorer, topic: Topic) -> None:
        self._scorer, self._count = scorer, 0
        self._points: FloatArray = (topic.require_vectors("a learned ranker") - scorer.shift) / scorer.scale
        self._relevance: FloatArray = self._points @ scorer.vector_weight
        if len(scorer.feature_weight):
            self._relevance = self._relevance + relevance_features(topic) @ scorer.feature_weight
        self._pooled: FloatArray | None = None
        """[N, Z]; max and min before tanh, mean after it."""

    def scores(self) -> ScoreArray:
        """[N] float64."""
        if self._pooled is None:
            return self._relevance.astype(np.float64)
        bent = self._pooled if self._scorer.pooling == "mean" else np.tanh(self._pooled)
        return np.asarray(self._relevance + bent @ self._scorer.slice_weight, dtype=np.float64)

    def add(self, document: int) -> None:
        """Choose a candidate."""
        self.extend(np.array([document]))

    def extend(self, documents: IntArray) -> None:
        """Choose several, [r] int64, whose products are made together."""
        pooling = self._scorer.pooling
        products = (self._points[documents] @ self._scorer.tensor).reshape(len(documents), self._points.shape[1], -1)
        for product in products:
            self._count += 1
            values = self._points @ product
            values = np.tanh(values) if pooling == "mean" else values
            self._pooled = pooled_with(self._pooled, values, self._count, pooling)
