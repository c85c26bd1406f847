"""One episode at a time, in Python numbers.

`SRD-v0` steps a single episode, and numpy takes about as long for a batch of one as for dozens: by `SelectionCore.step`
alone the environment would make about a quarter of its steps a second, far fewer than CartPole. Only the usual step is
here, all else is a batch of one; a test holds it to the batch to the last bit.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from srd_gym.core.episodes import Episodes
from srd_gym.core.protocols import BoundUsers
from srd_gym.core.pruner import Pruner
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.measures import BoundMeasure
from srd_gym.measures.single import SingleMeasure


class SingleEpisodes(Episodes):
    """One episode of a simulator of many."""

    bound: BoundMeasure | None
    """The measure that pays, as the plain sum that rewards are; None where a reward of the user's own does."""
    reward_type: Literal["dense", "sparse"]
    """Whether every step pays, or the end."""
    users: BoundUsers | None
    """The users who pay, where the reward is what they do."""
    reward_name: str
    """Name of the return in `measures`."""
    bound_measures: dict[str, BoundMeasure]
    _pruner: Pruner | None

    @property
    def measure_names(self) -> tuple[str, ...]:
        """The names of `measures`, in their order."""
        return tuple(dict.fromkeys([*([] if self.bound is not None else [self.reward_name]), *self.bound_measures]))

    @abstractmethod
    def measures(self, episodes: ArrayLike | None = None) -> dict[str, ScoreArray]:
        """The measures of the rankings so far, by name: [B'] each."""

    @abstractmethod
    def _advance(self, on: IntArray, actions: IntArray) -> tuple[ScoreArray, ScoreArray, BoolArray]:
        """One step of episodes that have not ended: their (paid, gain, invalid)."""

    def step_episode(self, episode: int, action: int) -> tuple[float, bool, bool]:
        """`step` of one episode alone, faster than a batch of one.

        Args:
            episode: which episode.
            action: the candidate, a Python int.

        Returns:
            (reward, invalid, done).

        Raises:
            ValueError: as `step`.
        """
        if self._done.item(episode):
            return 0.0, False, True
        if not 0 <= action < self.arrays.max_candidates:
            raise self._no_such_candidate(action)
        single = self._single
        if single is None or self._pruner is not None or not self._allowed.item(episode, action):
            paid, _, wasted = self._advance(np.array([episode]), np.array([action]))
            return paid.item(), wasted.item(), self._done.item(episode)
        rank = self._rank.item(episode)
        self._ranking[episode, rank] = action
        self._allowed[episode, action] = False
        gain = single.add(self._topic_index.item(episode), action, (self.only or self.rows(episode))[3], rank)
        self._gains[episode, rank] = gain
        self._rank[episode] = rank + 1
        self._done[episode] = done = rank + 1 >= self._length.item(episode)
        if self.reward_type == "dense":
            return gain, False, done
        return (self.episode_return(episode) if done else 0.0), False, done

    def episode_measures(self, episode: int) -> dict[str, float]:
        """`measures` of one episode alone, as Python floats."""
        topic_index = self._topic_index.item(episode)
        if not self.arrays.labelled[topic_index]:
            return {name: value.item() for name, value in self.measures([episode]).items()}
        values = {} if self.bound is not None else {self.reward_name: self.episode_return(episode)}
        ranking = self._ranking[episode].tolist()
        for name, single in self._single_measures.items():
            values.setdefault(name, single.value(topic_index, ranking))
        return values

    def _no_such_candidate(self, action: int) -> ValueError:
        """The error for an index that no candidate can have."""
        return ValueError(f"no candidate {action}: actions are 0 to {self.arrays.max_candidates - 1}")

    @cached_property
    def _single(self) -> SingleMeasure | None:
        """Measure that rewards, if one does."""
        return None if self.bound is None else self._of(self.bound)

    @cached_property
    def _single_measures(self) -> dict[str, SingleMeasure]:
        """The measures of the tables."""
        return {name: self._of(bound) for name, bound in self.bound_measures.items()}

    def _of(self, bound: BoundMeasure) -> SingleMeasure:
        """The measure for single rankings, shared by all that share the arrays."""
        covers = self.arrays.covers(bound.rel)
        single: SingleMeasure = self.arrays.cache(("single", bound), lambda: SingleMeasure(bound, covers))
        return single
