"""The choice of documents by value per cost, such as a token, within a budget.

Shapes: N candidates of a topic, M of them represented, F vector width.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_agents.heuristic.config import XQuADConfig
from srd_agents.heuristic.explicit import XQuAD
from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.relevance import min_max, relevance_or_none
from srd_agents.heuristic.stepwise import EXACT, TIED, PartialRanking, Stepwise, best, falling_order
from srd_agents.pipeline.limits import Limits
from srd_gym.checks import check_number
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic

_REPRESENTED = 1_000
"""Documents that others may stand for, the most relevant ones; memory is this times N."""


class PerCost(Stepwise):
    """Chooses the documents that are worth most within a budget; without one, those that add most.

    The value of a set S of documents is sum_i r_i * ((1 - d) * [i in S] + d * max_{j in S} cos(i, j)), r the relevance
    in [0, 1] (scores, else cosines with the query, else 1), cosines below 0 taken as 0: a document counts itself, and
    for those like it as far as no other does. With subtopics it is that of xQuAD, lambda = 1 - d. Both grow with every
    document, and a document adds the less the more there is already.

    A greedy choice by what a document adds per cost and one by what it adds are made, and the one of higher value is
    taken. Where a budget is the only limit, that is at least (1 - 1/e) / 2 of the highest value there is, and half of
    it at d = 0 (Khuller, Moss & Naor, Information Processing Letters 1999; Lin & Bilmes, NAACL 2010; Leskovec et al.,
    KDD 2007). Either alone may be arbitrarily bad.

    Args:
        diversity: d, from 0 to 1; None: 0.5.
        relevance: one of `srd_agents.heuristic.config.Relevance`, scaled to [0, 1] in the topic.

    Raises:
        TypeError: no number.
        ValueError: another number.
    """

    name = "per_cost"

    def __init__(self, diversity: float | None, relevance: str | None = None) -> None:
        if diversity is not None:
            check_number("diversity", diversity, 0.0, 1.0)
        self.diversity = 0.5 if diversity is None else float(diversity)
        self.relevance = relevance

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty choice, whose scores are what each document adds to the value."""
        if topic.n_subtopics and (topic.subtopic_vectors is not None or topic.subtopic_scores is not None):
            return XQuAD(XQuADConfig(lambda_=1.0 - self.diversity)).progress(topic)
        return _Standing(topic, self.diversity, min_max(relevance_or_none(topic, self.relevance)).astype(np.float64))

    def show(self, topics: Sequence[Topic], k: int, limits: Sequence[Limits]) -> list[IntArray]:
        """The choice of each topic within its limits, as of `srd_agents.pipeline.limits.show`."""
        return [self._chosen(topic, k, limit) for topic, limit in zip(topics, limits, strict=True)]

    def _chosen(self, topic: Topic, k: int, limits: Limits) -> IntArray:
        plain = limits.choose(topic, k, self.progress(topic))
        if limits.costs is None:
            return plain
        dense = limits.choose(topic, k, _PerUnit(self.progress(topic), limits.costs))
        worth = np.array([self._value(topic, limits, chosen) for chosen in (dense, plain)])
        return (dense, plain)[best(worth, None, TIED)]

    def _value(self, topic: Topic, limits: Limits, chosen: IntArray) -> float:
        """Gains of documents beside those shown before."""
        progress, value = self.progress(topic), 0.0
        for document in limits.already_shown:
            progress.add(document)
        for document in chosen.tolist():
            value += float(progress.scores()[document])
            progress.add(document)
        return value


class _PerUnit(PartialRanking):
    """Gain of each document, divided by its cost."""

    def __init__(self, progress: PartialRanking, costs: ScoreArray) -> None:
        self._progress = progress
        self._units = np.maximum(costs / (costs.max() or 1.0), np.finfo(np.float32).tiny)
        self.tied = getattr(progress, "tied", EXACT)

    def scores(self) -> ScoreArray:
        per_unit: ScoreArray = np.maximum(self._progress.scores(), 0.0) / self._units
        return per_unit

    def add(self, document: int) -> None:
        self._progress.add(document)


class _Standing(PartialRanking):
    """Documents that count themselves and for those like them (`PerCost`)."""

    tied = TIED

    def __init__(self, topic: Topic, diversity: float, relevance: ScoreArray) -> None:
        units = rows_of(topic.require_vectors("per_cost=")).unit(slice(None))
        represented = falling_order(relevance)[:_REPRESENTED]
        self._own: ScoreArray = (1.0 - diversity) * relevance
        self._weights = (diversity * relevance[represented]).astype(np.float32)
        self._cosines: FloatArray = np.clip(units[represented] @ units.T, 0.0, 1.0)
        self._covered = np.zeros(len(represented), np.float32)

    def scores(self) -> ScoreArray:
        more = np.maximum(self._cosines - self._covered[:, None], 0.0)
        added: ScoreArray = self._own + self._weights @ more
        return added

    def add(self, document: int) -> None:
        np.maximum(self._covered, self._cosines[:, document], out=self._covered)
