"""Sources of the topics of environments and learners, and the order in which environments deal them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable

import numpy as np

from srd_gym.core.arrays import TopicArrays
from srd_gym.dtypes import IntArray
from srd_gym.files import PathLike
from srd_gym.reading import shown
from srd_gym.topic import Topic, TopicSet, as_topic_set

DEFAULT_TOPICS = "synthetic:serp"
"""The embedded topics: 1,000 of preset serp, seed 0."""

TopicSource = TopicSet | Iterable[Topic] | TopicArrays | PathLike
"""Values of the `topics` argument of environments and learners: topics, their arrays, a path or a name."""


def topics_from(source: TopicSource) -> TopicSet:
    """The topic set of the `topics` argument of an environment or a learner.

    Raises:
        FileNotFoundError, TypeError, ValueError: as `srd_gym.data.load_topics`.
    """
    if isinstance(source, TopicArrays):
        return source.topics
    if isinstance(source, str | os.PathLike):
        from srd_gym.data import load_topics  # readers of files take long to import

        return load_topics(source)
    return as_topic_set(source)


def arrays_from(source: TopicSource, max_candidates: int | None = None) -> TopicArrays:
    """The arrays of the `topics` argument of an environment.

    Args:
        source: the argument.
        max_candidates: N; None takes the largest topic's (or what the arrays have).

    Raises:
        FileNotFoundError, TypeError, ValueError: as `topics_from` and `TopicArrays.of`.
    """
    return TopicArrays.of(source if isinstance(source, TopicArrays) else topics_from(source), max_candidates)


def arrays_to_play(source: TopicSource, max_candidates: int | None = None) -> TopicArrays:
    """`arrays_from`, with a warning where no topic is judged: measures then pay 0."""
    arrays = arrays_from(source, max_candidates)
    if not arrays.labelled.any():
        warnings.warn(
            f"topic set {shown(arrays.topics.name)}: none of its {len(arrays)} topics has judgments, so every reward "
            "by a measure is 0; give topics with judgments to learn from",
            stacklevel=4,
        )
    return arrays


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
