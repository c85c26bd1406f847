"""The likelihood of rankings under a linear score that looks at the documents ranked before, with its gradient.

The score of document i after the documents S is f_S(x_i) = w_r' x_i + w_d' h_S(R_i), h_S the least (or mean, or
largest) relation to S in each of D columns; h of nothing is 0. Pure functions; numpy only.

Shapes: N candidates, R relevance columns, D relations, U documents with known relations, L rankings, K ranks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.supervised.linear.config import Pooling
from srd_gym.protocols import BoolArray, IntArray, ScoreArray

Floats = NDArray[np.float32]

_BLOCK = 1 << 21
"""Pooled relations worked on at once (8 MiB)."""


class Rankings(NamedTuple):
    """Rankings of one topic with what their likelihood is made of."""

    relevance: Floats
    """[N, R]."""
    relations: Floats
    """[U, D, N] relations of some documents with all; D may be 0."""
    row_of: IntArray
    """[N] int64, where a document stands in `relations`; anything where it does not."""
    rankings: IntArray
    """[L, K] int64 candidate indices, each once in a ranking."""
    counted: BoolArray
    """[L, K], the ranks that count."""


def log_likelihoods(given: Rankings, weights: ScoreArray, pooling: Pooling) -> tuple[ScoreArray, ScoreArray]:
    """F(y) = sum over ranks of log(exp f(y_r) / sum of exp f over what is left), and its gradient (Zhu et al. 2014).

    Args:
        given: the rankings; every document above the last rank has a row in `relations` (where D > 0).
        weights: [R + D] float64, w_r then w_d.
        pooling: h.

    Returns:
        ([L] float64, [L, R + D] float64).
    """
    count, ranks = given.rankings.shape
    n, width = len(given.relevance), given.relations.shape[1]
    step = max(1, _BLOCK // max(1, ranks * n * max(1, width)))
    parts = [
        _block(given._replace(rankings=given.rankings[at], counted=given.counted[at]), weights, pooling)
        for at in (slice(start, start + step) for start in range(0, count, step))
    ]
    if not parts:
        return np.zeros(0), np.zeros((0, len(weights)))
    return np.concatenate([values for values, _ in parts]), np.concatenate([gradient for _, gradient in parts])


def pooled_relations(rows: Floats, pooling: Pooling) -> Floats:
    """The pooled relations h of the first 0, 1, ..., K - 1 documents of rankings.

    Args:
        rows: [L, K - 1, D, N], the relations of the documents at the ranks but the last.
        pooling: h.

    Returns:
        [L, K, D, N]; zeros at the first rank.
    """
    out = np.zeros((rows.shape[0], rows.shape[1] + 1, *rows.shape[2:]), np.float32)
    if pooling == "mean":
        np.cumsum(rows, axis=1, out=out[:, 1:])
        out[:, 1:] /= np.arange(1, out.shape[1], dtype=np.float32)[:, None, None]
    else:
        (np.minimum if pooling == "min" else np.maximum).accumulate(rows, axis=1, out=out[:, 1:])
    return out


def _block(given: Rankings, weights: ScoreArray, pooling: Pooling) -> tuple[ScoreArray, ScoreArray]:
    """`log_likelihoods` of a few rankings."""
    rankings, relevance = given.rankings, given.relevance
    columns = relevance.shape[1]
    own, between = weights[:columns].astype(np.float32), weights[columns:].astype(np.float32)
    scores = np.broadcast_to(relevance @ own, (*rankings.shape, len(relevance)))
    pooled = pooled_relations(given.relations[given.row_of[rankings[:, :-1]]], pooling) if len(between) else None
    if pooled is not None:
        scores = scores + (between @ pooled)
    scores = np.where(_left(rankings, len(relevance)), scores, -np.inf)
    largest = scores.max(axis=2, keepdims=True)
    odds = np.exp(scores - largest)
    total = odds.sum(axis=2, keepdims=True)
    chosen = np.take_along_axis(scores, rankings[..., None], axis=2)
    values = np.where(given.counted, (chosen - largest - np.log(total))[..., 0], 0.0).sum(axis=1, dtype=np.float64)
    odds /= total
    gradient = np.empty((*rankings.shape, len(weights)), np.float32)
    gradient[..., :columns] = relevance[rankings] - odds @ relevance
    if pooled is not None:
        at_chosen = np.take_along_axis(pooled, rankings[:, :, None, None], axis=3)[..., 0]
        gradient[..., columns:] = at_chosen - (pooled @ odds[..., None])[..., 0]
    gradient[~given.counted] = 0.0
    return values, gradient.sum(axis=1, dtype=np.float64)


def _left(rankings: IntArray, n: int) -> BoolArray:
    """Which documents are left at each rank: [L, K, N]."""
    count, ranks = rankings.shape
    rank_of = np.full((count, n), ranks)
    np.put_along_axis(rank_of, rankings, np.arange(ranks), axis=1)
    left: BoolArray = rank_of[:, None] >= np.arange(ranks)[:, None]
    return left
