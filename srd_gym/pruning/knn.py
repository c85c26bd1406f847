"""kNN pruning: documents much like one that was just ranked have little left to add.

Distances between a topic's documents are one matrix a topic, made when first asked for.

Shapes: B episodes, N candidates, F vector width, K horizon.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from srd_gym.checks import check_integer, check_number, check_option
from srd_gym.core.arrays import TopicArrays
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.reading import shown
from srd_gym.topic import FloatArray

Metric = Literal["euclidean", "cosine"]

_KEPT_BYTES = 1 << 30
"""Memory for the matrices of one topic set; a topic with more than its share of it has rows made when asked for."""


def neighbour_distances(vectors: FloatArray, metric: Metric, rows: slice = slice(None)) -> FloatArray:
    """Distances of all pairs, or of some rows to all, in a unit that keeps their order.

    Args:
        vectors: [N, F] float32, finite.
        metric: "euclidean" gives half the squared distances of vectors scaled to entries of at most 1, "cosine"
            gives 1 - cosine, which is 1 for a vector of zeros.
        rows: R of them.

    Returns:
        [R, N] float32, at least 0, and 0 from a document to itself; symmetric for all rows.

    Raises:
        ValueError: distances that are not finite.
    """
    points, lengths = _prepared(vectors, metric)
    out: FloatArray = points[rows] @ points.T  # of all rows numpy sees that it is symmetric, which takes half the work
    np.subtract(lengths, out, out=out)
    out += lengths[rows, None]
    np.maximum(out, 0.0, out=out)  # keeps NaN
    if not np.isfinite(out.max(initial=0.0)):
        raise ValueError("distances between document vectors are not finite; the vectors hold NaN or infinity")
    np.fill_diagonal(out[:, rows], 0.0)
    return out


def _prepared(vectors: FloatArray, metric: Metric) -> tuple[FloatArray, FloatArray]:
    """Points whose products make distances, and what each adds to its distances, halved: ([N, F], [N])."""
    largest = np.float32(np.abs(vectors).max(initial=0.0))
    points = vectors / largest if largest > 0 else vectors.astype(np.float32)  # squares stay within float32
    if metric == "cosine":
        lengths = np.sqrt(np.einsum("nf,nf->n", points, points))[:, None]
        points = np.divide(points, lengths, out=np.zeros_like(points), where=lengths > 0)
        return points, np.full(len(points), 0.5, np.float32)
    points = points - points.mean(axis=0)  # near the origin, less is lost when lengths cancel
    return points, np.einsum("nf,nf->n", points, points) / 2


_ROUNDING = 1e-9
"""0.29 * 100 is 28.999999999999996; its floor is meant to be 29."""


@dataclass(frozen=True)
class KNN:
    """After each selection drops the k nearest remaining neighbours of the document chosen (MDP-DIV-kNN).

    Liu et al. 2018: k = p% of the current candidates, rounded down; p = 10, 20, 30.
    Drops are final. Nothing is dropped below the ranks still to fill: the farthest stay. A wasted rank drops nothing.
    Of two equally near documents (in float32) the later candidate goes first.

    "Current candidates" are those allowed once the chosen document is off. With N = 211, 10 ranks and
    kNN(30) the policy looks at about a third of the candidates that it would look at without pruning.

    Args:
        fraction: share of the remaining candidates that is dropped, in [0, 1); 0 drops nothing.
        k: how many are dropped, instead of a fraction; at least 1, more than there are is cut to what may go.
        metric: "euclidean" (the paper's) or "cosine".

    Raises:
        TypeError: numbers of the wrong kind.
        ValueError: both or neither of fraction and k, one out of range, or an unknown metric.
    """

    fraction: float | None = None
    k: int | None = None
    metric: Metric = "euclidean"
    kind: str = field(default="knn", init=False)
    """Name of the strategy, in a specification that went through JSON."""

    def __post_init__(self) -> None:
        if (self.fraction is None) == (self.k is None):
            raise ValueError(
                "kNN pruning takes either a fraction of the remaining candidates (KNN(0.3)) or a number of neighbours "
                f"(KNN(k=20)), got fraction={shown(self.fraction)} and k={shown(self.k)}"
            )
        if self.fraction is not None:
            check_number("fraction", self.fraction, 0, 1)
            if self.fraction == 1:
                raise ValueError("fraction must be below 1; 0.3 drops 30% of what remains")
        if self.k is not None:
            check_integer("k", self.k, 1)
        check_option("metric", self.metric, get_args(Metric))

    def __str__(self) -> str:
        size = repr(float(self.fraction)) if self.fraction is not None else str(self.k)
        return f"knn:{size}" + ("" if self.metric == "euclidean" else f":{self.metric}")

    def bind(self, topics: TopicArrays, horizon: int) -> BoundKNN:
        """The strategy at work on these topics; distances are made topic by topic, when first needed."""
        return BoundKNN(self, topics)


def drops_of(strategy: KNN, remaining: IntArray) -> IntArray:
    """Neighbours that go, by the number of candidates allowed: [...] int64, before what must stay is looked at."""
    share = np.floor(remaining * (strategy.fraction or 0.0) + _ROUNDING).astype(np.int64)
    return np.full_like(share, strategy.k) if strategy.k else share


class Distances:
    """Distances between a topic's candidates, shared by all who ask for this metric on these arrays.

    Args:
        arrays: the topics.
        metric: as of `neighbour_distances`.
    """

    def __init__(self, arrays: TopicArrays, metric: Metric) -> None:
        self._topics, self._metric = arrays.topics, metric
        self.distances: dict[int, FloatArray] = arrays.cache(("neighbours", metric), dict)
        """Topic index -> [n, n], of topics that were asked for."""

    def row(self, topic_index: int, document: int) -> FloatArray:
        """[n] float32, the distances of one document to the topic's n real candidates.

        Raises:
            ValueError: the topic has no vectors, or distances that are not finite.
        """
        if topic_index not in self.distances:
            vectors = self._topics[topic_index].require_vectors("kNN pruning")
            if 4 * len(vectors) ** 2 * len(self._topics) > _KEPT_BYTES:
                alone: FloatArray = neighbour_distances(vectors, self._metric, slice(document, document + 1))[0]
                return alone
            self.distances[topic_index] = neighbour_distances(vectors, self._metric)
        row: FloatArray = self.distances[topic_index][document]
        return row


class BoundKNN(Distances):
    """`KNN` on known topics.

    Args:
        strategy: what to do.
        arrays: the topics.
    """

    def __init__(self, strategy: KNN, arrays: TopicArrays) -> None:
        super().__init__(arrays, strategy.metric)
        self._strategy = strategy

    def at_reset(self, topic_index: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        """All candidates: [B, N] bool."""
        return allowed

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """Candidates allowed, less the k nearest of the document just ranked: [B, N] bool."""
        remaining = allowed.sum(axis=1)
        drop = np.minimum(drops_of(self._strategy, remaining), remaining - needed)
        episodes = np.flatnonzero((action >= 0) & (drop > 0))
        if not len(episodes):
            return allowed
        distances = np.full((len(episodes), allowed.shape[1]), np.inf, np.float32)
        for row, episode in zip(distances, episodes, strict=True):
            real = self.row(int(topic_index[episode]), int(action[episode]))
            row[: len(real)] = real
        distances[~allowed[episodes]] = np.inf
        # Sorted from the back, so that a stable sort puts the later of two equally near candidates first.
        nearest = allowed.shape[1] - 1 - np.argsort(distances[:, ::-1], axis=1, kind="stable")
        at, place = np.nonzero(np.arange(allowed.shape[1]) < drop[episodes, None])
        stay = allowed.copy()
        stay[episodes[at], nearest[at, place]] = False
        return stay
