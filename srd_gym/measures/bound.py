"""Measures made ready for known topics: plain arrays, the arithmetic on them, and the rankings that are greedy by them.

Finding the best ranking is NP-hard; Clarke et al. (SIGIR 2008) and ndeval take the greedy one: the document
that adds most, rank by rank.

Shapes: B batch, L ranks of a list, K depth, N candidates, S subtopics, T topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.dtypes import AnyArray, BoolArray, IntArray, ScoreArray
from srd_gym.reading import with_type
from srd_gym.showing import short_repr

Rows = NDArray[np.bool_] | NDArray[np.integer[Any]]

_BLOCK = 1 << 16  # judgments looked at in one go: what is worked on stays in the cache (measured best of 2^14 to 2^20)
_ROUNDING = 1e-12
"""Gains that differ by less than this share of the best are equal to the oracle: scales and divisors make sums of equal
worth differ in the last places."""


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """One summand of a measure: gain = discounts[r] * sum_s weights[t, s] * j_s * novelty[c_s]."""

    __repr__ = short_repr

    discounts: ScoreArray
    """[K] float64 by rank (from 0); 0 past the cutoff."""
    novelty: ScoreArray
    """[K + 1] float64 by how often a subtopic was covered before."""
    weights: ScoreArray
    """[T, S] float64: subtopic weight, scale, coefficient and divisor of each topic in one number; 0 for padding."""

    def adds(self, weights: ScoreArray, coverage: NDArray[np.integer[Any]]) -> ScoreArray:
        """Gain of covering a subtopic once more, before the discount: the weights given times the novelty."""
        worth: ScoreArray = weights * self.novelty.take(coverage)
        return worth


@dataclass(frozen=True, eq=False, slots=True)
class BoundMeasure:
    """A measure that knows its topics: a sum of terms, each a few plain arrays.

    Made by `Measure.bind`. Simulators may read the arrays directly; the methods do the same sums for whole batches.
    Judgments come as `bool` (covers or not) or as integer grades, which count where >= `rel`.
    """

    __repr__ = short_repr

    name: str
    """The measure's notation as it was bound: a missing cutoff is the depth unless the measure is of whole lists."""
    cutoff: int | None
    """k of "measure@k"; None: of whole lists."""
    rel: int
    """Relevance level: a judgment >= rel covers."""
    depth: int
    """K, the number of ranks that `discounts` and `novelty` serve."""
    terms: tuple[Term, ...]
    """The summands."""

    @property
    def ranks(self) -> int:
        """Ranks that can gain: min(cutoff, depth)."""
        return self.depth if self.cutoff is None else min(self.cutoff, self.depth)

    def gains(self, rows: Rows, topic_index: ArrayLike) -> ScoreArray:
        """Gain of the document at each rank.

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
        coverage = _counted_above(covers.transpose(1, 0, 2)).transpose(1, 0, 2)
        gains[:, :length] = self.step_gains(covers, coverage, np.arange(length), topics[:, None])
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
            raise TypeError(f"rankings hold candidate indices, expected integers, got {with_type(rankings)}")
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
        """Gain of each candidate at this rank, which a greedy oracle maximises.

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
            `SingleMeasure.add`, to the last bit.
        """
        covers = self.covers(rows)
        gains = np.zeros(covers.shape[:-1])
        flat = covers.reshape(-1).nonzero()[0]
        if not len(flat):
            return gains
        item = flat // covers.shape[-1]
        topics = topic_index if topic_index.shape == gains.shape else np.broadcast_to(topic_index, gains.shape)
        every = self._adds(flat, item, coverage, topics.reshape(-1).take(item))
        for term, adds in zip(self.terms, every, strict=True):
            sums = np.bincount(item, weights=adds, minlength=gains.size)
            gains += sums.reshape(gains.shape) * term.discounts[rank]
        return gains

    def covers(self, rows: Rows) -> NDArray[np.bool_]:
        """Judgments that count: `bool` as it is, grades where >= rel."""
        covers: NDArray[np.bool_] = rows if rows.dtype == np.bool_ else rows >= self.rel  # type: ignore[assignment]
        return covers

    def _block_values(self, rows: Rows, topics: IntArray) -> ScoreArray:
        """Values of one block [L, B, S] (ranks first): only what covers is looked at, little in real judgments."""
        _, count, width = rows.shape
        covers = rows if rows.dtype == np.bool_ else np.greater_equal(rows, self.rel, order="C")
        flat = np.flatnonzero(covers)
        place = flat // max(width, 1)
        rank = place // max(count, 1)
        item = place - rank * count
        every = self._adds(flat, place, _counted_above(covers), topics.take(item))
        values = np.zeros(count)
        for term, adds in zip(self.terms, every, strict=True):
            values += np.bincount(item, weights=adds * term.discounts.take(rank), minlength=count)
        return values

    def _adds(
        self, flat: IntArray, place: IntArray, coverage: NDArray[np.integer[Any]], topics: IntArray
    ) -> list[ScoreArray]:
        """By term what documents add before the discount, for P pairs of a document and a subtopic that it covers.

        Args:
            flat: [P] places of the pairs in an array [..., S], flat.
            place: [P] places of their documents in [...], flat.
            coverage: [..., S] coverage before each document.
            topics: [P] their topic indices.

        Returns:
            [P] float64 for each term; `np.bincount` adds them up in order.
        """
        width = coverage.shape[-1]
        cell, before = topics * width + (flat - place * width), coverage.reshape(-1).take(flat)
        return [term.adds(term.weights.take(cell), before) for term in self.terms]

    def _checked(self, given: Rows, topic_index: ArrayLike) -> tuple[Rows, IntArray]:
        """The rows as [B, L, S] of the bound width, and the topic index of each."""
        rows: AnyArray = np.asarray(given)
        if rows.ndim != 3:
            raise ValueError(f"expected judgments of shape [B, L, S], got {rows.shape}")
        self._check_width(rows.shape[2])
        return rows, _topic_indices(topic_index, len(rows))

    @property
    def _width(self) -> int:
        """S of the weights."""
        return int(self.terms[0].weights.shape[1])

    def _check_width(self, width: int) -> None:
        """S of the judgments is S of the weights."""
        bound = self._width
        if width != bound:
            raise ValueError(f"judgments have {width} subtopics, but the measure was bound for {bound}; pad them alike")

    def _length(self, given: int) -> int:
        """Number of ranks of a list to look at."""
        if given > self.depth and (self.cutoff is None or self.cutoff > self.depth):
            raise ValueError(
                f"{self.name} was bound for {self.depth} ranks, but lists have {given}; bind it with depth={given}"
            )
        return min(given, self.ranks)


def geometric_novelty(alpha: float, depth: int) -> ScoreArray:
    """[depth + 1] float64, (1 - alpha)^c for c = 0, 1, ..., by repeated multiplication as ndeval does."""
    return np.concatenate(([1.0], np.multiply.accumulate(np.full(depth, 1.0 - alpha))))


def greedy_by_novelty(
    covers: NDArray[np.bool_], weights: ScoreArray, alpha: float, depth: int
) -> tuple[IntArray, ScoreArray]:
    """Greedy rankings of B topics at once by sum_s w_s j_s (1 - alpha)^c_s.

    Args:
        covers: [B, P, S] bool, rows in order of preference; padding all False.
        weights: [B, S] float64.
        alpha: redundancy intolerance.
        depth: ranks to fill; at most P are.

    Returns:
        rankings: [B, K] int64; ties to the smaller index.
        gains: [B, K] float64, undiscounted gain of each.
    """
    depth = min(depth, covers.shape[1])
    # Subtopics first: sums then run over subtopics one after the other, for every document in the same order as
    # in ndeval, so that equal gains are bitwise equal and ties are real ties.
    by_subtopic = np.ascontiguousarray(covers.transpose(2, 0, 1), dtype=np.float64)
    cascade = Term(np.ones(depth), geometric_novelty(alpha, depth), weights)

    def gains(rank: int, coverage: IntArray) -> ScoreArray:
        worth = cascade.adds(weights, coverage)
        total = np.zeros(covers.shape[:2])
        for each, worth_of_it in zip(by_subtopic, worth.T, strict=True):
            total += each * worth_of_it[:, None]
        return total

    return _greedy(covers, np.ones(covers.shape[:2], dtype=np.bool_), depth, gains)


def greedy_rankings(bound: BoundMeasure, judgments: Rows, allowed: BoolArray, topic_index: ArrayLike) -> IntArray:
    """The greedy oracle, which reads the labels: rankings of B topics at once by `candidate_gains`.

    Candidates of equal gain (up to rounding) go in candidate order, the first one first: what stands ahead stays ahead.

    Args:
        bound: the measure whose gains are maximised.
        judgments: [B, N, S] judgments of the candidates, padded with 0.
        allowed: [B, N] bool, candidates that may be ranked (padding is not).
        topic_index: [B] (or one int for all) topic indices.

    Returns:
        [B, min(depth, N)] int64 candidate indices, best first; -1 once no allowed candidate is left.
    """
    covers = bound.covers(judgments)

    def gains(rank: int, coverage: IntArray) -> ScoreArray:
        return bound.candidate_gains(covers, coverage, rank, topic_index)

    return _greedy(covers, allowed, min(bound.depth, covers.shape[1]), gains, _ROUNDING)[0]


def _counted_above(covers: AnyArray) -> NDArray[np.integer[Any]]:
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


def _greedy(
    covers: BoolArray,
    offered: BoolArray,
    depth: int,
    gains_at: Callable[[int, IntArray], ScoreArray],
    rounding: float = 0.0,
) -> tuple[IntArray, ScoreArray]:
    """Rankings [B, depth] of the allowed documents, and their gains; a loop over ranks, none over documents.

    Gains are those of all documents [B, N] at a rank, given the coverage [B, S]; the first of equals wins.
    """
    taken: BoolArray = ~np.asarray(offered, dtype=np.bool_)
    items = np.arange(len(covers))
    coverage = np.zeros((len(covers), covers.shape[2]), dtype=np.int64)
    rankings, gains = np.zeros((len(covers), depth), dtype=np.int64), np.zeros((len(covers), depth))
    for rank in range(depth):
        by_document = gains_at(rank, coverage)
        by_document[taken] = -np.inf
        best = by_document.argmax(axis=1)
        gains[:, rank] = top = by_document[items, best]
        if rounding:
            best = (by_document >= (top - rounding * np.abs(top))[:, None]).argmax(axis=1)
        rankings[:, rank] = best
        coverage += covers[items, best]
        taken[items, best] = True
    rankings[np.arange(depth) >= np.sum(offered, axis=1)[:, None]] = -1
    return rankings, gains
