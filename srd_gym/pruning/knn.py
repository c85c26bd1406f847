"""kNN pruning: documents much like one that was just ranked have little left to add.

Shapes: B episodes, N candidates, K horizon.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from srd_gym.names import check_integer, check_number, check_option
from srd_gym.protocols import BoolArray, IntArray
from srd_gym.pruning.distances import METRICS, Metric, NeighbourTable

if TYPE_CHECKING:
    from srd_gym.core.arrays import TopicArrays

_ROUNDING = 1e-9
"""0.29 * 100 is 28.999999999999996; its floor is meant to be 29."""


@dataclass(frozen=True)
class KNN:
    """After each selection drops the k nearest remaining neighbours of the document chosen (MDP-DIV-kNN).

    Liu et al. 2018: k = p% of the current candidates, rounded down; p = 10, 20, 30.
    Drops are final. Nothing is dropped below the ranks still to fill: the farthest stay. A wasted rank drops nothing.
    Of two equally near documents (in float32) the later candidate goes first.

    "Current candidates" are those on offer once the chosen document is off. With N = 211, 10 ranks and
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
    """Which strategy it is, in a specification that went through JSON."""

    def __post_init__(self) -> None:
        if (self.fraction is None) == (self.k is None):
            raise ValueError(
                "kNN pruning takes either a fraction of the remaining candidates (KNN(0.3)) or a number of neighbours "
                f"(KNN(k=20)), got fraction={self.fraction!r} and k={self.k!r}"
            )
        if self.fraction is not None:
            check_number("fraction", self.fraction, 0, 1)
            if self.fraction == 1:
                raise ValueError("fraction must be below 1; 0.3 drops 30% of what remains")
        if self.k is not None:
            check_integer("k", self.k, 1)
        check_option("metric", self.metric, METRICS)

    def bind(self, topics: TopicArrays, horizon: int) -> BoundKNN:
        """The strategy at work on these topics; distances are made topic by topic, when first needed."""
        return BoundKNN(self, NeighbourTable.of(topics, self.metric))

    def dropped(self, remaining: IntArray) -> IntArray:
        """How many of so many remaining candidates are dropped, before the ranks to fill are looked at. Same shape."""
        if self.fraction is None:
            return np.full_like(remaining, self.k)
        floor: IntArray = np.floor(remaining * self.fraction + _ROUNDING).astype(np.int64)
        return floor


@dataclass(eq=False)
class BoundKNN:
    """`KNN` on known topics."""

    strategy: KNN
    table: NeighbourTable

    def at_reset(self, topic_index: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        """All candidates: [B, N] bool."""
        return allowed

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """Those allowed, less the k nearest of the document just ranked: [B, N] bool."""
        remaining = allowed.sum(axis=1)
        drop = np.minimum(self.strategy.dropped(remaining), remaining - needed)
        episodes = np.flatnonzero((action >= 0) & (drop > 0))
        if not len(episodes):
            return allowed
        distances = np.full((len(episodes), allowed.shape[1]), np.inf, np.float32)
        for row, episode in zip(distances, episodes, strict=True):
            found = self.table.row(int(topic_index[episode]), int(action[episode]))
            row[: len(found)] = found
        distances[~allowed[episodes]] = np.inf
        # Sorted from the back, so that a stable sort puts the later of two equally near candidates first.
        nearest = allowed.shape[1] - 1 - np.argsort(distances[:, ::-1], axis=1, kind="stable")
        at, place = np.nonzero(np.arange(allowed.shape[1]) < drop[episodes, None])
        kept = allowed.copy()
        kept[episodes[at], nearest[at, place]] = False
        return kept
