"""Distances between a topic's documents: one matrix a topic, made when first asked for.

Shapes: N candidates, F vector width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from srd_gym.core.arrays import TopicArrays

Metric = Literal["euclidean", "cosine"]
METRICS: tuple[str, ...] = get_args(Metric)
Floats = NDArray[np.float32]

_KEPT_BYTES = 1 << 30
"""Memory for the matrices of one topic set; of topics beyond it rows are made when asked for."""


def neighbour_distances(vectors: Floats, metric: Metric) -> Floats:
    """Distances of all pairs, in a unit that keeps their order.

    Args:
        vectors: [N, F] float32, finite.
        metric: "euclidean" gives half the squared distances of vectors scaled to entries of at most 1, "cosine"
            gives 1 - cosine, which is 1 for a vector of zeros.

    Returns:
        [N, N] float32, symmetric, at least 0; 0 on the diagonal.

    Raises:
        ValueError: distances that are not finite.
    """
    points, lengths = _prepared(vectors, metric)
    out: Floats = points @ points.T  # numpy sees that it is symmetric, which takes half the work
    _finish(out, lengths, lengths)
    np.fill_diagonal(out, 0.0)
    return out


class NeighbourTable:
    """Rows of the distance matrices of a topic set.

    Args:
        arrays: the topic set, with vectors.
        metric: of the distances.
    """

    def __init__(self, arrays: TopicArrays, metric: Metric) -> None:
        self._topics, self._metric = arrays.topics, metric
        self._kept: dict[int, Floats] = {}
        self._bytes = 0

    @classmethod
    def of(cls, arrays: TopicArrays, metric: Metric) -> NeighbourTable:
        """The table that all strategies on these arrays share."""
        table: NeighbourTable = arrays.cache(("neighbours", metric), lambda: cls(arrays, metric))
        return table

    def row(self, topic_index: int, document: int) -> Floats:
        """[n] float32, the distances of one document to the topic's n real candidates.

        Raises:
            ValueError: the topic has no vectors, or distances that are not finite.
        """
        kept = self._kept.get(topic_index)
        if kept is None:
            vectors = self._topics[topic_index].require_vectors("kNN pruning")
            size = 4 * len(vectors) ** 2
            if self._bytes + size > _KEPT_BYTES:
                return self._single_row(vectors, document)
            kept = self._kept[topic_index] = neighbour_distances(vectors, self._metric)
            self._bytes += size
        row: Floats = kept[document]
        return row

    def _single_row(self, vectors: Floats, document: int) -> Floats:
        """One row of a matrix that is too large to keep."""
        points, lengths = _prepared(vectors, self._metric)
        row = (points @ points[document])[None]
        _finish(row, lengths[document : document + 1], lengths)
        row[0, document] = 0.0
        found: Floats = row[0]
        return found


def _prepared(vectors: Floats, metric: Metric) -> tuple[Floats, Floats]:
    """Points whose products make distances, and what each adds to its distances, halved: ([N, F], [N])."""
    largest = np.float32(np.abs(vectors).max(initial=0.0))
    points = vectors / largest if largest > 0 else vectors.astype(np.float32)  # squares stay within float32
    if metric == "cosine":
        lengths = np.sqrt(np.einsum("nf,nf->n", points, points))[:, None]
        points = np.divide(points, lengths, out=np.zeros_like(points), where=lengths > 0)
        return points, np.full(len(points), 0.5, np.float32)
    points = points - points.mean(axis=0)  # near the origin, less is lost when lengths cancel
    return points, np.einsum("nf,nf->n", points, points) / 2


def _finish(products: Floats, own: Floats, other: Floats) -> None:
    """Turn products [R, N] into distances in place: own [R] + other [N] - products."""
    np.subtract(other, products, out=products)
    products += own[:, None]
    np.maximum(products, 0.0, out=products)  # keeps NaN
    if not np.isfinite(products.max(initial=0.0)):
        raise ValueError("distances between document vectors are not finite; the vectors hold NaN or infinity")
