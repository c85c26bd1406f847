"""A measure in Python numbers: faster than arrays where it is one episode that acts, and the same to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from srd_gym.measures.bound import BoundMeasure
from srd_gym.protocols import BoolArray, IntArray, ScoreArray

T = TypeVar("T")


class PerTopic(dict[int, T]):
    """What is made of a topic when it is first asked for."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self._make = make

    def __missing__(self, topic: int) -> T:
        value = self[topic] = self._make(topic)
        return value


Covered = PerTopic[list[tuple[int, ...]]]


class PlainMeasure:
    """A bound measure for one ranking at a time; it must not need grades.

    Args:
        bound: the measure.
        covered: by topic, the subtopics that each candidate covers: `covered_subtopics` of the measure's level.
    """

    def __init__(self, bound: BoundMeasure, covered: Covered) -> None:
        self.covered = covered
        shared = [(term.discounts.tolist(), term.novelty.tolist(), term.weights) for term in bound.terms]
        self._terms: PerTopic[list[tuple[list[float], list[float], list[float]]]] = PerTopic(partial(_terms, shared))

    def gain(self, topic: int, covered: tuple[int, ...], coverage: IntArray, rank: int) -> float:
        """What a document adds at a rank (from 0): the sums of `BoundMeasure.step_gains`.

        Args:
            topic: its index.
            covered: the subtopics that the document covers.
            coverage: [S] coverage before it.
            rank: where it stands.
        """
        gain = 0.0
        for discounts, novelty, weights in self._terms[topic]:
            total = 0.0
            for subtopic in covered:
                total += weights[subtopic] * novelty[coverage.item(subtopic)]
            gain += total * discounts[rank]
        return gain

    def value(self, topic: int, ranking: list[int]) -> float:
        """The measure of a ranking, -1 where a rank is empty or wasted: the sums of `BoundMeasure.score_rankings`."""
        covered = self.covered[topic]
        value = 0.0
        for discounts, novelty, weights in self._terms[topic]:
            seen = [0] * len(weights)
            total = 0.0
            for candidate, discount in zip(ranking, discounts, strict=True):
                for subtopic in covered[candidate]:
                    total += weights[subtopic] * novelty[seen[subtopic]] * discount
                    seen[subtopic] += 1
            value += total
        return value


def covered_subtopics(covers: BoolArray) -> Covered:
    """By topic: the subtopics that each candidate covers, none at index -1 (an empty rank).

    Args:
        covers: [T, N, S] bool.
    """
    return PerTopic(partial(_covered, covers))


def _terms(
    shared: list[tuple[list[float], list[float], ScoreArray]], topic: int
) -> list[tuple[list[float], list[float], list[float]]]:
    """Discounts [K] by rank, novelty [K + 1] by coverage, and one topic's weights [S]."""
    return [(discounts, novelty, weights[topic].tolist()) for discounts, novelty, weights in shared]


def _covered(covers: BoolArray, topic: int) -> list[tuple[int, ...]]:
    """The subtopics by candidate, with an entry for -1 at the end."""
    return [*(tuple(np.flatnonzero(row).tolist()) for row in covers[topic]), ()]
