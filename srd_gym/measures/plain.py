"""A measure in Python numbers: faster than arrays where it is one episode that acts, and the same to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from srd_gym.core.arrays import TopicArrays
from srd_gym.measures import BoundMeasure
from srd_gym.protocols import BoolArray, ScoreArray

T = TypeVar("T")
PlainTerm = tuple[list[float], list[float], list[float]]
"""Discounts [K] by rank, novelty [K + 1] by coverage, and one topic's weights [S]."""


class PerTopic(dict[int, T]):
    """What is made of a topic when it is first asked for."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self._make = make

    def __missing__(self, topic: int) -> T:
        value = self[topic] = self._make(topic)
        return value


class PlainMeasure:
    """A bound measure for one ranking at a time.

    Args:
        bound: the measure.
        arrays: the topics that it is bound to.
    """

    def __init__(self, bound: BoundMeasure, arrays: TopicArrays) -> None:
        self._bound, self._arrays = bound, arrays
        self._needs_grades = bound.needs_grades
        shared = [(term.discounts.tolist(), term.novelty.tolist(), term.weights) for term in bound.terms]
        self.terms: PerTopic[list[PlainTerm]] = PerTopic(partial(_terms, shared))
        """By topic: the terms of its gains."""
        table = arrays.covers(bound.rel)
        self.covered: PerTopic[list[tuple[int, ...]]] = arrays.cache(
            ("covered", bound.rel), lambda: PerTopic(partial(_covered, table))
        )
        """By topic: the subtopics that each candidate covers; none at index -1, an empty rank."""

    def value(self, topic: int, ranking: list[int]) -> float:
        """The measure of a ranking, -1 where a rank is empty or wasted: the sums of `BoundMeasure.score_rankings`."""
        if self._needs_grades:
            return self._bound.score_rankings(np.array([ranking]), self._arrays.judgments, topic).item()
        covered = self.covered[topic]
        value = 0.0
        for discounts, novelty, weights in self.terms[topic]:
            seen = [0] * len(weights)
            total = 0.0
            for candidate, discount in zip(ranking, discounts, strict=True):
                for subtopic in covered[candidate]:
                    total += weights[subtopic] * novelty[seen[subtopic]] * discount
                    seen[subtopic] += 1
            value += total
        return value


def _terms(shared: list[tuple[list[float], list[float], ScoreArray]], topic: int) -> list[PlainTerm]:
    """The terms with one topic's weights."""
    return [(discounts, novelty, weights[topic].tolist()) for discounts, novelty, weights in shared]


def _covered(table: BoolArray, topic: int) -> list[tuple[int, ...]]:
    """The subtopics by candidate, with an entry for -1 at the end."""
    return [*(tuple(np.flatnonzero(row).tolist()) for row in table[topic]), ()]
