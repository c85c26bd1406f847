"""Pruning in torch: kNN, and the candidates that a ranker puts first.

Shapes: T topics, B episodes, N candidates.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from srd_agents.simulators.topics import NoTensorFormError, TopicTensors
from srd_gym.protocols import Pruning
from srd_gym.pruning import KNN, ByRanker
from srd_gym.pruning.knn import drops_of, neighbour_distances


class PruningTensors(Protocol):
    """A strategy on a device."""

    first: Tensor
    """[T, N] bool, the candidates that are allowed at the first rank."""

    def after(self, allowed: Tensor, topic: Tensor, chosen: Tensor, which: Tensor, needed: Tensor) -> Tensor:
        """The candidates that stay, [B, N] bool.

        Args:
            allowed: [B, N] bool.
            topic: [B] int64.
            chosen: [B] int64, the document just ranked.
            which: [B] bool, the episodes that go on and whose rank was filled.
            needed: [B] int64, ranks still to fill.
        """


def pruning_on(topics: TopicTensors, strategy: Pruning, length: Tensor) -> PruningTensors:
    """The strategy on the device of the topics.

    Args:
        topics: with vectors, for kNN.
        strategy: `KNN`, or `ByRanker` at the reset.
        length: [T] int64, ranks to fill.

    Raises:
        NoTensorFormError: a strategy that has no tensor form.
    """
    if isinstance(strategy, KNN):
        return _Neighbours(topics, strategy)
    if isinstance(strategy, ByRanker) and strategy.when == "reset":
        return _Kept(topics, strategy, length)
    raise NoTensorFormError(
        f"pruning by {strategy} has no form in tensors (KNN and ByRanker(when='reset') have): simulate with "
        "srd_gym.core.SelectionCore"
    )


class _Neighbours:
    """`KNN` on a device."""

    def __init__(self, topics: TopicTensors, strategy: KNN) -> None:
        n = topics.max_candidates
        order = np.zeros((len(topics), n, n), np.int16 if n < 2**15 else np.int32)
        for row, topic in zip(order, topics.arrays.topics, strict=True):
            count = topic.n_candidates
            distances = np.full((n, n), np.inf, np.float32)
            distances[:count, :count] = neighbour_distances(topic.require_vectors("kNN pruning"), strategy.metric)
            # Sorted from the back, so that of two equally near the later candidate goes first.
            row[:] = n - 1 - np.argsort(distances[:, ::-1], axis=1, kind="stable")
            # Padding stands where it is, so that states may be narrower than the largest topic.
            row[:, count:], row[count:] = np.arange(count, n), np.arange(n)
        self.first = topics.present
        self._n = n
        self._order = torch.from_numpy(order.reshape(-1, n)).to(topics.device)
        self._drops = torch.from_numpy(drops_of(strategy, np.arange(n + 1))).to(topics.device)

    def after(self, allowed: Tensor, topic: Tensor, chosen: Tensor, which: Tensor, needed: Tensor) -> Tensor:
        order = self._order[topic * self._n + chosen, : allowed.shape[1]].long()
        remaining = allowed.sum(1)
        drop = torch.minimum(self._drops[remaining], remaining - needed) * which
        offered = allowed.gather(1, order)
        return allowed.scatter(1, order, offered & (offered.cumsum(1) > drop[:, None]))


class _Kept:
    """`ByRanker` at the reset, on a device."""

    def __init__(self, topics: TopicTensors, strategy: ByRanker, length: Tensor) -> None:
        arrays = topics.arrays
        kept = strategy.bind(arrays, int(length.max())).at_reset(
            np.arange(len(topics)), arrays.present, length.cpu().numpy()
        )
        self.first = torch.from_numpy(kept).to(topics.device)

    def after(self, allowed: Tensor, topic: Tensor, chosen: Tensor, which: Tensor, needed: Tensor) -> Tensor:
        return allowed
