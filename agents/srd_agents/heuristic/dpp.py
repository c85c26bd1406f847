"""Greedy inference for a determinantal point process (Chen, Zhang & Zhou, NeurIPS 2018)."""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.greedy import Objective, TradeOff, standardised
from srd_gym.topic import FloatArray

SPANNED = 1e-6
"""What is left of a unit vector, squared, below which the documents chosen before span it."""
_LEAST = np.float32(SPANNED)
_SMALL = 0.01
"""What is left of a vector, squared, below which its direction is made orthogonal a second time."""


class DPP(TradeOff):
    """Greedy choice of the documents S with the largest lambda * sum rel(d) + (1 - lambda) * log det C_S.

    C holds the cosines of the documents, so det C_S is the squared volume that their unit vectors span. This is the
    most probable set of the process with kernel L = diag(e^(a rel)) C diag(e^(a rel)), a = lambda / (2 (1 - lambda))
    (Chen et al. 2018, Equations 8 to 10), for every lambda below 1; lambda = 1 is the order of relevance. rel is
    standardised within the topic (mean 0, deviation 1). A document adds lambda * rel(d) + (1 - lambda) * log r(d),
    where r(d) = 1 - sum_s (d . q_s)^2 is what the directions q of the chosen documents leave of it: the squared
    diagonal of their incremental Cholesky factor, found by projecting, so that documents nobody asks about cost
    nothing. No residual is taken as less than 1e-6: documents that the chosen ones span, copies and all documents
    after the F-th among them, follow in the order of relevance. A zero vector is orthogonal to all. Ties go to the
    earlier candidate.

    Differs from the paper: relevance is standardised, so that one lambda means the same for every kind of relevance;
    cosines are not shifted to (1 + cos) / 2; and residuals have a floor instead of the list an early end.

    Args:
        config: lambda, and what counts as relevance.
    """

    title = "DPP"

    def _value(self, relevance: FloatArray) -> FloatArray:
        value: FloatArray = np.float32(self.config.lambda_) * standardised(relevance)
        return value

    def _objective(self) -> Objective:
        return _Volume(self.config.lambda_)


class _Volume(Objective):
    """Value plus the weighted logarithm of what is left of the squared length."""

    falls = True
    falls_at_once = True

    def __init__(self, lambda_: float) -> None:
        self._weight = np.float32(1.0 - lambda_)

    def fresh(self, shape: tuple[int, ...]) -> FloatArray:
        return np.ones(shape, dtype=np.float32)

    def direction(self, unit: FloatArray, earlier: FloatArray) -> FloatArray:
        return _new_direction(unit, earlier) if unit.ndim == 1 else _new_directions(unit, earlier)

    def fold(self, state: FloatArray, projection: FloatArray) -> None:
        projection *= projection
        state -= projection

    def score(self, value: FloatArray, state: FloatArray) -> FloatArray:
        left: FloatArray = np.maximum(state, _LEAST)
        np.log(left, out=left)
        left *= self._weight
        left += value
        return left


def _new_direction(unit: FloatArray, earlier: FloatArray) -> FloatArray:
    """What a unit vector [F] adds to orthonormal directions [t, F], at length 1; zeros where that is nothing."""
    rest: FloatArray = np.subtract(unit, earlier.dot(unit).dot(earlier))
    square = float(rest.dot(rest))
    if square < _SMALL:
        # Much was taken away: what rounding left of it in the earlier directions is taken away as well.
        rest -= earlier.dot(rest).dot(earlier)
        square = float(rest.dot(rest))
    rest *= np.float32(square**-0.5 if square > SPANNED else 0.0)
    return rest


def _new_directions(unit: FloatArray, earlier: FloatArray) -> FloatArray:
    """`_new_direction` of B topics: [B, F] from [B, F] and [B, t, F]; no topic's numbers depend on another's."""
    rest: FloatArray = unit - _within(unit, earlier)
    squares = np.vecdot(rest, rest)
    again = squares < _SMALL
    if again.any():
        rest[again] -= _within(rest[again], earlier[again])
        squares = np.vecdot(rest, rest)
    new = squares > SPANNED
    rest *= np.divide(1, np.sqrt(squares), out=np.zeros_like(squares), where=new)[:, None]
    return rest


def _within(vectors: FloatArray, directions: FloatArray) -> FloatArray:
    """What of vectors [B, F] lies in orthonormal directions [B, t, F]."""
    inside: FloatArray = np.matmul(np.matmul(vectors[:, None, :], directions.swapaxes(1, 2)), directions)[:, 0]
    return inside
