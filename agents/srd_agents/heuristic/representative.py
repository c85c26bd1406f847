"""Documents that stand for all candidates, on a sample of many.

Shapes: N candidates, M of them that are compared, F vector width.
"""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.blend import Blend
from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.relevance import ByRelevance
from srd_agents.heuristic.stepwise import TIED, PartialRanking, Scoring, falling_order
from srd_gym.checks import check_integer
from srd_gym.dtypes import ScoreArray
from srd_gym.protocols import Ranker
from srd_gym.topic import FloatArray, Topic


class Representative(Scoring):
    """Facility location: each document stands for the candidates that no earlier one resembles as much.

    The greedy choice by C(S + d) - C(S), C(S) being the mean over candidates i of max_{s in S} w_is (Lin & Bilmes,
    ACL-HLT 2011); w is the cosine, below 0 taken as 0. Of more than `sample` candidates that many are compared and
    ranked, spread evenly over the order by closeness to the centroid; the others follow in that order. Ties go to the
    earlier candidate but for rounding. O(N F + M^2 (F + k)). The ranker `facility-location` compares all, and may weigh
    relevance.

    Args:
        sample: M, candidates compared at most.

    Raises:
        TypeError: not a number.
        ValueError: below 1.
    """

    name = "representative"

    def __init__(self, sample: int = 350) -> None:
        check_integer("sample", sample, 1)
        self.sample = sample

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        return _Represented(topic.require_vectors(f"ranker {self.name!r}"), self.sample)

    def with_diversity(self, diversity: float) -> Ranker:
        """Blended with relevance and the distance to what is chosen."""
        return Blend(self, diversity, novel=True) if diversity else ByRelevance(None)


class _Represented(PartialRanking):
    """Likeness of the candidates compared with the nearest document chosen, and with each candidate as the next."""

    tied = TIED

    def __init__(self, vectors: FloatArray, most: int) -> None:
        self._rows, n = rows_of(vectors), len(vectors)
        self._scores: ScoreArray = np.empty(n)
        self._inside = np.arange(n)
        if n > most:
            order = falling_order(self._rows.project(self._rows.scale @ vectors))
            compared = np.arange(most) * n // most
            self._inside = np.sort(order[compared])
            self._scores[np.delete(order, compared)] = -np.linspace(1.1, 2.0, n - most)
        self._units = self._rows.unit(self._inside)
        self._likeness: FloatArray = np.maximum(self._units @ self._units.T, 0)

    def scores(self) -> ScoreArray:
        """[N] mean likeness of the candidates with the nearest document; least for those not compared."""
        # Added row by row: equal columns have equal sums.
        self._scores[self._inside] = np.add.reduce(self._likeness, axis=0) / len(self._inside)
        return self._scores

    def add(self, document: int) -> None:
        """Choose a candidate, one that is not compared as well."""
        alike = self._units @ self._rows.unit(document)
        np.maximum(self._likeness, alike[:, None], out=self._likeness)
