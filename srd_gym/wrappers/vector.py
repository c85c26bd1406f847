"""The wrappers of `srd_gym.wrappers.observation` around the native vector environment, in all three autoreset modes."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from srd_gym.envs.selection_vector import SelectionVectorEnv
from srd_gym.wrappers import forms

__all__ = ["BoolMask", "FlatObservation", "RLlibObservation", "TianshouObservation"]


class VectorFormWrapper(VectorWrapper):  # without type arguments: it takes none in Gymnasium 1.2
    """A vector environment whose observations, final ones included, take another form.

    Args:
        env: `gym.make_vec("SRD-v0", ..., vectorization_mode="vector_entry_point")`, wrapped or not.
        form: the form.

    Raises:
        TypeError: another environment.
        ValueError: observations that lack what the form reads.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], form: forms.Form) -> None:
        name = type(self).__name__
        if not isinstance(env, VectorEnv) or not isinstance(env.unwrapped, SelectionVectorEnv):
            raise TypeError(
                f"srd_gym.wrappers.vector.{name} goes around SRD-v0's native vector environment, got "
                f"{type(env.unwrapped).__name__}; elsewhere, put srd_gym.wrappers.{name} around each environment"
            )
        if not isinstance(env.single_observation_space, spaces.Dict):
            raise ValueError(
                f"{name} reads SRD-v0's Dict observation, got {env.single_observation_space}; put it around the "
                "environment before wrappers that change observations"
            )
        super().__init__(env)
        self.form = form
        self.action_masks = env.unwrapped.action_masks
        self.autoreset_mode: AutoresetMode = env.unwrapped.autoreset_mode
        """As an attribute too, where TorchRL looks for it."""
        self.single_observation_space = form.space(env.single_observation_space)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """As `SelectionVectorEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self.form(observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As `SelectionVectorEnv.step`."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        if "final_obs" in infos:
            final = np.empty(self.num_envs, dtype=object)
            for episode in np.flatnonzero(infos["_final_obs"]).tolist():
                final[episode] = self.form(infos["final_obs"][episode])
            infos = {**infos, "final_obs": final}
        return self.form(observations), rewards, terminated, truncated, infos


class BoolMask(VectorFormWrapper):
    """As `srd_gym.wrappers.BoolMask`."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env, forms.BoolMask())


class FlatObservation(VectorFormWrapper):
    """As `srd_gym.wrappers.FlatObservation`."""

    def __init__(self, env: VectorEnv[Any, Any, Any], mask: bool = True) -> None:
        super().__init__(env, forms.Flat(mask))


class TianshouObservation(VectorFormWrapper):
    """As `srd_gym.wrappers.TianshouObservation`."""

    def __init__(self, env: VectorEnv[Any, Any, Any], flat: bool = True) -> None:
        super().__init__(env, forms.Split("obs", "mask", np.bool_, flat))


class RLlibObservation(VectorFormWrapper):
    """As `srd_gym.wrappers.RLlibObservation`."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env, forms.Split("observations", "action_mask", np.int8))
