"""Applies a pruning strategy: the simulator owns the mask, the strategy only says what may stay."""

from __future__ import annotations

import numpy as np

from srd_gym.core.arrays import TopicArrays
from srd_gym.core.protocols import BoundPruning, Pruning
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.reading import kind_of, shown, with_type
from srd_gym.topic_fields import read_only


class Pruner:
    """A strategy bound to topics, held to its promises.

    Args:
        strategy: the strategy.
        arrays: the topics.
        horizon: K.

    Raises:
        TypeError: no strategy, or one that binds to nothing.
    """

    def __init__(self, strategy: Pruning, arrays: TopicArrays, horizon: int) -> None:
        self._present = arrays.present
        self._name = type(strategy).__name__
        self._bound = checked_strategy(strategy).bind(arrays, horizon)
        if not isinstance(self._bound, BoundPruning):
            raise TypeError(
                f"{self._name}: bind returned {shown(self._bound)}; expected an object with at_reset and after_step"
            )

    def at_reset(self, topic_index: IntArray, needed: IntArray) -> BoolArray:
        """[B, N] bool, the allowed candidates at the first rank. Arguments as `BoundPruning.at_reset`."""
        present = self._present[topic_index]
        return self._checked(self._bound.at_reset(*map(read_only, (topic_index, present, needed))), present, needed)

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """[B, N] bool, the allowed candidates at the next rank. Arguments as `BoundPruning.after_step`."""
        stay = self._bound.after_step(*map(read_only, (topic_index, ranking, action, allowed, needed)))
        return self._checked(stay, allowed, needed)

    def _checked(self, stay: BoolArray, may: BoolArray, needed: IntArray) -> BoolArray:
        """Candidates that stay allowed, if they suffice for the ranks to fill."""
        stay = np.asarray(stay)
        if stay.dtype != np.bool_ or stay.shape != may.shape:
            raise ValueError(f"{self._name} returned {with_type(stay)}; expected bool of shape {may.shape}")
        stay = stay & may
        left = stay.sum(axis=1)
        if (left < needed).any():
            episode = int((left < needed).argmax())
            raise ValueError(
                f"{self._name} keeps {int(left[episode])} candidates of an episode with {int(needed[episode])} ranks "
                "to fill; a strategy must keep at least as many (`needed`)"
            )
        return stay


def checked_strategy(value: object) -> Pruning:
    """The value, which is a strategy.

    Raises:
        TypeError: it is none.
    """
    if isinstance(value, type) or not isinstance(value, Pruning):
        raise TypeError(
            "pruning must be a strategy with `bind` (srd_gym.protocols.Pruning), such as srd_gym.pruning.KNN(0.3), "
            f"got {value.__name__ if isinstance(value, type) else kind_of(value)}"
        )
    return value
