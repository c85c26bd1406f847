"""DPP for topics without retrieval scores: relevance is estimated from the vectors of the query and the candidates.

Shapes: N candidates, F vector width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from srd_agents.heuristic.config import TradeOffConfig
from srd_agents.heuristic.greedy import Rows, rows_of
from srd_agents.heuristic.trade_off import DPP
from srd_agents.training.options import NotNegative
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic

_SPREAD = 1e-4
"""Cosines that differ less than this are taken as equal: rounding must not become an order."""
_COMPARED = 100
"""Candidates that each candidate is compared with for its density, at most."""
_NEAREST = 10
"""Of these, how many count."""
_CONSIDERED = 1000
"""Candidates whose density is known, at most; those of lower cosines come after them."""


@dataclass(frozen=True, kw_only=True)
class EstimatedConfig(TradeOffConfig):
    """Options of the estimate; docs/results/safe-default.md says how they were chosen."""

    query: NotNegative = 1.5
    """Weight of the standard score of the cosine with the query."""
    dense: NotNegative = 0.1
    """Weight of the standard score of the mean cosine with the nearest candidates."""
    alone: NotNegative = 0.3
    """The same where the query does not count."""
    skewness: float = -1.0
    """The cosine with the query counts where its skewness over the candidates is at least this."""


class Estimated(DPP):
    """Greedy inference for a determinantal point process whose relevance needs no scores.

    With z_q and z_n the standard scores, over the candidates, of the cosine with the query and of the mean cosine with
    the 10 nearest candidates, rel(d) = query * z_q(d) + dense * z_n(d): candidates count for being near the query, and
    against being unlike all others. Where the cosines with the query are skewed to the left, none stands out, and the
    query does not count, nor where there is none: rel(d) = alone * z_n(d).

    Of more than 100 candidates, the nearest are sought among 100 that stand at equal distances in the order of the
    cosines (with the query, or without one with the mean of all). Of more than 1,000 only those with the highest
    cosines are considered; the others follow, in the order of the cosines.

    Args:
        config: the weights, and lambda as for DPP.
    """

    config: EstimatedConfig

    def __init__(self, config: EstimatedConfig | None = None) -> None:
        super().__init__(config or EstimatedConfig())

    def _relevance(self, topic: Topic) -> FloatArray:
        rows = rows_of(topic.require_vectors("the default ranker"))
        query = _query(topic)
        cosines = rows.project(_mean(rows) if query is None else query)
        order = np.argsort(-cosines, kind="stable")
        considered, others = order[:_CONSIDERED], order[_CONSIDERED:]
        relevance = np.empty(len(cosines))
        scores, density = _standard(cosines), _standard(_density(rows, considered))
        if query is None or _skewness(scores) < self.config.skewness:
            relevance[considered] = self.config.alone * density
        else:
            relevance[considered] = self.config.query * scores[considered] + self.config.dense * density
        relevance[others] = relevance[considered].min() - 1000.0 - np.arange(len(others))
        return relevance.astype(np.float32)

    def explain(self, topic: Topic) -> str:
        """A sentence on what decides the ranking of the topic."""
        query = _query(topic)
        if query is None:
            return "diversified: there are neither scores nor a query vector, so documents unlike all others come late"
        if (
            _skewness(_standard(rows_of(topic.require_vectors("the default ranker")).project(query)))
            < self.config.skewness
        ):
            return "diversified without the query: no document stands out by its cosine with it"
        return "diversified: documents near the query count as relevant"


def _query(topic: Topic) -> FloatArray | None:
    """[F] the query's unit vector; None without one, or where it is zero."""
    if topic.query_vector is None or not topic.query_vector.any():
        return None
    return rows_of(topic.query_vector[None]).unit(0)


def _mean(rows: Rows) -> FloatArray:
    """[F] of the unit vectors."""
    mean: FloatArray = rows.scale @ rows.vectors
    mean /= np.float32(len(rows.scale))
    return mean


def _density(rows: Rows, considered: IntArray) -> FloatArray:
    """Mean cosine of each of these candidates, in an order that says how they are spread, with the nearest of them."""
    count = len(considered)
    if count == 1:
        return np.zeros(1, np.float32)
    places = np.linspace(0, count - 1, min(count, _COMPARED)).round().astype(np.int64)
    units = rows.unit(considered)
    cosines = units @ units[places].T
    cosines[places, np.arange(len(places))] = -np.inf  # itself
    nearest = min(_NEAREST, len(places) - 1)
    highest = np.partition(cosines, -nearest, axis=1)[:, -nearest:]
    # The last bits of a matrix product depend on where a row stands.
    return np.asarray(highest.mean(axis=1).round(5))


def _standard(cosines: FloatArray) -> ScoreArray:
    """Cosines less their mean, by their standard deviation: [N]."""
    wide = cosines.astype(np.float64)
    wide -= wide.mean()
    return np.asarray(wide / max(float(np.sqrt(np.vecdot(wide, wide) / len(wide))), _SPREAD))


def _skewness(standard: ScoreArray) -> float:
    return float((standard**3).mean())
