"""Maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998)."""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.config import MMRConfig
from srd_agents.heuristic.greedy import Objective, TradeOff
from srd_gym.topic import FloatArray


class MMR(TradeOff):
    """Greedy choice of the next document by lambda * rel(d) - (1 - lambda) * max_{s in S} sim(d, s).

    rel is the cosine of query and document, or a retrieval score or rank (see `MMRConfig.relevance`); sim is the cosine
    of two documents; the cosine with a zero vector is 0. With nothing selected the second part is 0. Ties go to the
    earlier candidate. At most one row of similarities per selected document is computed, O(k N F), and of large topics
    only those that can matter (`srd_agents.heuristic.greedy`); there is no N x N matrix.

    Args:
        config: lambda, and what counts as relevance and similarity.
    """

    title = "MMR"

    def __init__(self, config: MMRConfig | None = None) -> None:
        self.config: MMRConfig = config or MMRConfig()

    def _value(self, relevance: FloatArray) -> FloatArray:
        value: FloatArray = np.float32(self.config.lambda_) * relevance
        return value

    def _objective(self) -> Objective:
        return _Nearest(self.config.lambda_, clip=self.config.clip)


class _Nearest(Objective):
    """Value less the weighted similarity with the nearest chosen document."""

    falls = True

    def __init__(self, lambda_: float, *, clip: bool) -> None:
        self._weight = np.float32(1.0 - lambda_)
        # A similarity below 0 would raise a score at first.
        self.falls_at_once = clip
        self._least = np.float32(0.0 if clip else -np.inf)

    def fresh(self, shape: tuple[int, ...]) -> FloatArray:
        return np.full(shape, self._least, dtype=np.float32)

    def direction(self, unit: FloatArray, earlier: FloatArray) -> FloatArray:
        # The weight goes into the chosen vector: F products instead of N.
        weighted: FloatArray = unit * self._weight
        return weighted

    def fold(self, state: FloatArray, projection: FloatArray) -> None:
        np.maximum(state, projection, out=state)

    def score(self, value: FloatArray, state: FloatArray) -> FloatArray:
        left: FloatArray = value - state
        return left
