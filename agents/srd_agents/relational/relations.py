"""What every embedding space has: ranks, scores and similarities within a topic. Numpy only.

All of it is unchanged by a shift or a positive factor of the retrieval scores, by lengths of vectors, and by added
dimensions that are 0; and moves with the candidates when they are reordered.

Shapes: B topics of N candidates each, R rankings of each topic, F vector width, M anchors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_gym.protocols import BoolArray, IntArray
from srd_gym.topic import FloatArray

Array = NDArray[np.float32]

STATIC = (
    "rank",
    "rank_discount",
    "rank_reciprocal",
    "score",
    "query_cosine",
    "centroid_cosine",
    "anchors_mean",
    "anchors_nearest",
    "anchors_near",
    "ahead_nearest",
    "ahead_near",
)
"""What a candidate is like before anything is ranked (columns of `Relations.static`)."""
CONTEXT = (
    "has_order",
    "has_query",
    "size",
    "similarity_mean",
    "similarity_spread",
    "similarity_tail",
    "score_and_query",
    "score_and_centroid",
    "query_and_centroid",
)
"""What the topic as a whole is like (columns of `Relations.context`)."""
DYNAMIC = (
    "nearest",
    "mean",
    "last",
    "near_share",
    "very_near_share",
    "near_count",
    "very_near_count",
    "nearest_cosine",
    "nearest_here",
)
"""A candidate beside what is ranked already (rows of `Ranked.features`)."""
POSITION = ("first", "reciprocal", "position")
"""Where in the ranking the next document stands."""

ANCHORS = 16
"""Candidates that stand for all others where similarities are measured: the best by retrieval order or query cosine."""
NEAR, VERY_NEAR = np.float32(1.0), np.float32(2.0)
"""Standardised similarities from which documents count as near, and as very near."""
_LIMIT = np.float32(4.0)
"""Standardised values are cut off here: outliers are all alike."""
_FLAT = 1e-6
"""Standard deviations below this, relative to the values, count as 0: what differs is rounding."""


class Relations(NamedTuple):
    """B topics, ready to be ranked."""

    unit: Array
    """[B, N, F] document vectors of length 1; zero vectors stay zero."""
    static: Array
    """[B, N, D] with the columns `STATIC`."""
    context: Array
    """[B, C] with the columns `CONTEXT`."""
    mean: Array
    """[B], mean similarity of two documents."""
    scale: Array
    """[B], 1 / standard deviation of such similarities; 0 where all are alike."""


def relate(unit: Array, scores: FloatArray, has_order: BoolArray, queries: FloatArray) -> Relations:
    """The relations of B topics of equal size; nothing is N x N.

    Args:
        unit: [B, N, F] unit or zero vectors.
        scores: [B, N] retrieval scores; ignored where there is no order.
        has_order: [B] bool, whether the topic has retrieval scores.
        queries: [B, F] unit vectors; zero where a topic has none.
    """
    n = unit.shape[1]
    has_query = queries.any(axis=1)
    ranks = np.where(has_order[:, None], midranks(scores), np.float32(0))
    centroid = unit.mean(axis=1)
    score = standardised(np.where(has_order[:, None], scores, 0).astype(np.float64))
    query = standardised(_products(unit, queries))
    central = standardised(_products(unit, centroid))
    order = _best_first(ranks, has_order, query, central)
    anchors = order[:, : min(n, ANCHORS)]
    near, mean, spread = _similarities(unit, anchors)
    scale = np.where(spread > _FLAT, 1 / np.maximum(spread, _FLAT), 0).astype(np.float32)
    on = has_order[:, None]
    static = np.empty((*unit.shape[:2], len(STATIC)), np.float32)
    static[..., 0] = np.where(on, ranks / max(n - 1, 1) - 0.5, 0)
    static[..., 1] = np.where(on, 1 / np.log2(2 + ranks), 0)
    static[..., 2] = np.where(on, 1 / (1 + ranks), 0)
    static[..., 3], static[..., 4], static[..., 5] = score, query, central
    tail = _beside_anchors(static[..., 6:], near, mean, scale, order, anchors)
    context = np.empty((len(unit), len(CONTEXT)), np.float32)
    context[:, 0], context[:, 1], context[:, 2] = has_order, has_query, np.log(n) / 5
    context[:, 3], context[:, 4], context[:, 5] = mean, 3 * spread, 5 * tail
    context[:, 6] = (score * query).mean(axis=1)
    context[:, 7], context[:, 8] = (score * central).mean(axis=1), (query * central).mean(axis=1)
    return Relations(unit, static, context, mean, scale)


class Ranked:
    """What is ranked so far in R rankings of each of B topics, one similarity row a step.

    Args:
        relations: of the topics.
        rankings: R.
        present: [B, N] bool, real candidates where topics are padded; None: all are.

    Attributes:
        features: [B, R, D, N] float32 with the rows `DYNAMIC`; changes in place.
    """

    def __init__(self, relations: Relations, rankings: int = 1, present: BoolArray | None = None) -> None:
        count, n = relations.unit.shape[:2]
        shape = (count, rankings, n)
        self._columns = relations.unit.swapaxes(1, 2)
        self._unit = relations.unit
        self._mean = relations.mean[:, None, None]
        self._scale = relations.scale[:, None, None]
        self._spread = np.where(self._scale > 0, 1 / np.maximum(self._scale, np.float32(1e-6)), 0).astype(np.float32)
        share = np.full((count, n), 1 / max(n, 1)) if present is None else present / present.sum(1, keepdims=True)
        self._share = share.astype(np.float32)[:, :, None]
        self._nearest = np.full(shape, -_LIMIT, np.float32)
        self._sum = np.zeros(shape, np.float32)
        self._near = np.zeros(shape, np.float32)
        self._very_near = np.zeros(shape, np.float32)
        self._lanes = np.arange(count)[:, None]
        self.features: Array = np.zeros((count, rankings, len(DYNAMIC), n), np.float32)
        self.size = 0

    def position(self) -> Array:
        """[P] float32, the values of `POSITION` for the next rank."""
        return np.array([self.size == 0, 1 / (1 + self.size), self.size / 10], np.float32)

    def add(self, chosen: IntArray) -> None:
        """Put these candidates at the next rank.

        Args:
            chosen: [B, R] int64.
        """
        rows = np.matmul(self._unit[self._lanes, chosen], self._columns)
        rows -= self._mean
        rows *= self._scale
        np.clip(rows, -_LIMIT, _LIMIT, out=rows)
        np.maximum(self._nearest, rows, out=self._nearest)
        self._sum += rows
        self._near += rows > NEAR
        self._very_near += rows > VERY_NEAR
        self.size += 1
        out, each = self.features, np.float32(1 / self.size)
        np.multiply(self._nearest, np.float32(1 / 3), out=out[:, :, 0])
        np.multiply(self._sum, each, out=out[:, :, 1])
        np.multiply(rows, np.float32(1 / 3), out=out[:, :, 2])
        np.multiply(self._near, each, out=out[:, :, 3])
        np.multiply(self._very_near, each, out=out[:, :, 4])
        np.log1p(self._near, out=out[:, :, 5])
        np.log1p(self._very_near, out=out[:, :, 6])
        np.multiply(self._nearest, self._spread, out=out[:, :, 7])
        out[:, :, 7] += self._mean
        out[:, :, 8] = self._against_the_rest()

    def _against_the_rest(self) -> Array:
        """[B, R, N]: the nearest similarity, standardised over the topic's candidates."""
        mean = np.matmul(self._nearest, self._share)
        rest: Array = self._nearest - mean
        spread = np.sqrt(np.matmul(np.square(rest), self._share))
        rest /= np.maximum(spread, np.float32(1e-3))
        rest *= np.float32(0.5)
        return rest


def midranks(scores: FloatArray) -> Array:
    """Ranks from 0 for the highest score; equal scores share their mean rank.

    Args:
        scores: [B, N].

    Returns:
        [B, N] float32.
    """
    n = scores.shape[1]
    every = np.broadcast_to(np.arange(n, dtype=np.float32), scores.shape)
    if n < 2 or bool((scores[:, 1:] < scores[:, :-1]).all()):
        return every
    ranks = np.empty(scores.shape, np.float32)
    for row, given in zip(ranks, scores, strict=True):
        rising = np.sort(given)
        row[:] = n - (np.searchsorted(rising, given, "left") + np.searchsorted(rising, given, "right") + 1) / 2
    return ranks


def standardised(values: NDArray[np.floating]) -> Array:
    """Values less their mean, over their standard deviation, cut off at 4; 0 where all are alike.

    Args:
        values: [B, N].

    Returns:
        [B, N] float32.
    """
    mean = values.mean(axis=1, keepdims=True)
    centred = values - mean
    spread = np.sqrt(np.square(centred).mean(axis=1, keepdims=True))
    flat = spread <= _FLAT * (np.abs(mean) + 1e-30) if values.dtype == np.float64 else spread <= _FLAT
    scaled: Array = np.where(flat, 0, centred / np.where(flat, 1, spread)).astype(np.float32)
    return np.clip(scaled, -_LIMIT, _LIMIT, out=scaled)


def _products(unit: Array, vectors: FloatArray) -> Array:
    """The product of every document with its topic's vector: [B, N] from [B, N, F] and [B, F]."""
    product: Array = np.matmul(unit, vectors[:, :, None])[:, :, 0]
    return product


def _best_first(ranks: Array, has_order: BoolArray, query: Array, central: Array) -> IntArray:
    """[B, N] candidates by retrieval rank, else by query cosine; ties by closeness to the centroid."""
    if has_order.all() and bool((np.diff(ranks, axis=1) > 0).all()):
        return np.broadcast_to(np.arange(ranks.shape[1]), ranks.shape)
    key = np.where(has_order[:, None], ranks, -query)
    return np.lexsort((-central, key), axis=1)


def _similarities(unit: Array, anchors: IntArray) -> tuple[Array, Array, Array]:
    """Similarities of the anchors and all candidates: [B, M, N]; their mean and standard deviation, both [B].

    A document's similarity with itself is none: it stands as 0 and does not count.
    """
    lanes = np.arange(len(unit))[:, None]
    near = np.matmul(unit[lanes, anchors], unit.swapaxes(1, 2))
    m, n = near.shape[1:]
    near[lanes, np.arange(m), anchors] = 0
    pairs = max(n * m - m, 1)
    flat = near.reshape(len(near), -1)
    mean = flat.sum(axis=1) / pairs
    spread = np.sqrt(np.maximum(np.einsum("bi,bi->b", flat, flat) / pairs - mean**2, 0))
    return near, mean.astype(np.float32), spread.astype(np.float32)


def _beside_anchors(
    out: Array, near: Array, mean: Array, scale: Array, order: IntArray, anchors: IntArray
) -> NDArray[np.float32]:
    """Fill the columns on anchors; give the share of pairs that are very near, [B]."""
    count, m, n = near.shape
    own = (np.arange(count)[:, None], np.arange(m), anchors)
    near -= mean[:, None, None]
    near *= scale[:, None, None]
    np.clip(near, -_LIMIT, _LIMIT, out=near)
    near[own] = 0
    others = np.full((count, n), m, np.float32)
    others[np.arange(count)[:, None], anchors] -= 1
    np.maximum(others, 1, out=others)
    is_near = near > NEAR
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(n), order.shape), axis=1)
    ahead = np.arange(m)[:, None] < place[:, None]
    out[..., 0] = near.sum(axis=1) / others
    out[..., 2] = is_near.sum(axis=1) / others
    out[..., 3] = np.where(ahead, near, -_LIMIT).max(axis=1) / 3
    out[..., 4] = (is_near & ahead).sum(axis=1) / np.clip(place, 1, m)
    tail = (near > VERY_NEAR).mean(axis=(1, 2), dtype=np.float32)
    near[own] = -_LIMIT
    out[..., 1] = near.max(axis=1) / 3
    found: NDArray[np.float32] = tail
    return found
