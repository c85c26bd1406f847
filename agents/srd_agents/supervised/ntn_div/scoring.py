"""NTN-DIV at work: scores and greedy rankings of single topics. Numpy only.

Shapes: N candidates, F vector width, Z slices, D features, r documents ranked so far.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from srd_agents.networks.features import relevance_features
from srd_agents.supervised.ntn_div.config import Pooling
from srd_gym.protocols import IntArray, ScoreArray
from srd_gym.topic import Topic

Floats = NDArray[np.float32]


class TensorScorer:
    """The weights of a network with the shift and scale of the vectors folded in.

    Args:
        weights: by the names of `NtnNetwork`'s parameters and buffers.
        pooling: of the network.
    """

    def __init__(self, weights: dict[str, Floats], pooling: Pooling) -> None:
        self.shift, self.scale = weights["shift"], np.float32(weights["scale"])
        self.slice_weight, self.vector_weight = weights["slice_weight"], weights["vector_weight"]
        self.feature_weight = weights["feature_weight"]
        self.pooling: Pooling = pooling
        width = len(self.shift)
        tensor: Floats = weights["tensor"].copy()
        tensor[np.arange(width), np.arange(width)] += weights["similarity_weight"]
        # [F, F * Z].
        self.tensor: Floats = tensor.reshape(width, -1) / np.float32(width)

    def scores(self, topic: Topic, selected: IntArray) -> ScoreArray:
        """The score f of every candidate given these documents: [N] float64.

        Args:
            topic: with vectors of width F.
            selected: [r] int64.
        """
        points = self._points(topic)
        relevance = self._relevance(topic, points)
        if not len(selected):
            return relevance.astype(np.float64)
        width, slices = len(self.shift), len(self.slice_weight)
        products = (points[selected] @ self.tensor).reshape(-1, width, slices)
        pooled = self._pool(None, points @ products[0], 1)
        for count, product in enumerate(products[1:], start=2):
            pooled = self._pool(pooled, points @ product, count)
        return np.asarray(relevance + self._novelty(pooled), dtype=np.float64)

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents chosen one by one, best first: [min(k, N)] int64. Ties go to the first candidate."""
        points = self._points(topic)
        relevance = self._relevance(topic, points)
        ranking = np.empty(min(k, len(points)), np.int64)
        pooled: Floats | None = None
        for rank in range(len(ranking)):
            scores = relevance if pooled is None else relevance + self._novelty(pooled)
            best = ranking[rank] = int(scores.argmax())
            relevance[best] = -np.inf
            if rank + 1 < len(ranking):
                product = (points[best] @ self.tensor).reshape(len(self.shift), -1)
                pooled = self._pool(pooled, points @ product, rank + 1)
        return ranking

    def _points(self, topic: Topic) -> Floats:
        """[N, F], shifted and scaled."""
        points: Floats = (topic.require_vectors("a learned ranker") - self.shift) / self.scale
        return points

    def _relevance(self, topic: Topic, points: Floats) -> Floats:
        """[N], what does not depend on the documents ranked."""
        relevance: Floats = points @ self.vector_weight
        if len(self.feature_weight):
            relevance = relevance + relevance_features(topic) @ self.feature_weight
        return relevance

    def _pool(self, pooled: Floats | None, product: Floats, count: int) -> Floats:
        """[N, Z], one more document (the `count`th) pooled in; max and min before tanh, mean after it."""
        if self.pooling == "mean":
            bent: Floats = np.tanh(product)
            return bent if pooled is None else pooled + (bent - pooled) / np.float32(count)
        if pooled is None:
            return product
        return (np.maximum if self.pooling == "max" else np.minimum)(pooled, product, out=pooled)

    def _novelty(self, pooled: Floats) -> Floats:
        """[N], mu times the pooled slices."""
        bent: Floats = pooled if self.pooling == "mean" else np.tanh(pooled)
        weighted: Floats = bent @ self.slice_weight
        return weighted
