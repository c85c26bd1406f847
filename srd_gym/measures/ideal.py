"""Greedy ideal rankings: the document that adds most, rank by rank.

Finding the best ranking is NP-hard; Clarke et al. (SIGIR 2008) and the official tool take the greedy one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.measures.bound import Term, geometric_novelty
from srd_gym.protocols import BoolArray, IntArray, ScoreArray


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

    Raises:
        ValueError: ids or weights that do not match the judgments.
    """
    table = np.asarray(judgments)
    if table.ndim != 2:
        raise ValueError(f"judgments must be [P, S], got shape {table.shape}")
    order = preference(len(table), ids)
    worth = np.ones(table.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if worth.shape != (table.shape[1],):
        raise ValueError(f"expected one weight for each of {table.shape[1]} subtopics, got shape {worth.shape}")
    covers = (table[order] if table.dtype == np.bool_ else table[order] >= rel)[None]
    ranks = len(table) if depth is None else min(depth, len(table))
    # Documents that cover nothing never gain: they come last, in order of preference.
    useful = np.flatnonzero(covers[0].any(axis=1))
    first = min(ranks, len(useful))
    picked, gains = greedy_by_novelty(covers[:, useful], worth[None], alpha, first)
    gaining = useful[picked[0][gains[0] > 0.0]]
    rest = np.setdiff1d(np.arange(len(table)), gaining)
    ranking: IntArray = order[np.concatenate([gaining, rest])[:ranks]]
    return ranking


def preference(count: int, ids: Sequence[str] | None) -> IntArray:
    """[count] int64, document indices so that of two equal gains the earlier wins: larger id, else smaller index."""
    if ids is None:
        return np.arange(count, dtype=np.int64)
    if len(ids) != count:
        raise ValueError(f"expected one id for each of {count} documents, got {len(ids)}")
    return np.array(sorted(range(count), key=ids.__getitem__, reverse=True), dtype=np.int64)


def greedy_by_novelty(
    covers: NDArray[np.bool_], weights: ScoreArray, alpha: float, depth: int
) -> tuple[IntArray, ScoreArray]:
    """Greedy rankings of B topics at once; a loop over ranks, none over documents.

    Args:
        covers: [B, P, S] bool, rows in order of preference; padding all False.
        weights: [B, S] float64.
        alpha: redundancy intolerance.
        depth: ranks to fill, at most P.

    Returns:
        rankings: [B, depth] int64; ties to the smaller index.
        gains: [B, depth] float64, undiscounted gain of each.
    """
    count, documents, width = covers.shape
    rankings = np.zeros((count, depth), dtype=np.int64)
    gains = np.zeros((count, depth))
    if not count or not documents:
        return rankings, gains
    # Subtopics first: sums then run over subtopics one after the other, for every document in the same order as
    # in the official tool, so that equal gains are bitwise equal and ties are real ties.
    by_subtopic = np.ascontiguousarray(covers.transpose(2, 0, 1), dtype=np.float64)
    coverage = np.zeros((count, width), dtype=np.int64)
    taken: BoolArray = np.zeros((count, documents), dtype=np.bool_)
    items = np.arange(count)
    cascade = Term(np.ones(depth), geometric_novelty(alpha, depth), weights)
    for rank in range(depth):
        worth = cascade.adds(weights, coverage)
        total = np.zeros((count, documents))
        for subtopic in range(width):
            total += by_subtopic[subtopic] * worth[:, subtopic, None]
        total[taken] = -1.0
        best = total.argmax(axis=1)
        rankings[:, rank] = best
        gains[:, rank] = total[items, best]
        taken[items, best] = True
        coverage += covers[items, best]
    return rankings, gains
