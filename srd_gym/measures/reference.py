"""What a measure needs of a topic besides the ranking: the documents that the ideal is made of, and the ideal itself.

Finding the best ranking is NP-hard; Clarke et al. (SIGIR 2008) and the official tool take the greedy one: the document
that adds most, rank by rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.checks import check_option
from srd_gym.measures.bound import BoundMeasure, Rows, Term, geometric_novelty
from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.topic import GradeArray, Topic, TopicSet

Normalizer = Literal["pool", "candidates"]
_CELLS = 1 << 14
"""Judgments of a batch of ideal rankings at most, unless one alone has more: what is worked on stays in the cache."""
_ROUNDING = 1e-12
"""Gains that differ by less than this share of the best are equal to the oracle: scales and divisors make sums of equal
worth differ in the last places."""
NORMALIZERS: tuple[Normalizer, ...] = ("pool", "candidates")


class Reference:
    """The judged documents that a topic's ideal ranking and its number of subtopics come from.

    Ideal gains are computed once per relevance level, alpha and depth, and kept.

    Args:
        pool: [P, S] int8 judgments.
        pool_ids: ids of the P documents; ties of the ideal go to the larger id, without ids to the smaller index.
        subtopic_weights: [S] positive weights; 1 each where absent.
    """

    def __init__(
        self, pool: ArrayLike, pool_ids: Sequence[str] | None = None, subtopic_weights: ArrayLike | None = None
    ) -> None:
        self.pool: GradeArray = np.asarray(pool, dtype=np.int8)
        self.pool_ids = pool_ids
        weights = np.ones(self.n_subtopics) if subtopic_weights is None else subtopic_weights
        self.weights: ScoreArray = np.asarray(weights, dtype=np.float64)
        self._ideals: dict[tuple[float, int], ScoreArray] = {}

    @classmethod
    def of(cls, topic: Topic, normalizer: Normalizer) -> Reference:
        """The reference of a topic.

        Args:
            topic: a judged topic.
            normalizer: "pool" (official: every judged document) or "candidates" (only those retrieved).

        Raises:
            ValueError: "pool" for a topic without one, a topic without judgments, or another normalizer.
        """
        if normalizer == "candidates":
            return cls(judged(topic), topic.doc_ids, topic.subtopic_weights)
        check_option("normalizer", normalizer, NORMALIZERS)
        if topic.pool is None:
            raise ValueError(
                f"topic {topic.query_id!r} has no pool of judged documents to normalise by; "
                "load the qrels with it, or use normalizer='candidates'"
            )
        return cls(topic.pool, topic.pool_ids, topic.subtopic_weights)

    @property
    def n_subtopics(self) -> int:
        """S."""
        return int(self.pool.shape[1])

    def relevant(self, rel: int) -> IntArray:
        """[S] int64, relevant pool documents of each subtopic."""
        counts: IntArray = np.count_nonzero(self.pool >= rel, axis=0).astype(np.int64)
        return counts

    @cached_property
    def order(self) -> IntArray:
        """[P] int64, pool documents in the order in which ties are broken."""
        return preference(len(self.pool), self.pool_ids)

    def ideal_global_gains(self, rel: int) -> ScoreArray:
        """[P] float64, global gains sum_s w_s j_s of all pool documents, largest first (Sakai & Song 2011)."""
        return np.sort(np.einsum("ps,s->p", self.pool >= rel, self.weights))[::-1]

    def _useful_rows(self, rel: int) -> NDArray[np.bool_]:
        """[U, S] bool: rows of documents that cover something, in order of preference."""
        covers = self.pool[self.order] >= rel
        return covers[covers.any(axis=1)]

    def _knows(self, alpha: float, rel: int, depth: int | None) -> bool:
        """Whether ideal gains to this depth (or as far as documents gain) are known."""
        known = self._ideals.get((alpha, rel))
        if known is None:
            return False
        return len(known) >= (depth or np.inf) or len(known) >= len(self._useful_rows(rel))


def ideal_gains(references: Sequence[Reference], alpha: float, rel: int, depth: int | None) -> list[ScoreArray]:
    """Undiscounted gains sum_s w_s j_s (1 - alpha)^c_s of the greedy ideal ranking of each reference, rank by rank.

    Those that are not known yet are computed together, those of similar size in one batch.

    Args:
        references: whose ideals are wanted.
        alpha: redundancy intolerance.
        rel: relevance level.
        depth: ranks needed; None means all that gain.

    Returns:
        Float64 of at least min(depth, relevant documents) ranks each; what follows would be 0.
    """
    rows = [(r, r._useful_rows(rel)) for r in references if not r._knows(alpha, rel, depth)]
    rows.sort(key=lambda pair: len(pair[1]), reverse=True)
    width = max((reference.n_subtopics for reference, _ in rows), default=0)
    while rows:
        together = max(1, _CELLS // max(1, len(rows[0][1]) * width))
        _fill_batch(rows[:together], alpha, rel, depth)
        rows = rows[together:]
    return [reference._ideals[alpha, rel] for reference in references]


def _fill_batch(batch: list[tuple[Reference, NDArray[np.bool_]]], alpha: float, rel: int, depth: int | None) -> None:
    """Ideal gains of references whose rows are padded to the largest."""
    largest = len(batch[0][1])
    width = max(reference.n_subtopics for reference, _ in batch)
    covers = np.zeros((len(batch), largest, width), dtype=np.bool_)
    weights = np.zeros((len(batch), width))
    for item, (reference, rows) in enumerate(batch):
        covers[item, : len(rows), : rows.shape[1]] = rows
        weights[item, : reference.n_subtopics] = reference.weights
    _, gains = greedy_by_novelty(covers, weights, alpha, depth or largest)
    for item, (reference, rows) in enumerate(batch):
        reference._ideals[alpha, rel] = np.maximum(gains[item, : len(rows)], 0.0)


def judged(topic: Topic) -> GradeArray:
    """The judgments of a topic: [N, S] int8.

    Raises:
        ValueError: the topic is not judged.
    """
    if topic.judgments is None:
        raise ValueError(f"topic {topic.query_id!r} has no judgments; a measure needs a judged topic")
    return topic.judgments


def default_normalizer(topics: TopicSet) -> Normalizer:
    """The official "pool" where every topic has one, else "candidates"; tables print it."""
    return "pool" if topics.has_pool else "candidates"


def references(topics: TopicSet, normalizer: Normalizer | None = None) -> tuple[Reference, ...]:
    """The reference of every topic of a set, in its order; an unlabelled topic gets an empty one and scores 0.

    Args:
        topics: the topic set.
        normalizer: None means `default_normalizer(topics)`.

    Raises:
        ValueError: "pool" where a judged topic has none.
    """
    chosen = normalizer or default_normalizer(topics)
    return tuple(
        Reference.of(topic, chosen) if topic.labelled else Reference(np.zeros((0, topic.n_subtopics), dtype=np.int8))
        for topic in topics
    )


def greedy_ideal(
    judgments: ArrayLike,
    *,
    ids: Sequence[str] | None = None,
    alpha: float = 0.5,
    rel: int = 1,
    weights: ArrayLike | None = None,
    depth: int | None = None,
) -> IntArray:
    """The greedy ideal ranking of one topic's documents by sum_s w_s j_s (1 - alpha)^c_s.

    Args:
        judgments: [P, S] judgments; >= rel covers.
        ids: [P] document ids; ties go to the larger id (the official rule). Without ids, to the smaller index.
        alpha: redundancy intolerance, 0 to 1.
        rel: relevance level.
        weights: [S] subtopic weights; 1 each where absent.
        depth: how many ranks; all P where absent.

    Returns:
        [min(depth, P)] int64 indices into judgments, best first.
    """
    table = np.asarray(judgments)
    reference = Reference(table if table.dtype == np.bool_ else table >= rel, ids, weights)
    order = reference.order
    covers = reference.pool[order].astype(np.bool_)[None]
    rankings, _ = greedy_by_novelty(covers, reference.weights[None], alpha, depth or len(table))
    ranking: IntArray = order[rankings[0]]
    return ranking


def preference(count: int, ids: Sequence[str] | None) -> IntArray:
    """[count] int64, document indices so that of two equal gains the earlier wins: larger id, else smaller index."""
    if ids is None:
        return np.arange(count, dtype=np.int64)
    return np.array(sorted(range(count), key=ids.__getitem__, reverse=True), dtype=np.int64)


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
    # in the official tool, so that equal gains are bitwise equal and ties are real ties.
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


def _greedy(
    covers: BoolArray,
    offered: BoolArray,
    depth: int,
    gains_at: Callable[[int, IntArray], ScoreArray],
    rounding: float = 0.0,
) -> tuple[IntArray, ScoreArray]:
    """Rankings [B, depth] of the documents on offer, and their gains; a loop over ranks, none over documents.

    Gains are those of all documents [B, N] at a rank, given the coverage [B, S]; the first of equals wins.
    """
    taken: BoolArray = ~np.asarray(offered, dtype=np.bool_)
    items = np.arange(len(covers))
    coverage = np.zeros((len(covers), covers.shape[2]), dtype=np.int64)
    rankings, gains = np.zeros((len(covers), depth), dtype=np.int64), np.zeros((len(covers), depth))
    for rank in range(depth):
        found = gains_at(rank, coverage)
        found[taken] = -np.inf
        best = found.argmax(axis=1)
        gains[:, rank] = top = found[items, best]
        if rounding:
            best = (found >= (top - rounding * np.abs(top))[:, None]).argmax(axis=1)
        rankings[:, rank] = best
        coverage += covers[items, best]
        taken[items, best] = True
    rankings[np.arange(depth) >= np.sum(offered, axis=1)[:, None]] = -1
    return rankings, gains
