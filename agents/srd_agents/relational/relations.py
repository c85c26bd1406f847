"""Features that every embedding space has: ranks, scores and similarities within a topic. Numpy only.

All of it is unchanged by a shift or a positive factor of the retrieval scores, by lengths of vectors, and by added
dimensions that are 0; and moves with the candidates when they are reordered.

Shapes: B topics of N candidates each, R rankings of each topic, F vector width, M anchors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.stepwise import STRETCHED, evened
from srd_agents.networks.features import cut_off
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.topic import FloatArray

Array = NDArray[np.float32]

STATIC = (
    "rank_reciprocal",
    "rank_discount",
    "rank",
    "score",
    "query_cosine",
    "centroid_cosine",
    "nearest",
    "near_count",
    "near_share",
    "very_near_count",
    "very_near_share",
    "nearest_count",
    "nearest_share",
    "neighbours_discount",
    "neighbours_rank",
    "neighbours_score",
    "neighbours_query",
    "neighbours_centroid",
    "ahead_nearest",
    "ahead_near",
    "ahead_very_near",
)
"""Features of a candidate before anything is ranked (columns of `Relations.static`)."""
_AT = {name: column for column, name in enumerate(STATIC)}
_OF_NEIGHBOURS = slice(_AT["neighbours_discount"], _AT["neighbours_centroid"] + 1)
"""Columns that hold neighbours' means of ..."""
_MEANT = slice(_AT["rank_discount"], _AT["centroid_cosine"] + 1)
"""... these, in this order."""
CONTEXT = 14
"""Number of features of the topic as a whole: whether it has an order, whether it has a query, its size,
share of very near and of nearest neighbours, spread and mean of the similarities; and correlations over the candidates
of score and query, score and centroid, query and centroid, rank and nearest, rank and neighbours, query and density,
rank and density."""
DYNAMIC = 12
"""Number of features of a candidate against the ranked documents: similarity with the nearest, with all on
average, and with the last; share of those near and very near, their number, and the nearest beside that of the topic's
other candidates; fresh neighbours, near and very near; share of neighbours that are not fresh, near and very near.
Fresh are neighbours that no ranked document is near to."""
POSITION = 3
"""Number of features of the next rank: whether first, 1 / rank, rank / 10."""

ANCHORS = 128
"""Candidates that stand for all others where similarities are measured: all of them, or as many spread evenly over the
retrieval order (else the order by query cosine)."""
NEAR = np.array([1.0, 2.0], np.float32)
"""Standardised similarities from which a ranked document counts as near, and as very near."""
_RAMPS = (0.5, 1.5, 2.5)
"""Among the candidates a neighbour counts more the nearer it is: from 0 at these standardised similarities to 1 at one
more. Near, very near, nearest."""
LIMIT = np.float32(4.0)
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
    """[B, C], C is `CONTEXT`."""
    mean: Array
    """[B], mean similarity of two documents."""
    scale: Array
    """[B], 1 / standard deviation of such similarities; 0 where all are alike."""
    ramps: Array
    """[B, N, 2, M], how far each anchor counts as near, and as very near; a candidate is near to itself."""
    weight: Array
    """[B], candidates that an anchor stands for: N / M."""


def relate(unit: Array, scores: FloatArray, has_order: BoolArray, queries: FloatArray) -> Relations:
    """The relations of B topics of equal size; nothing is larger than N x `ANCHORS`.

    Args:
        unit: [B, N, F] unit or zero vectors.
        scores: [B, N] retrieval scores; ignored where there is no order.
        has_order: [B] bool, whether the topic has retrieval scores.
        queries: [B, F] unit vectors; zero where a topic has none.
    """
    n = unit.shape[1]
    on = has_order[:, None]
    static = np.empty((*unit.shape[:2], len(STATIC)), np.float32)
    static[..., : _AT["centroid_cosine"]] = 0
    ranks = query = np.zeros(static.shape[:2], np.float32)
    if has_order.any():
        ranks = np.where(on, midranks(scores), np.float32(0))
        static[..., _AT["rank_reciprocal"]] = np.where(on, 1 / (1 + ranks), 0)
        static[..., _AT["rank_discount"]] = np.where(on, 1 / np.log2(2 + ranks), 0)
        static[..., _AT["rank"]] = np.where(on, ranks / max(n - 1, 1) - 0.5, 0)
        static[..., _AT["score"]] = standardised(np.where(on, scores, 0).astype(np.float64))
    if queries.any():
        static[..., _AT["query_cosine"]] = query = standardised(_products(unit, queries))
    static[..., _AT["centroid_cosine"]] = central = standardised(_products(unit, unit.mean(axis=1)))
    order = _best_first(ranks, has_order, query, central)
    anchors = order[:, np.arange(ANCHORS) * n // ANCHORS] if n > ANCHORS else np.broadcast_to(np.arange(n), order.shape)
    near, mean, spread, scale = _similarities(unit, anchors)
    ramps = _beside_anchors(static, near, order, anchors)
    ramps[np.arange(len(unit))[:, None], anchors, :, np.arange(anchors.shape[1])] = 1
    has_query: BoolArray = np.asarray(queries.any(axis=1))
    context = _context(static, has_order, has_query, mean, spread)
    weight = np.full(len(unit), n / anchors.shape[1], np.float32)
    return Relations(unit, static, context, mean, scale, ramps, weight)


class Ranked:
    """State of R rankings of each of B topics, one similarity row per step.

    Args:
        relations: of the topics.
        share: [B, N], 1 / (real candidates), 0 for padding.
        rankings: R.

    Attributes:
        features: [B, D, R, N] float32, D is `DYNAMIC`; changes in place.
    """

    def __init__(self, relations: Relations, share: Array, rankings: int = 1) -> None:
        count, n = relations.unit.shape[:2]
        shape = (count, rankings, n)
        # Products with several rows are faster with matrices of their own; for one row that does not pay.
        ready = np.ascontiguousarray if rankings > 1 else np.asarray
        self._columns = ready(relations.unit.swapaxes(1, 2))
        self._unit = relations.unit
        self._mean = relations.mean[:, None, None]
        self._scale = relations.scale[:, None, None]
        self._share = share[:, :, None]
        self._nearest = np.full(shape, -LIMIT, np.float32)
        self._sum = np.zeros(shape, np.float32)
        self._near = np.zeros((count, len(NEAR), rankings, n), np.float32)
        self._topics = np.arange(count)[:, None]
        self._ramps = relations.ramps
        self._to_anchors = ready(relations.ramps.transpose(0, 2, 3, 1))
        self._uncovered = np.ones((count, 2, rankings, relations.ramps.shape[3]), np.float32)
        self._neighbours = np.maximum(relations.ramps.sum(axis=3), np.float32(1e-3)).swapaxes(1, 2)[:, :, None]
        self._weight = relations.weight[:, None, None, None]
        self.features: Array = np.zeros((count, DYNAMIC, rankings, n), np.float32)
        self.size = 0

    def add(self, chosen: IntArray) -> None:
        """Put these candidates at the next rank.

        Args:
            chosen: [B, R] int64.
        """
        rows = np.matmul(self._unit[self._topics, chosen], self._columns)
        rows -= self._mean
        rows *= self._scale
        cut_off(rows, -LIMIT, LIMIT)
        np.maximum(self._nearest, rows, out=self._nearest)
        self._sum += rows
        self._near += rows[:, None] > NEAR[:, None, None]
        self.size += 1
        out, each = self.features, np.float32(1 / self.size)
        np.multiply(self._nearest, np.float32(1 / 3), out=out[:, 0])
        np.multiply(self._sum, each, out=out[:, 1])
        np.multiply(rows, np.float32(1 / 3), out=out[:, 2])
        np.multiply(self._near, each, out=out[:, 3:5])
        np.log1p(self._near, out=out[:, 5:7])
        out[:, 7] = self._against_the_rest()
        np.minimum(self._uncovered, (1 - self._ramps[self._topics, chosen]).swapaxes(1, 2), out=self._uncovered)
        fresh = np.matmul(self._uncovered, self._to_anchors)
        np.divide(fresh, self._neighbours, out=out[:, 10:])
        np.subtract(1, out[:, 10:], out=out[:, 10:])
        fresh *= self._weight
        np.log1p(fresh, out=fresh)
        np.multiply(fresh, np.float32(1 / 3), out=out[:, 8:10])

    def novelty(self) -> Array:
        """[B, R, N]: 1 less the largest cosine with a ranked document, as far as similarities are not cut off."""
        spread = np.divide(1, self._scale, out=np.zeros_like(self._scale), where=self._scale > 0)
        new: Array = np.maximum(1 - (self._mean + self._nearest * spread), np.float32(1e-3))
        return new

    def _against_the_rest(self) -> Array:
        """[B, R, N]: the nearest similarity, standardised over the topic's candidates."""
        mean = np.matmul(self._nearest, self._share)
        rest: Array = self._nearest - mean
        spread = np.sqrt(np.matmul(np.square(rest), self._share))
        rest /= np.maximum(spread, np.float32(1e-3))
        rest *= np.float32(0.5)
        return rest


def position_of(rank: int) -> Array:
    """[P] float32 for a rank, from 0; P is `POSITION`."""
    return np.array([rank == 0, 1 / (1 + rank), rank / 10], np.float32)


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
        values: [..., N].

    Returns:
        [..., N] float32.
    """
    mean = _mean(values)[..., None]
    centred = values - mean
    spread = np.sqrt(_mean(np.square(centred)))[..., None]
    flat = spread <= _FLAT * (np.abs(mean) + 1e-30) if values.dtype == np.float64 else spread <= _FLAT
    if flat.any():
        spread[flat], centred = 1, np.where(flat, 0, centred)
    centred /= spread
    return cut_off(centred.astype(np.float32, copy=False), -LIMIT, LIMIT)


def _context(static: Array, has_order: BoolArray, has_query: BoolArray, mean: Array, spread: Array) -> Array:
    """Features of a whole topic from the columns `STATIC` and the moments of the similarities."""
    score, query, central = (static[..., _AT[name]] for name in ("score", "query_cosine", "centroid_cosine"))
    columns = [_AT[name] for name in ("rank", "very_near_count", "nearest", "neighbours_rank")]
    rank, density, nearest, neighbours = standardised(static.transpose(2, 0, 1)[columns])
    numbers = (
        has_order,
        has_query,
        np.log(static.shape[1]) / 5,
        10 / 3 * _mean(static[..., _AT["very_near_share"]]),
        40 / 9 * _mean(static[..., _AT["nearest_share"]]),
        3 * spread,
        mean,
        _mean(score * query),
        _mean(score * central),
        _mean(query * central),
        _mean(rank * nearest),
        _mean(rank * neighbours),
        _mean(query * density),
        _mean(rank * density),
    )
    context = np.empty((len(static), CONTEXT), np.float32)
    for column, values in enumerate(numbers):
        context[:, column] = values
    return context


def _mean(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """The mean over the last axis; `numpy.mean`, to the last bit, takes longer to begin."""
    total: NDArray[np.floating] = np.add.reduce(values, axis=-1)
    total /= values.shape[-1]
    return total


def _products(unit: Array, vectors: FloatArray) -> Array:
    """The product of every document with its topic's vector: [B, N] from [B, N, F] and [B, F]."""
    product: Array = np.matmul(unit, vectors[:, :, None])[:, :, 0]
    return product


def _best_first(ranks: Array, has_order: BoolArray, query: Array, central: Array) -> IntArray:
    """[B, N] candidates by retrieval rank, else by query cosine; ties by closeness to the centroid."""
    if has_order.all() and bool((np.diff(ranks, axis=1) > 0).all()):
        return np.broadcast_to(np.arange(ranks.shape[1]), ranks.shape)
    key = np.where(has_order[:, None], ranks, -evened(query, STRETCHED))
    return np.lexsort((-evened(central, STRETCHED), key), axis=1)


def _similarities(unit: Array, anchors: IntArray) -> tuple[Array, Array, Array, Array]:
    """Standardised similarities of all candidates and the anchors, [B, N, M].

    Behind them, each [B], what standardised them: mean, standard deviation, and 1 over it (0 where all are alike). A
    document's similarity with itself is none: it does not count, and stands as the least there is.
    """
    topics = np.arange(len(unit))[:, None]
    n, m = unit.shape[1], anchors.shape[1]
    beside = unit if m == n else unit[topics, anchors]
    near: Array = np.matmul(unit, beside.swapaxes(1, 2))
    itself = (topics, anchors, np.arange(m))
    near[itself] = 0
    pairs = max(n * m - m, 1)
    flat = near.reshape(len(near), -1)
    mean = (flat.sum(axis=1) / pairs).astype(np.float32)
    spread = np.sqrt(np.maximum(np.einsum("bi,bi->b", flat, flat) / pairs - mean**2, 0)).astype(np.float32)
    near -= mean[:, None, None]
    scale = np.where(spread > _FLAT, 1 / np.maximum(spread, _FLAT), 0).astype(np.float32)
    near *= scale[:, None, None]
    cut_off(near, -LIMIT, LIMIT)
    near[itself] = -LIMIT
    return near, mean, spread, scale


def _beside_anchors(static: Array, near: Array, order: IntArray, anchors: IntArray) -> Array:
    """Fill the columns on neighbours: how many there are, what they are like, and those that stand ahead.

    Args:
        static: [B, N, D] with the first six columns filled.
        near: [B, N, M], of `_similarities`.
        order: [B, N] candidates, best first.
        anchors: [B, M] candidates.

    Returns:
        [B, N, 2, M], how far each anchor counts as near and as very near.
    """
    n, m = near.shape[1:]
    topics, each = np.arange(len(near))[:, None], np.float32(n / m)
    place = np.empty(order.shape, np.float32)
    place[topics, order] = np.arange(n, dtype=np.float32)
    ahead = place[topics, anchors][:, None] < place[:, :, None]
    static[..., _AT["nearest"]] = near.max(axis=2) / 3
    static[..., _AT["ahead_nearest"]] = np.where(ahead, near, -LIMIT).max(axis=2) / 3
    ramps = near[:, :, None] - np.array(_RAMPS[:2], np.float32)[:, None]
    cut_off(ramps, 0, 1)
    counts = np.empty((*near.shape[:2], 3), np.float32)
    counts[..., :2] = ramps.sum(axis=3)
    counts[..., 2] = cut_off(near - np.float32(_RAMPS[2]), 0, 1).sum(axis=2)
    static[..., _AT["near_count"] : _AT["nearest_share"] : 2] = np.log1p(counts * each) / 3
    static[..., _AT["near_share"] : _AT["nearest_share"] + 1 : 2] = counts * (np.array([1, 3, 9], np.float32) / m)
    static[..., _OF_NEIGHBOURS] = ramps[:, :, 0] @ static[topics, anchors, _MEANT]
    static[..., _OF_NEIGHBOURS] /= counts[..., :1] + np.float32(0.3) / each
    in_front = np.einsum("bnlm,bnm->bnl", ramps, ahead.astype(np.float32))
    static[..., _AT["ahead_near"] :] = np.log1p(in_front * each) / 3
    return ramps
