"""Rewards with several sides, such as relevance and diversity, in the form of MO-Gymnasium (Felten et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike

from srd_gym.checks import finite_numbers
from srd_gym.core.binding import table_measures
from srd_gym.dtypes import ScoreArray
from srd_gym.envs.observations import Observation
from srd_gym.envs.selection import SelectionEnv
from srd_gym.measures import Measure, Normalizer, parse_measure


class VectorReward(gym.Wrapper[Observation, np.int64, Observation, np.int64], RecordConstructorArgs):
    """Rewards each document with its gains in several measures, a vector [R] float64; see "SRD-MO-v0".

    With gamma = 1 entry r of the return is the plain value of measure r, as for `reward` of `SelectionEnv`. The default
    pair is what D#-nDCG (Sakai & Song 2011) sums up: relevance (D-nDCG, the global gain) and diversity (subtopic
    recall), so that `weights=(1 - gamma, gamma)` rewards as `reward="Dsharp_nDCG(gamma=...)"` does. Everything else
    (observations, infos, `info["return"]`) is the environment's, whose own reward is left out.

    Args:
        env: `SRD-v0`, wrapped or not.
        rewards: R measures, by name or as `Measure`; a cutoff left out is the horizon.
        weights: [R], to reward with the weighted sum instead, a Python float; `info["vector_reward"]` then has the
            vector. None: reward with the vector itself.
        normalizer: as of `SelectionEnv`; None: the environment's.

    Attributes:
        reward_space: Box [R] float64, unbounded; also of the unwrapped environment, where MO-Gymnasium looks for it.

    Raises:
        TypeError: another environment, or a measure of the wrong kind.
        ValueError: an unknown or repeated measure, or weights that are not R finite numbers.
    """

    def __init__(
        self,
        env: gym.Env[Observation, np.int64],
        rewards: Sequence[str | Measure] = ("D_nDCG", "StRecall"),
        weights: ArrayLike | None = None,
        normalizer: Normalizer | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, rewards=rewards, weights=weights, normalizer=normalizer)
        super().__init__(env)
        inner = env.unwrapped
        if not isinstance(inner, SelectionEnv):
            raise TypeError(f"VectorReward goes around SRD-v0, got {type(inner).__name__}")
        rewards = [rewards] if isinstance(rewards, str | Measure) else rewards
        self._core = inner.core
        normalizer = inner.core.normalizer if normalizer is None else normalizer
        measures = [parse_measure(each).plain() for each in rewards]
        self._bound = table_measures(inner.core.arrays, measures, inner.core.horizon, normalizer)
        if len(self._bound) < len(rewards):
            raise ValueError(f"rewards must be different measures, got {', '.join(map(str, rewards))}")
        shape = (len(self._bound),)
        self.weights = None if weights is None else finite_numbers("weights, one for each reward", weights, shape)
        self.reward_space = inner.reward_space = spaces.Box(-np.inf, np.inf, shape, np.float64)
        self.action_masks = inner.action_masks

    @property
    def reward_names(self) -> tuple[str, ...]:
        """The measures, in the order of the vector."""
        return tuple(self._bound)

    def step(self, action: np.int64) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """As `SelectionEnv.step`; the reward is [R] float64, or a float where there are weights."""
        observation, _, terminated, truncated, info = self.env.step(action)
        vector = self._gains()
        if self.weights is None:
            return observation, vector, terminated, truncated, info
        return observation, float(vector @ self.weights), terminated, truncated, info | {"vector_reward": vector}

    def _gains(self) -> ScoreArray:
        """Gains of the last rank in each measure: [R] float64; 0 where it is empty, and on unlabelled topics."""
        core, gains = self._core, np.zeros(len(self._bound))
        topics, rank = core.topic_index[:1], core.rank.item(0) - 1
        *before, chosen = core.ranking[0, : rank + 1].tolist()
        if chosen < 0 or not core.arrays.labelled[topics[0]]:
            return gains
        for place, bound in enumerate(self._bound.values()):
            covers = core.arrays.covers(bound.rel)[topics[0]]
            coverage = covers[[document for document in before if document >= 0]].sum(axis=0, dtype=np.int64)
            gains[place] = bound.step_gains(covers[[chosen]], coverage[None], core.rank[:1] - 1, topics).item()
        return gains
