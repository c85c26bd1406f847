"""A bound measure of one ranking at a time, in Python numbers: numpy takes about as long for one as for dozens.

Shapes: N candidates, S subtopics, K depth, C coverage that some subtopic of a topic can reach, T topics.
"""

from __future__ import annotations

import numpy as np

from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.measures.bound import BoundMeasure

_Numbers = tuple[list[float], list[list[float]]]
"""A term for one topic: discounts [K] by rank, and [C + 1][S] what covering a subtopic once more adds before them."""


class SingleMeasure:
    """A bound measure in Python numbers: the same to the last bit, and faster for one ranking.

    Args:
        bound: the measure.
        covers: [T, N, S] bool, what candidates cover by the measure's level.
    """

    def __init__(self, bound: BoundMeasure, covers: BoolArray) -> None:
        self._bound, self._covers = bound, covers
        self._discounts = [term.discounts.tolist() for term in bound.terms]
        self._topics: dict[int, tuple[list[tuple[int, ...]], list[_Numbers]]] = {}

    def _topic(self, topic_index: int) -> tuple[list[tuple[int, ...]], list[_Numbers]]:
        """By candidate the subtopics that it covers, none at index -1; and the terms."""
        if topic_index not in self._topics:
            covers = self._covers[topic_index]
            covered: list[tuple[int, ...]] = [()] * (len(covers) + 1)
            for candidate, subtopic in np.argwhere(covers).tolist():
                covered[candidate] += (subtopic,)
            most = min(self._bound.depth, int(np.count_nonzero(covers, axis=0).max(initial=0)))
            counts = np.arange(most + 1)[:, None]
            adds = [term.adds(term.weights[topic_index], counts).tolist() for term in self._bound.terms]
            self._topics[topic_index] = covered, list(zip(self._discounts, adds, strict=True))
        return self._topics[topic_index]

    def add(self, topic_index: int, candidate: int, coverage: IntArray, rank: int) -> float:
        """Gain of a document at a rank (the sums of `BoundMeasure.step_gains`); it then counts as covering.

        Args:
            topic_index: of the topic.
            candidate: the document.
            coverage: [S] coverage before it, which is raised.
            rank: where it stands, from 0.
        """
        if not self._discounts:  # no sum over subtopics
            covers = self._covers[topic_index, candidate] if candidate >= 0 else np.zeros(len(coverage), np.bool_)
            changed = self._bound.step_gains(covers[None], coverage[None], rank, np.array([topic_index]))
            coverage += covers
            return float(changed[0])
        of_candidates, terms = self._topics.get(topic_index) or self._topic(topic_index)
        covered, gain = of_candidates[candidate], 0.0
        if covered:
            for discounts, adds in terms:
                total = 0.0
                for subtopic in covered:
                    total += adds[coverage.item(subtopic)][subtopic]
                gain += total * discounts[rank]
            for subtopic in covered:
                coverage[subtopic] = coverage.item(subtopic) + 1
        return gain

    def value(self, topic_index: int, ranking: list[int]) -> float:
        """The measure of a ranking, -1 where a rank is empty or wasted: the sums of `BoundMeasure.score_rankings`."""
        if not self._discounts:
            rankings = np.array([ranking], dtype=np.int64)[:, : self._bound.ranks]
            return float(self._bound.score_rankings(rankings, self._covers, topic_index)[0])
        of_candidates, terms = self._topic(topic_index)
        value = 0.0
        for discounts, adds in terms:
            coverage = [0] * len(adds[0])
            total = 0.0
            for candidate, discount in zip(ranking, discounts, strict=True):
                for subtopic in of_candidates[candidate]:
                    total += adds[coverage[subtopic]][subtopic] * discount
                    coverage[subtopic] += 1
            value += total
        return value
