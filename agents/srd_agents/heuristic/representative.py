"""Documents that stand for all candidates, on a sample of many.

Shapes: N candidates, M of them that are compared, F vector width.
"""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.blend import Blend
from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.relevance import ByRelevance, cosines
from srd_agents.heuristic.stepwise import TIED, PartialRanking, Stepwise, falling_order
from srd_gym.checks import check_integer, check_number
from srd_gym.dtypes import ScoreArray
from srd_gym.protocols import Ranker
from srd_gym.topic import FloatArray, Topic

_APART = 1e-6
"""Cosine up to which two vectors have nothing in common, but for rounding."""


class Representative(Stepwise):
    """Facility location: each document stands for the candidates that no earlier one resembles as much.

    The greedy choice by lambda * rel(d) + (1 - lambda) * (C(S + d) - C(S)), C(S) being the mean over candidates i of
    max_{s in S} w_is (Lin & Bilmes, ACL-HLT 2011); w is the cosine, below 0 taken as 0, and rel the cosine with the
    query, 0 where there is none. Candidates whose cosine with the query is not above 0, such as texts without a word
    of it, come after the others. Of more than `sample` candidates that many are compared and ranked, spread evenly over
    the order by closeness to the centroid; the others follow in that order. Ties go to the earlier candidate but for
    rounding. O(N F + M^2 (F + k)). The ranker `facility-location` compares all and may weigh scores.

    Args:
        lambda_: weight of the cosine with the query, 0 to 1.
        sample: M, candidates compared at most.

    Raises:
        TypeError: not numbers.
        ValueError: numbers outside these ranges.
    """

    name = "representative"

    def __init__(self, lambda_: float = 0.01, sample: int = 350) -> None:
        check_number("lambda_", lambda_, 0.0, 1.0)
        check_integer("sample", sample, 1)
        self.lambda_, self.sample = lambda_, sample

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        return _Represented(topic.require_vectors(f"ranker {self.name!r}"), topic.query_vector, self)

    def with_diversity(self, diversity: float) -> Ranker:
        """Blended with relevance and the distance to what is chosen."""
        return Blend(self, diversity, novel=True) if diversity else ByRelevance(None)


class _Represented(PartialRanking):
    """Likeness of each of the candidates compared with the nearest document chosen.

    Args:
        vectors: [N, F] float32.
        query: [F] float32.
        ranker: whose choice it is.
    """

    tied = TIED

    def __init__(self, vectors: FloatArray, query: FloatArray | None, ranker: Representative) -> None:
        self._rows, n, most = rows_of(vectors), len(vectors), ranker.sample
        self._scores: ScoreArray = np.empty(n)
        if n > most:
            order = falling_order(self._rows.project(self._rows.scale @ vectors))
            compared = np.zeros(n, np.bool_)
            compared[np.arange(most) * n // most] = True
            self._scores[order[~compared]] = -np.linspace(1.1, 2.0, n - most)
            self._inside = np.sort(order[compared])
        else:
            self._inside = np.arange(n)
        self._units = self._rows.unit(self._inside)
        self._likeness: FloatArray = self._units @ self._units.T
        self._raised = np.empty_like(self._likeness)
        self._most_alike = np.zeros(len(self._inside), np.float32)
        self._share = (1 - ranker.lambda_) / len(self._inside)
        self._value: FloatArray | float = 0.0
        if query is not None:
            near = cosines(query, self._units)
            self._value = ranker.lambda_ * near - (near <= _APART)  # the rest of a score is below 1

    def scores(self) -> ScoreArray:
        """[N] relevance, and likeness of the candidates with the nearest document; least for those not compared."""
        np.maximum(self._likeness, self._most_alike[:, None], out=self._raised)
        # Added row by row: equal columns have equal sums.
        self._scores[self._inside] = self._share * np.add.reduce(self._raised, axis=0) + self._value
        return self._scores

    def add(self, document: int) -> None:
        """Choose a candidate, one that is not compared as well."""
        np.maximum(self._most_alike, self._units @ self._rows.unit(document), out=self._most_alike)
