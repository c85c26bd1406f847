"""Actions and rewards of agents. Topics are kept by index and observations not at all: a topic's vectors never change.

Shapes: C capacity, V visits, R joint actions a visit, N candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.training.files import Tree
from srd_gym.dtypes import IntArray


class Visits(NamedTuple):
    """V visits; a visit is one or more episodes of a topic, played with the same weights."""

    topics: NDArray[np.int64]
    """[V], indices into the training topics."""
    actions: NDArray[np.int64]
    """[V, R, N], the scores; 0 for padding."""
    rewards: NDArray[np.float32]
    """[V, R]."""


class Replay:
    """A ring of the last C visits: C * (R * (N * bytes of a score + 4) + 4) bytes, whatever the vectors' width.

    Args:
        capacity: C.
        rollouts: R.
        documents: N.
        n_scores: A; a score takes one byte up to 256 of them, then two, then four.
    """

    def __init__(self, capacity: int, rollouts: int, documents: int, n_scores: int) -> None:
        self.capacity = capacity
        self._topics = np.zeros(capacity, np.int32)
        self._actions = np.zeros((capacity, rollouts, documents), np.min_scalar_type(n_scores - 1))
        self._rewards = np.zeros((capacity, rollouts), np.float32)
        self._next, self._filled = 0, 0

    def add(self, topics: IntArray, actions: IntArray, rewards: NDArray[np.floating]) -> None:
        """Keep visits, the oldest making room.

        Args:
            topics: [V] int.
            actions: [V, R, N'] int, N' <= N; the rest is padding.
            rewards: [V, R].
        """
        topics, actions, rewards = topics[-self.capacity :], actions[-self.capacity :], rewards[-self.capacity :]
        places = (self._next + np.arange(len(topics))) % self.capacity
        self._topics[places] = topics
        self._actions[places] = 0
        self._actions[places, :, : actions.shape[2]] = actions
        self._rewards[places] = rewards
        self._next = int((self._next + len(topics)) % self.capacity)
        self._filled = min(self._filled + len(topics), self.capacity)

    def sample(self, count: int, rng: np.random.Generator) -> Visits:
        """Visits drawn uniformly, with repetition; as many as are kept where these are fewer."""
        places = rng.integers(self._filled, size=min(count, self._filled))
        return Visits(
            self._topics[places].astype(np.int64), self._actions[places].astype(np.int64), self._rewards[places]
        )

    def tree(self) -> Tree:
        """The content, for a checkpoint."""
        return {
            "topics": self._topics[: self._filled].copy(),
            "actions": self._actions[: self._filled].copy(),
            "rewards": self._rewards[: self._filled].copy(),
            "next": self._next,
        }

    def load(self, tree: Tree) -> None:
        """Take over what `tree` gave.

        Raises:
            ValueError: of another capacity or size.
        """
        shape = tree["actions"].shape
        if len(shape) != 3 or shape[0] > self.capacity or shape[1:] != self._actions.shape[1:]:
            raise ValueError(f"replay of shape {shape} does not fit into {self._actions.shape}; it is of another run")
        self._filled, self._next = shape[0], int(tree["next"])
        self._topics[: self._filled] = tree["topics"]
        self._actions[: self._filled] = tree["actions"]
        self._rewards[: self._filled] = tree["rewards"]
