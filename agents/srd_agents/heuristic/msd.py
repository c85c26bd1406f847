"""Max-sum diversification (Borodin, Lee & Ye, PODS 2012; Gollapudi & Sharma, WWW 2009)."""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.greedy import LAZY_FROM, Objective, TradeOff
from srd_agents.heuristic.vectors import Rows, rows_of
from srd_gym.protocols import IntArray
from srd_gym.topic import FloatArray

_DOUBT = 1e-5
"""A score by a fast product that is this much below the best, for each document chosen, may still be it."""


class MSD(TradeOff):
    """Greedy choice of the next document by lambda * rel(d) + (1 - lambda) * sum_{s in S} (1 - cos(d, s)).

    The sum of distances is |S| - d . sum_s s, and |S| is the same for every document: one product with the sum of the
    chosen unit vectors ranks them. The cosine with a zero vector is 0. Ties go to the earlier candidate. O(k N F).
    Scores grow with the list, so that nothing bounds them: every product is computed.

    Differs from the paper: the greedy step takes the whole sum of distances, not half of it (Borodin et al. weigh the
    next document's distances by the number it adds to the final sum); lambda makes up for the factor.

    Args:
        config: lambda, and what counts as relevance.
    """

    title = "MSD"

    def _value(self, relevance: FloatArray) -> FloatArray:
        value: FloatArray = np.float32(self.config.lambda_) * relevance
        return value

    def _objective(self) -> Objective:
        return _Sum(self.config.lambda_)

    def _select(self, vectors: FloatArray, value: FloatArray, k: int) -> IntArray:
        if vectors[0].size <= LAZY_FROM:
            return super()._select(vectors, value, k)
        return _select_large(rows_of(vectors[0]), value[0], min(k, value.shape[1]), self.config.lambda_)[None]


class _Sum(Objective):
    """Value less the weighted product with the sum of the chosen documents."""

    def __init__(self, lambda_: float) -> None:
        self._weight = np.float32(1.0 - lambda_)

    def fresh(self, shape: tuple[int, ...]) -> FloatArray:
        return np.zeros(shape, dtype=np.float32)

    def direction(self, unit: FloatArray, earlier: FloatArray) -> FloatArray:
        total: FloatArray = unit * self._weight
        if earlier.shape[-2]:
            total += earlier[..., -1, :]
        return total

    def fold(self, state: FloatArray, projection: FloatArray) -> None:
        state[...] = projection

    def score(self, value: FloatArray, state: FloatArray) -> FloatArray:
        left: FloatArray = value - state
        return left


def _select_large(rows: Rows, value: FloatArray, k: int, lambda_: float) -> IntArray:
    """The choice for one topic by fast matrix products: [k] int64.

    The last bits of a matrix product depend on where a row stands, so candidates within rounding of the best are
    compared by products of their own: the choice is that of `srd_agents.heuristic.greedy.select`.
    """
    vectors, scale = rows
    weighted = scale * np.float32(1.0 - lambda_)
    ranking = np.empty(k, dtype=np.int64)
    score = np.empty_like(value)
    total = np.zeros(vectors.shape[1], dtype=np.float32)
    ranking[0] = chosen = int(value.argmax())
    for rank in range(1, k):
        value[chosen] = -np.inf
        total += vectors[chosen] * weighted[chosen]
        np.dot(vectors, total, out=score)
        score *= scale
        np.subtract(value, score, out=score)
        chosen = int(score.argmax())
        least = float(score[chosen]) - _DOUBT * rank
        score[chosen] = -np.inf
        if score[score.argmax()] >= least:
            close = np.append(np.flatnonzero(score >= least), chosen)
            close.sort()
            exact = value[close] - Rows(vectors[close], scale[close]).project(total)
            chosen = int(close[exact.argmax()])
        ranking[rank] = chosen
    return ranking
