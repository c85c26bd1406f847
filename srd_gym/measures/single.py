"""A bound measure in Python numbers: for one ranking at a time this is faster than arrays.

Shapes: N candidates, S subtopics, K depth, T topics.
"""

from __future__ import annotations

import numpy as np

from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.measures.bound import BoundMeasure

_Numbers = tuple[list[float], list[float], list[float]]
"""A term for one topic: discounts [K] by rank, novelty [K + 1] by coverage, weights [S]."""


class SingleMeasure:
    """A bound measure in Python numbers, for one ranking at a time: faster there, and the same to the last bit.

    Args:
        bound: the measure.
        covers: [T, N, S] bool, what candidates cover by the measure's level.
    """

    def __init__(self, bound: BoundMeasure, covers: BoolArray) -> None:
        self._covers, self._weights = covers, [term.weights for term in bound.terms]
        self._shared = [(term.discounts.tolist(), term.novelty.tolist()) for term in bound.terms]
        self._known: dict[int, tuple[list[tuple[int, ...]], list[_Numbers]]] = {}

    def _topic(self, topic_index: int) -> tuple[list[tuple[int, ...]], list[_Numbers]]:
        """By candidate the subtopics that it covers, none at index -1; by term discounts, novelty and weights."""
        if topic_index not in self._known:
            covers = self._covers[topic_index]
            covered: list[tuple[int, ...]] = [()] * (len(covers) + 1)
            for candidate, subtopic in np.argwhere(covers).tolist():
                covered[candidate] += (subtopic,)
            weights = [table[topic_index].tolist() for table in self._weights]
            terms = [(*shared, of_topic) for shared, of_topic in zip(self._shared, weights, strict=True)]
            self._known[topic_index] = covered, terms
        return self._known[topic_index]

    def add(self, topic_index: int, candidate: int, coverage: IntArray, rank: int) -> float:
        """What a document adds at a rank (the sums of `BoundMeasure.step_gains`); it is then counted as covering.

        Args:
            topic_index: of the topic.
            candidate: the document.
            coverage: [S] coverage before it, which is raised.
            rank: where it stands, from 0.
        """
        of_candidates, terms = self._known.get(topic_index) or self._topic(topic_index)
        covered, gain = of_candidates[candidate], 0.0
        if covered:
            for discounts, novelty, weights in terms:
                total = 0.0
                for subtopic in covered:
                    total += weights[subtopic] * novelty[coverage.item(subtopic)]
                gain += total * discounts[rank]
            for subtopic in covered:
                coverage[subtopic] = coverage.item(subtopic) + 1
        return gain

    def value(self, topic_index: int, ranking: list[int]) -> float:
        """The measure of a ranking, -1 where a rank is empty or wasted: the sums of `BoundMeasure.score_rankings`."""
        covered, terms = self._topic(topic_index)
        value = 0.0
        for discounts, novelty, weights in terms:
            seen = [0] * len(weights)
            total = 0.0
            for candidate, discount in zip(ranking, discounts, strict=True):
                for subtopic in covered[candidate]:
                    total += weights[subtopic] * novelty[seen[subtopic]] * discount
                    seen[subtopic] += 1
            value += total
        return value
