"""A greedy ranker blended with relevance, for rankers without a weight of relevance of their own.

Shapes: N candidates of a topic.
"""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.greedy import Rows, rows_of
from srd_agents.heuristic.relevance import min_max, relevance_or_none
from srd_agents.heuristic.stepwise import PartialRanking, Scoring, Stepwise
from srd_gym.checks import name_of
from srd_gym.dtypes import ScoreArray
from srd_gym.topic import FloatArray, Topic


class Blend(Scoring):
    """A ranker at diversity d above 0: the greedy choice by (1 - d) * relevance + d * its own score, both in [0, 1].

    Args:
        ranker: whose scores are blended.
        diversity: d.
        novel: whether (1 - d) * its own score - the cosine of the nearest document chosen takes the place of its own
            score, which alone does not make documents differ more than relevance does.
    """

    def __init__(self, ranker: Stepwise, diversity: float, *, novel: bool = False) -> None:
        self.name = name_of(ranker)
        self.ranker, self.diversity, self.novel = ranker, diversity, novel

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        relevance = min_max(relevance_or_none(topic, None)).astype(np.float64)
        rows = rows_of(topic.require_vectors(f"ranker {self.name!r}")) if self.novel else None
        return _BlendProgress(self.ranker.progress(topic), rows, relevance, self.diversity)


class _BlendProgress(PartialRanking):
    """A blend for one topic, step by step."""

    tied = (1e-5, 1.0)
    """Which scores tie: scaling to [0, 1] stretches them more than anything else does."""

    def __init__(self, own: PartialRanking, rows: Rows | None, relevance: ScoreArray, diversity: float) -> None:
        self._own, self._rows, self._relevance, self._diversity = own, rows, relevance, diversity
        self._nearest: FloatArray | None = None

    def scores(self) -> ScoreArray:
        own: ScoreArray = min_max(self._own.scores(), self.tied[0]).astype(np.float64)
        if self._rows is not None:
            own = (1.0 - self._diversity) * own - (0.0 if self._nearest is None else self._nearest)
        blended: ScoreArray = (1.0 - self._diversity) * self._relevance + self._diversity * own
        return blended

    def add(self, document: int) -> None:
        self._own.add(document)
        if self._rows is not None:
            near = self._rows.project(self._rows.unit(document))
            self._nearest = near if self._nearest is None else np.maximum(self._nearest, near)
