"""Measures made ready for known topics: plain arrays, and the arithmetic on them, batched and for one episode.

Shapes: B batch, L ranks of a list, K depth, N candidates, S subtopics, T topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.protocols import BoolArray, IntArray, ScoreArray

if TYPE_CHECKING:
    from srd_gym.measures.base import Measure

Rows = NDArray[np.bool_] | NDArray[np.integer[Any]]

_BLOCK = 1 << 16  # judgments looked at in one go: what is worked on stays in the cache (measured best of 2^14 to 2^20)


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """One summand of a measure: gain = discounts[r] * sum_s weights[t, s] * j_s * novelty[c_s]."""

    discounts: ScoreArray
    """[K] float64 by rank (from 0); 0 past the cutoff."""
    novelty: ScoreArray
    """[K + 1] float64 by how often a subtopic was covered before."""
    weights: ScoreArray
    """[T, S] float64: subtopic weight, scale, coefficient and divisor of each topic in one number; 0 for padding."""

    def adds(self, weights: ScoreArray, coverage: NDArray[np.integer[Any]]) -> ScoreArray:
        """What covering a subtopic once more adds before the discount: the weights given times the novelty."""
        worth: ScoreArray = weights * self.novelty.take(coverage)
        return worth


@dataclass(frozen=True, eq=False, slots=True)
class BoundMeasure:
    """A measure that knows its topics: a sum of terms, each a few plain arrays.

    Made by `Measure.bind`. Simulators may read the arrays directly; the methods do the same sums for whole batches.
    Judgments come as `bool` (covers or not) or as integer grades, which count where >= `rel`.
    """

    measure: Measure
    """The measure as it was bound; a missing cutoff is filled with the depth unless the measure is of whole lists."""
    rel: int
    """Relevance level: a judgment >= rel covers."""
    depth: int
    """K, the number of ranks that `discounts` and `novelty` serve."""
    terms: tuple[Term, ...]
    """The summands."""

    @property
    def ranks(self) -> int:
        """Ranks that can gain: min(cutoff, depth)."""
        return self.depth if self.measure.cutoff is None else min(self.measure.cutoff, self.depth)

    def gains(self, rows: Rows, topic_index: ArrayLike) -> ScoreArray:
        """What the document at each rank adds.

        Args:
            rows: [B, L, S] judgments of the ranked documents, best first; all False (or 0) where a rank is empty.
            topic_index: [B] (or one int for all) index of each list's topic.

        Returns:
            [B, L] float64; 0 past the cutoff.

        Raises:
            ValueError: more ranks than the measure was bound for, or shapes that do not match.
        """
        rows, topics = self._checked(rows, topic_index)
        gains = np.zeros(rows.shape[:2])
        length = self._length(rows.shape[1])
        covers = self.covers(rows[:, :length])
        seen = _counted_above(covers.transpose(1, 0, 2)).transpose(1, 0, 2)
        gains[:, :length] = self.step_gains(covers, seen, np.arange(length), topics[:, None])
        return gains

    def values(self, rows: Rows, topic_index: ArrayLike) -> ScoreArray:
        """The measure of each list: the sum of its gains, computed without them (faster).

        Args:
            rows: [B, L, S] judgments of the ranked documents, as for `gains`.
            topic_index: [B] (or one int for all) index of each list's topic.

        Returns:
            [B] float64.

        Raises:
            ValueError: as for `gains`.
        """
        rows, topics = self._checked(rows, topic_index)
        values = np.zeros(len(rows))
        length = self._length(rows.shape[1])
        for part in _blocks(len(rows), length * rows.shape[2]):
            values[part] = self._block_values(rows[part, :length].transpose(1, 0, 2), topics[part])
        return values

    def score_rankings(self, rankings: IntArray, judgments: Rows, topic_index: ArrayLike) -> ScoreArray:
        """The measure of rankings given as candidate indices; looks up only the ranks that can gain.

        Args:
            rankings: [B, L] integer candidate indices, best first; -1 where a rank is empty or wasted.
            judgments: [T, N, S] judgments of every topic's candidates, padded with 0.
            topic_index: [B] (or one int for all) index of each ranking's topic.

        Returns:
            [B] float64. Memory stays bounded: rankings are scored in blocks.

        Raises:
            TypeError: rankings that are no integers.
            ValueError: shapes that do not match, or more ranks than the measure was bound for.
        """
        rankings = np.asarray(rankings)
        if rankings.dtype.kind not in "iu":
            raise TypeError(f"rankings hold candidate indices, expected integers, got {rankings.dtype}")
        topics = _topic_indices(topic_index, len(rankings))
        count, n, width = judgments.shape
        self._check_width(width)
        length = self._length(rankings.shape[1])
        flat = judgments.reshape(count * n, width)
        values = np.zeros(len(rankings))
        for part in _blocks(len(rankings), length * width):
            # Ranks first: coverage then adds up along contiguous memory.
            chosen = np.ascontiguousarray(rankings[part, :length].T, dtype=np.int64)
            # As unsigned numbers, empty ranks (-1) are huge: one look tells whether all is well.
            holes = chosen.size > 0 and int(chosen.view(np.uint64).max()) >= n
            if holes and int(chosen.max()) >= n:
                raise ValueError(f"rankings hold candidate {int(chosen.max())}, but topics have at most {n} candidates")
            place = chosen + topics[part] * n
            if holes:
                place[chosen < 0] = 0
            rows = flat.take(place, axis=0) if len(flat) else np.zeros((*place.shape, width), dtype=np.bool_)
            if holes:
                rows[chosen < 0] = 0
            values[part] = self._block_values(rows, topics[part])
        return values

    def candidate_gains(
        self, judgments: Rows, coverage: IntArray, rank: IntArray | int, topic_index: ArrayLike
    ) -> ScoreArray:
        """What each candidate would add at this rank: what a greedy oracle maximises.

        Args:
            judgments: [B, N, S] judgments of the candidates.
            coverage: [B, S] how often each subtopic is covered so far.
            rank: the rank to fill, counted from 0; one int or [B].
            topic_index: [B] (or one int for all) topic indices.

        Returns:
            [B, N] float64. Candidates with equal judgments get bitwise equal gains.

        Raises:
            IndexError: a rank past the depth.
            ValueError: shapes that do not match.
        """
        judgments, topics = self._checked(judgments, topic_index)
        covers = self.covers(judgments)
        gains = np.zeros(judgments.shape[:2])
        for term in self.terms:
            worth = term.adds(term.weights[topics], coverage) * term.discounts.take(rank).reshape(-1, 1)
            gains += np.einsum("bns,bs->bn", covers, worth)
        return gains

    def step_gains(
        self, rows: Rows, coverage: NDArray[np.integer[Any]], rank: IntArray | int, topic_index: IntArray
    ) -> ScoreArray:
        """The gain of documents put at their ranks, and no checks: what simulators pay.

        Args:
            rows: [..., S] judgments of the chosen documents; all 0 where the rank is wasted.
            coverage: [..., S] coverage before them.
            rank: the rank just filled, counted from 0; [...] or what broadcasts to it, like the next.
            topic_index: topic indices.

        Returns:
            [...] float64. Subtopics are added one after the other, where a sum would pair them up: the order of
            `PlainMeasure.gain`, to the last bit.
        """
        covers = self.covers(rows)
        gains = np.zeros(covers.shape[:-1])
        # Only what covers is looked at; counting with weights adds it up in order.
        flat = covers.reshape(-1).nonzero()[0]
        if not len(flat):
            return gains
        width = covers.shape[-1]
        item = flat // width
        topics = topic_index if topic_index.shape == gains.shape else np.broadcast_to(topic_index, gains.shape)
        cell = topics.reshape(-1).take(item) * width + (flat - item * width)
        before = coverage.reshape(-1).take(flat)
        for term in self.terms:
            adds = np.bincount(item, weights=term.adds(term.weights.take(cell), before), minlength=gains.size)
            gains += adds.reshape(gains.shape) * term.discounts[rank]
        return gains

    def covers(self, rows: Rows) -> NDArray[np.bool_]:
        """Which judgments count: `bool` as it is, grades where >= rel."""
        found: NDArray[np.bool_] = rows if rows.dtype == np.bool_ else rows >= self.rel  # type: ignore[assignment]
        return found

    def _block_values(self, rows: Rows, topics: IntArray) -> ScoreArray:
        """Values of one block [L, B, S] (ranks first): only what covers is looked at, little in real judgments."""
        _, count, width = rows.shape
        covers = rows if rows.dtype == np.bool_ else np.greater_equal(rows, self.rel, order="C")
        flat = np.flatnonzero(covers)
        pair = flat // max(width, 1)
        rank = pair // max(count, 1)
        item = pair - rank * count
        cell = topics.take(item) * width + (flat - pair * width)
        before = _counted_above(covers).reshape(-1).take(flat)
        values = np.zeros(count)
        for term in self.terms:
            adds = term.adds(term.weights.take(cell), before) * term.discounts.take(rank)
            values += np.bincount(item, weights=adds, minlength=count)
        return values

    def _checked(self, given: Rows, topic_index: ArrayLike) -> tuple[Rows, IntArray]:
        """The rows as [B, L, S] of the bound width, and the topic index of each."""
        rows: NDArray[Any] = np.asarray(given)
        if rows.ndim != 3:
            raise ValueError(f"expected judgments of shape [B, L, S], got {rows.shape}")
        self._check_width(rows.shape[2])
        return rows, _topic_indices(topic_index, len(rows))

    def _check_width(self, width: int) -> None:
        """S of the judgments is S of the weights."""
        bound = self.terms[0].weights.shape[1]
        if width != bound:
            raise ValueError(f"judgments have {width} subtopics, but the measure was bound for {bound}; pad them alike")

    def _length(self, given: int) -> int:
        """How many ranks of a list to look at."""
        cutoff = self.measure.cutoff
        if given > self.depth and (cutoff is None or cutoff > self.depth):
            raise ValueError(
                f"{self.measure} was bound for {self.depth} ranks, but lists have {given}; bind it with depth={given}"
            )
        return min(given, self.ranks)


class PlainMeasure:
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


_Numbers = tuple[list[float], list[float], list[float]]
"""A term for one topic: discounts [K] by rank, novelty [K + 1] by coverage, weights [S]."""


def geometric_novelty(alpha: float, depth: int) -> ScoreArray:
    """[depth + 1] float64, (1 - alpha)^c for c = 0, 1, ..., by repeated multiplication as ndeval does."""
    return np.concatenate(([1.0], np.multiply.accumulate(np.full(depth, 1.0 - alpha))))


def _counted_above(covers: NDArray[Any]) -> NDArray[np.integer[Any]]:
    """[L, B, S] how often each subtopic is covered at the ranks above."""
    above = np.zeros(covers.shape, dtype=np.uint8 if len(covers) <= np.iinfo(np.uint8).max else np.int32)
    for rank in range(1, len(covers)):
        np.add(above[rank - 1], covers[rank - 1].view(np.uint8), out=above[rank])
    return above


def _blocks(count: int, size_each: int) -> Iterator[slice]:
    """Cut `count` lists of `size_each` judgments into slices of bounded size."""
    step = max(1, _BLOCK // max(1, size_each))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def _topic_indices(topic_index: ArrayLike, count: int) -> IntArray:
    """[count] topic indices, from one for all or one for each."""
    topics = np.asarray(topic_index, dtype=np.int64)
    if topics.ndim == 0:
        return np.full(count, topics)
    if topics.shape != (count,):
        raise ValueError(f"expected one topic index for each of {count} lists, got shape {topics.shape}")
    return topics
