"""Actions and rewards of agents. Topics are kept by index and observations not at all: a topic's vectors never change.

Shapes: C capacity, V visits, R joint actions a visit, N candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.training.checkpoint import to_array
from srd_agents.training.files import Tree
from srd_gym.dtypes import IntArray


class Visits(NamedTuple):
    """V visits; a visit is one or more episodes of a topic, played with the same weights."""

    topics: NDArray[np.int64]
    """[V], indices into the training topics: the host knows them, so that no number on a device is waited for."""
    actions: Tensor
    """[V, R, N] int64, the scores; 0 for padding."""
    rewards: Tensor
    """[V, R] float32."""


class Replay:
    """A ring of the last C visits: C * (R * (N * bytes of a score + 4) + 4) bytes, whatever the vectors' width.

    Args:
        capacity: C.
        rollouts: R.
        documents: N.
        n_scores: A; a score takes one byte up to 256 of them, then two, then four.
        device: of actions and rewards.
        seeds: (E,) where E seeds keep theirs side by side; all shapes then have E behind V.
    """

    def __init__(
        self, capacity: int, rollouts: int, documents: int, n_scores: int, device: str = "cpu",
        seeds: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self.capacity = capacity
        size = torch.uint8 if n_scores <= 2**8 else torch.int16 if n_scores <= 2**15 else torch.int32
        self._topics = np.zeros((capacity, *seeds), np.int32)
        self._actions = torch.zeros(capacity, *seeds, rollouts, documents, dtype=size, device=device)
        self._rewards = torch.zeros(capacity, *seeds, rollouts, device=device)
        self._next, self._filled = 0, 0

    def add(self, topics: IntArray, actions: Tensor, rewards: Tensor) -> None:
        """Keep visits, the oldest making room.

        Args:
            topics: [V] int.
            actions: [V, R, N] int.
            rewards: [V, R].
        """
        topics, actions, rewards = topics[-self.capacity :], actions[-self.capacity :], rewards[-self.capacity :]
        places = (self._next + np.arange(len(topics))) % self.capacity
        self._topics[places] = topics
        there = self._there(places)
        self._actions[there] = actions.to(self._actions.dtype)
        self._rewards[there] = rewards.float()
        self._next = int((self._next + len(topics)) % self.capacity)
        self._filled = min(self._filled + len(topics), self.capacity)

    def sample(self, count: int, *rng: np.random.Generator) -> Visits:
        """Visits drawn uniformly, with repetition; as many as are kept where these are fewer.

        Args:
            count: of visits.
            rng: one; of each seed its own.
        """
        drawn = [each.integers(self._filled, size=min(count, self._filled)) for each in rng]
        places = (np.stack(drawn, 1), np.arange(len(rng))) if self._topics.ndim > 1 else tuple(drawn)
        there = tuple(map(self._there, places))
        return Visits(self._topics[places].astype(np.int64), self._actions[there].long(), self._rewards[there])

    def _there(self, places: IntArray) -> Tensor:
        """Places, on the device."""
        return torch.from_numpy(places).to(self._actions.device, non_blocking=True)

    def tree(self) -> Tree:
        """The content, for a checkpoint."""
        return {
            "topics": self._topics[: self._filled].copy(),
            "actions": to_array(self._actions[: self._filled]),
            "rewards": to_array(self._rewards[: self._filled]),
            "next": self._next,
        }

    def load(self, tree: Tree) -> None:
        """Take over what `tree` gave."""
        self._filled, self._next = len(tree["actions"]), int(tree["next"])
        self._topics[: self._filled] = tree["topics"]
        self._actions[: self._filled] = torch.from_numpy(tree["actions"].astype(np.int64)).to(self._actions)
        self._rewards[: self._filled] = torch.from_numpy(tree["rewards"]).to(self._rewards)
