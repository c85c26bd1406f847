"""The greedy oracle: rank by rank the candidate that adds most to a measure. It reads the labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.measures.bound import BoundMeasure, Rows
from srd_gym.protocols import BoolArray, IntArray

_ROUNDING = 1e-12
"""Gains that differ by less than this share of the best are equal: scales and divisors make sums of equal worth differ
in the last places."""


def greedy_rankings(bound: BoundMeasure, judgments: Rows, allowed: BoolArray, topic_index: ArrayLike) -> IntArray:
    """Greedy rankings of B topics at once by `candidate_gains`; a loop over ranks, none over documents.

    Candidates of equal gain (up to rounding) go in candidate order, the first one first: what stands ahead stays ahead.

    Args:
        bound: the measure whose gains are maximised.
        judgments: [B, N, S] judgments of the candidates, padded with 0.
        allowed: [B, N] bool, candidates that may be ranked (padding is not).
        topic_index: [B] (or one int for all) topic indices.

    Returns:
        [B, min(depth, N)] int64 candidate indices, best first; -1 once no allowed candidate is left.

    Raises:
        ValueError: shapes that do not match.
    """
    if np.shape(allowed) != np.shape(judgments)[:2]:
        raise ValueError(f"allowed must be [B, N] = {np.shape(judgments)[:2]}, got shape {np.shape(allowed)}")
    count, n, width = judgments.shape
    open_to: NDArray[np.bool_] = np.array(allowed, dtype=np.bool_)
    covers = bound.covers(judgments)
    coverage = np.zeros((count, width), dtype=np.int64)
    rankings = np.full((count, min(bound.depth, n)), -1, dtype=np.int64)
    items = np.arange(count)
    for rank in range(rankings.shape[1]):
        gains = bound.candidate_gains(covers, coverage, rank, topic_index)
        offered = np.where(open_to, gains, -1.0)
        top = offered.max(axis=1, keepdims=True)
        best = (offered >= top - _ROUNDING * np.abs(top)).argmax(axis=1)
        real = open_to[items, best]
        rankings[real, rank] = best[real]
        coverage += covers[items, best] & real[:, None]
        open_to[items, best] = False
    return rankings
