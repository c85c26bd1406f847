"""Observations in the form that another library expects, around one `SRD-v0`.

`srd_gym.wrappers.vector` has the same wrappers around the native vector environment.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from srd_gym.envs.selection import SelectionEnv
from srd_gym.wrappers import forms


class FormWrapper(gym.ObservationWrapper[Any, np.int64, Any], RecordConstructorArgs):
    """An environment whose observations take another form. Infos, rewards and actions stay as they are.

    Args:
        env: `SRD-v0`, wrapped or not, as long as its observation has the keys that the form reads.
        form: the form.
        **arguments: what the environment's specification remembers of the wrapper.

    Raises:
        TypeError: another environment, or a vector environment.
        ValueError: observations that lack what the form reads.
    """

    def __init__(self, env: gym.Env[Any, np.int64], form: forms.Form, **arguments: Any) -> None:
        name = type(self).__name__
        if not isinstance(env.unwrapped, SelectionEnv):
            raise TypeError(
                f"{name} goes around one SRD-v0, got {type(env.unwrapped).__name__}; around its native vector "
                f"environment goes srd_gym.wrappers.vector.{name}"
            )
        if not isinstance(env.observation_space, spaces.Dict):
            raise ValueError(
                f"{name} reads SRD-v0's Dict observation, got {env.observation_space}; put it around the environment "
                "before wrappers that change observations"
            )
        RecordConstructorArgs.__init__(self, **arguments)
        super().__init__(env)
        self.form = form
        self.action_masks = env.unwrapped.action_masks
        """The candidates on offer (sb3-contrib's protocol)."""
        self.observation_space = form.space(env.observation_space)

    def observation(self, observation: Any) -> Any:
        """The observation in its new form."""
        return self.form(observation)


class BoolMask(FormWrapper):
    """`action_mask` in bool, as TorchRL's `MaskedCategorical` wants it. Arguments and errors as `FormWrapper`.

    The same as `gym.make("SRD-v0", mask_dtype="bool")`, for environments made elsewhere.
    """

    def __init__(self, env: gym.Env[Any, np.int64]) -> None:
        super().__init__(env, forms.BoolMask())


class FlatObservation(FormWrapper):
    """One float32 vector, for stock networks: `srd_gym.wrappers.forms.Flat`.

    Differs from Gymnasium's `FlattenObservation`: float32, not float64, and the ranking as a number for each candidate
    instead of indices, which networks cannot read.

    Args:
        env: as `FormWrapper`, with observation="full".
        mask: whether `action_mask` is part of the vector.

    Raises:
        TypeError, ValueError: as `FormWrapper`.
    """

    def __init__(self, env: gym.Env[Any, np.int64], mask: bool = True) -> None:
        super().__init__(env, forms.Flat(mask), mask=mask)


class TianshouObservation(FormWrapper):
    """`{"obs": ..., "mask": [N] bool}`, which Tianshou's DQN family masks by, and by no other key.

    Args:
        env: as `FormWrapper`; with observation="full" unless `flat` is False.
        flat: whether `obs` is one vector, or the other keys of the observation as they are.

    Raises:
        TypeError, ValueError: as `FormWrapper`.
    """

    def __init__(self, env: gym.Env[Any, np.int64], flat: bool = True) -> None:
        super().__init__(env, forms.Split("obs", "mask", np.bool_, flat), flat=flat)


class RLlibObservation(FormWrapper):
    """`{"observations": vector, "action_mask": [N] int8}`, as RLlib's own masking module reads it.

    Arguments and errors as `FormWrapper`; the environment must have observation="full".
    """

    def __init__(self, env: gym.Env[Any, np.int64]) -> None:
        super().__init__(env, forms.Split("observations", "action_mask", np.int8))
