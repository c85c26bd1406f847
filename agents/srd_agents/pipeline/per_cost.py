"""The choice of documents by value per cost, such as a token, within a budget.

Shapes: N candidates of a topic, M of them represented, F vector width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from srd_agents.heuristic.config import XQuADConfig
from srd_agents.heuristic.explicit import Numbers, XQuAD
from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.relevance import min_max, relevance_or_none
from srd_agents.heuristic.stepwise import EXACT, TIED, PartialRanking, Scored, Stepwise, best, falling_order
from srd_agents.pipeline.limits import Limits
from srd_gym.checks import check_number
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic

_REPRESENTED = 1_000
"""Documents that others may stand for at most, the most relevant ones."""
_COSINES = 10_000_000
"""Cosines that are held at most: of long lists fewer documents are represented."""
_BLOCK = 250_000
"""Cosines that are looked at together."""


class PerCost(Stepwise):
    """Chooses the documents that are worth most within a budget; without one, those that add most.

    The value of a set S of documents is sum_i r_i * ((1 - d) * [i in S] + d * max_{j in S} cos(i, j)), r the relevance
    in [0, 1] (scores, else cosines with the query, else 1), cosines below 0 taken as 0: a document counts itself, and
    for those like it as far as no other does. With subtopics and d above 0 it is that of xQuAD, lambda = 1 - d. Both
    grow with every document, and a document adds the less the more there is already.

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
        return self._beginning(topic)()

    def _beginning(self, topic: Topic) -> Callable[[], PartialRanking]:
        """A function that starts empty choices of a topic; they share its cosines."""
        named = topic.n_subtopics and (topic.subtopic_vectors is not None or topic.subtopic_scores is not None)
        if named and self.diversity:
            options: dict[str, Any] = {"lambda_": 1.0 - self.diversity, "relevance": self.relevance or "auto"}
            return partial(_Covering(XQuADConfig(**options)).progress, topic)
        relevance = min_max(relevance_or_none(topic, self.relevance)).astype(np.float64)
        return partial(_Standing, _Likeness(topic, self.diversity, relevance))

    def show(self, topics: Sequence[Topic], k: int, limits: Sequence[Limits]) -> list[Scored]:
        """The choice of each topic within its limits, as of `srd_agents.pipeline.limits.show`."""
        return [self._chosen(topic, k, limit) for topic, limit in zip(topics, limits, strict=True)]

    def _chosen(self, topic: Topic, k: int, limits: Limits) -> Scored:
        begin = self._beginning(topic)
        plain = limits.choose(topic, k, begin())
        if limits.costs is None:
            return plain
        dense = limits.choose(topic, k, _PerUnit(begin(), limits.costs))
        worth = np.array([_value(begin(), limits, chosen[~limits.filled(chosen)]) for chosen, _ in (dense, plain)])
        return (dense, plain)[best(worth, None, TIED)]


def _value(progress: PartialRanking, limits: Limits, chosen: IntArray) -> float:
    """Gains of documents beside those shown before."""
    value = 0.0
    for document in limits.already_shown:
        progress.add(document)
    for document in chosen.tolist():
        value += progress.gain(document) if isinstance(progress, _Standing) else float(progress.scores()[document])
        progress.add(document)
    return value


class _Covering(XQuAD):
    """xQuAD with relevance in [0, 1], so that no document lowers the value."""

    name = "per_cost"

    def _value(self, topic: Topic, order: Numbers | None) -> Numbers:
        value = super()._value(topic, order)
        return value if self.config.relevance == "auto" else self.config.lambda_ * min_max(value)


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


class _Likeness:
    """Worth of documents: alone, [N], and to those like them, [M, N]; nothing like that at diversity 0."""

    def __init__(self, topic: Topic, diversity: float, relevance: ScoreArray) -> None:
        n = topic.n_candidates
        represented = falling_order(relevance)[: min(_REPRESENTED, _COSINES // n) if diversity else 0]
        self.own: ScoreArray = (1.0 - diversity) * relevance
        self.weights = (diversity * relevance[represented]).astype(np.float32)
        self.cosines: FloatArray = np.empty((len(represented), n), np.float32)
        if len(represented):
            rows = rows_of(topic.require_vectors("per_cost="))
            alike = rows.unit(represented)
            step = max(1, _BLOCK // max(alike.shape))
            for start in range(0, n, step):
                some = slice(start, min(start + step, n))
                np.clip(alike @ rows.unit(some).T, 0.0, 1.0, out=self.cosines[:, some])


class _Standing(PartialRanking):
    """Documents that count themselves and for those like them (`PerCost`)."""

    tied = TIED

    def __init__(self, likeness: _Likeness) -> None:
        self._of = likeness
        self._covered = np.zeros(len(likeness.weights), np.float32)
        self._added: ScoreArray | None = None

    def scores(self) -> ScoreArray:
        if self._added is None:
            self._added = self._of.own.copy()
            self._change(self._added, np.arange(len(self._covered)), None)
        return self._added

    def _change(self, added: ScoreArray, rows: IntArray, before: FloatArray | None) -> None:
        """Add to scores what documents are worth to some of those represented, less what they were before."""
        step = max(1, _BLOCK // self._of.cosines.shape[1])
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            cosines = self._of.cosines[some]
            more = np.maximum(cosines - self._covered[some, None], 0.0)
            if before is not None:
                more -= np.maximum(cosines - before[some, None], 0.0)
            added += self._of.weights[some] @ more

    def gain(self, document: int) -> float:
        """Score of one document."""
        more = np.maximum(self._of.cosines[:, document] - self._covered, 0.0)
        return float(self._of.own[document] + self._of.weights @ more)

    def add(self, document: int) -> None:
        before, self._covered = self._covered, np.maximum(self._covered, self._of.cosines[:, document])
        if self._added is not None:
            self._change(self._added, np.flatnonzero(self._covered > before), before)
