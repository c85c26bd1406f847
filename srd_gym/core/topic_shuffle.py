"""In which order topics come: a seeded shuffle, each topic once an epoch."""

from __future__ import annotations

import numpy as np

from srd_gym.protocols import IntArray


class TopicShuffle:
    """Deals the topics of a set one by one, in a fresh shuffle every epoch.

    Args:
        n_topics: T, at least 1.
    """

    def __init__(self, n_topics: int) -> None:
        self._n_topics = n_topics
        self._epoch: IntArray = np.empty(0, np.int64)
        self._next = 0

    def restart(self) -> None:
        """Forget the epoch begun: the next topic opens a new one (after seeding)."""
        self._next = len(self._epoch)

    def next(self, generator: np.random.Generator) -> int:
        """The next topic's index; draws from the generator only when an epoch begins."""
        if self._next >= len(self._epoch):
            self._epoch = generator.permutation(self._n_topics)
            self._next = 0
        topic = self._epoch.item(self._next)
        self._next += 1
        return topic
