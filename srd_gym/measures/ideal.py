"""Ideal rankings: the judged documents of a topic that they are made of, and the gains of the greedy ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.checks import check_option
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures.bound import greedy_by_novelty
from srd_gym.measures.judgments import judged
from srd_gym.reading import shown
from srd_gym.topic import GradeArray, Topic, TopicSet

Normalizer = Literal["pool", "candidates"]
NORMALIZERS: tuple[Normalizer, ...] = ("pool", "candidates")
_CELLS = 1 << 14
"""Judgments of a batch of ideal rankings at most, unless one alone has more: what is worked on stays in the cache."""


class IdealPool:
    """The judged documents that a topic's ideal ranking and its number of subtopics come from.

    Ideal gains are computed once per relevance level, alpha and depth, and kept with the depth that they reach.

    Args:
        pool: [P, S] int8 judgments.
        pool_ids: ids of the P documents; ties of the ideal go to the larger id, without ids to the smaller index.
        subtopic_weights: [S] positive weights; 1 each where absent.

    Raises:
        ValueError: ids or weights that do not match the judgments.
    """

    def __init__(
        self, pool: ArrayLike, pool_ids: Sequence[str] | None = None, subtopic_weights: ArrayLike | None = None
    ) -> None:
        self.pool: GradeArray = np.asarray(pool, dtype=np.int8)
        self.pool_ids = pool_ids
        count, self.n_subtopics = self.pool.shape
        if pool_ids is not None and len(pool_ids) != count:
            raise ValueError(f"expected one id for each of {count} pool documents, got {len(pool_ids)}")
        weights = np.ones(self.n_subtopics) if subtopic_weights is None else subtopic_weights
        self.weights: ScoreArray = np.asarray(weights, dtype=np.float64)
        if self.weights.shape != (self.n_subtopics,):
            raise ValueError(f"expected one weight for each of {self.n_subtopics} subtopics, got {self.weights.shape}")
        self._ideals: dict[tuple[float, int], tuple[float, ScoreArray]] = {}

    @classmethod
    def of(cls, topic: Topic, normalizer: Normalizer) -> IdealPool:
        """The judged documents of a topic that its ideal ranking is made of.

        Args:
            topic: a judged topic.
            normalizer: "pool" (as ndeval: every judged document) or "candidates" (only those retrieved).

        Raises:
            ValueError: "pool" for a topic without one, a topic without judgments, or another normalizer.
        """
        if normalizer == "candidates":
            return cls(judged(topic), topic.doc_ids, topic.subtopic_weights)
        check_option("normalizer", normalizer, NORMALIZERS)
        if topic.pool is None:
            raise ValueError(
                f"topic {shown(topic.query_id)} has no pool of judged documents to normalise by; "
                "load the qrels with it, or use normalizer='candidates'"
            )
        return cls(topic.pool, topic.pool_ids, topic.subtopic_weights)

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


def ideal_gains(references: Sequence[IdealPool], alpha: float, rel: int, depth: int | None) -> list[ScoreArray]:
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
    nothing, wanted = (0, np.zeros(0)), depth or np.inf
    rows = [(r, r._useful_rows(rel)) for r in references if r._ideals.get((alpha, rel), nothing)[0] < wanted]
    rows.sort(key=lambda pair: len(pair[1]), reverse=True)
    width = max((reference.n_subtopics for reference, _ in rows), default=0)
    while rows:
        together = max(1, _CELLS // max(1, len(rows[0][1]) * width))
        _fill_batch(rows[:together], alpha, rel, depth)
        rows = rows[together:]
    return [reference._ideals[alpha, rel][1] for reference in references]


def _fill_batch(batch: list[tuple[IdealPool, NDArray[np.bool_]]], alpha: float, rel: int, depth: int | None) -> None:
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
        reached = np.inf if len(rows) <= gains.shape[1] else gains.shape[1]
        reference._ideals[alpha, rel] = reached, np.maximum(gains[item, : len(rows)], 0.0)


def default_normalizer(topics: TopicSet) -> Normalizer:
    """The "pool", as in ndeval, where every topic has one, else "candidates"; tables print it."""
    return "pool" if topics.has_pool else "candidates"


def references(topics: TopicSet, normalizer: Normalizer | None = None) -> tuple[IdealPool, ...]:
    """The reference of every topic of a set, in its order; an unlabelled topic gets an empty one and scores 0.

    Args:
        topics: the topic set.
        normalizer: None means `default_normalizer(topics)`.

    Raises:
        ValueError: "pool" where a judged topic has none.
    """
    chosen = normalizer or default_normalizer(topics)
    return tuple(
        IdealPool.of(topic, chosen) if topic.labelled else IdealPool(np.zeros((0, topic.n_subtopics), dtype=np.int8))
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
        ids: [P] document ids; ties go to the larger id, as in ndeval. Without ids, to the smaller index.
        alpha: redundancy intolerance, 0 to 1.
        rel: relevance level.
        weights: [S] subtopic weights; 1 each where absent.
        depth: how many ranks; all P where absent.

    Returns:
        [min(depth, P)] int64 indices into judgments, best first.
    """
    table = np.asarray(judgments)
    reference = IdealPool(table if table.dtype == np.bool_ else table >= rel, ids, weights)
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
