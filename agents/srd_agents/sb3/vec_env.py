"""The batched simulator as a `VecEnv` of Stable-Baselines3; the trainer says which topic each episode plays.

Shapes: B episodes at once, N candidates, K horizon.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from srd_gym.core import SelectionCore
from srd_gym.dtypes import IntArray
from srd_gym.envs.observations import Observer


class RolloutVecEnv(VecEnv):
    """Compact observations of `SelectionCore` for on-policy algorithms, which never ask for terminal observations.

    An episode that ends is followed by another of the same topic. SB3's own `VecEnv`s step their sub-environments one
    by one; here a step is one call of the simulator.

    Args:
        core: the simulator; it is reset.
        episodes: B.
        users: draws users, where the reward is what they do.
    """

    def __init__(self, core: SelectionCore, episodes: int, users: np.random.Generator | None = None) -> None:
        self.core = core
        self._users = users
        self._observer = Observer(core, "compact")
        self._topics: IntArray = np.zeros(episodes, np.int64)
        self._actions: IntArray = np.zeros(episodes, np.int64)
        self._first = np.ones(episodes, np.bool_)
        self.returns = np.zeros(episodes)
        """[B], what the first episode in each place since the reset has paid so far."""
        self.episodes = 0
        """Episodes that have ended since the reset."""
        super().__init__(episodes, self._observer.space, Discrete(core.arrays.max_candidates))

    def play(self, topics: IntArray) -> None:
        """Give each place its topic, from the next reset on: [B] int64, indices in the simulator's topic set."""
        self._topics = np.array(topics, np.int64)

    def reset(self) -> VecEnvObs:
        """Begin an episode in every place."""
        self.core.reset(self._topics, users=self._users)
        self._first[:], self.returns[:], self.episodes = True, 0.0, 0
        return self._observer.observe_all()

    def step_async(self, actions: np.ndarray[Any, Any]) -> None:
        """Keep the actions, [B]."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Take them."""
        result = self.core.step(self._actions)
        self.returns += result.reward * self._first
        self._first &= ~result.terminated
        ended = np.flatnonzero(result.terminated)
        self.episodes += len(ended)
        if len(ended):
            self.core.reset(self._topics[ended], ended, self._users)
        return (
            self._observer.observe_all(),
            result.reward.astype(np.float32),
            result.terminated,
            [{} for _ in range(self.num_envs)],
        )

    def close(self) -> None:
        """There is nothing to close."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[object]:
        """Attributes of every place: `action_masks` (SB3 asks for such a method) and `render_mode`, no others."""
        return [{"action_masks": self.core, "render_mode": None}[attr_name]] * self.num_envs

    def set_attr(self, attr_name: str, value: object, indices: VecEnvIndices = None) -> None:
        """Episodes have nothing to set."""
        raise NotImplementedError

    def env_method(
        self, method_name: str, *method_args: object, indices: VecEnvIndices = None, **others: object
    ) -> list[object]:
        """`action_masks` of every place, [N] bool each: the only method."""
        return list(self.core.allowed)

    def env_is_wrapped(self, wrapper_class: object, indices: VecEnvIndices = None) -> list[bool]:
        """Episodes are never wrapped."""
        return [False] * self.num_envs
