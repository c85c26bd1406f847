"""Observations of `SRD-v0` as other libraries want them.

`observation` of each wrapper takes one observation or several stacked, and so does the native vector environment:

    vector = gym.make_vec("srd_gym:SRD-v0", num_envs=8, vectorization_mode="vector_entry_point")
    flat = VectorObservation(vector, FlatObservation(gym.make("srd_gym:SRD-v0")))

What it returns shares no memory with what it was given, except arrays that it passes on as they are.

Shapes: N candidates, F vector width, K horizon; `...` stands for leading axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from srd_gym.dtypes import AnyArray
from srd_gym.envs.observations import KINDS


class _Form(gym.ObservationWrapper[object, np.int64, Any], RecordConstructorArgs):
    """An environment whose observations take another form. Infos, rewards and actions stay as they are."""

    def __init__(self, env: gym.Env[Any, np.int64], needs: Sequence[str]) -> None:
        super().__init__(env)
        given = env.observation_space
        self._given = given.spaces if isinstance(given, spaces.Dict) else {}
        if missing := [name for name in needs if name not in self._given]:
            raise ValueError(
                f"{type(self).__name__} reads {', '.join(missing)} of SRD-v0's observation, got "
                f"{list(self._given) or given}; put it around the environment before wrappers that change observations "
                "and look compact ones up on the agent's side instead (srd_gym.wrappers.expand_observation)"
            )
        self.action_masks = env.get_wrapper_attr("action_masks")
        """The candidates that are not masked (sb3-contrib's protocol)."""


class BoolMask(_Form):
    """`action_mask` in bool, as TorchRL's `MaskedCategorical` wants it.

    The same as `gym.make("srd_gym:SRD-v0", mask_dtype="bool")`, for environments made elsewhere.

    Args:
        env: `SRD-v0`, wrapped or not, as long as its observation has the keys that are read.

    Raises:
        ValueError: an observation that lacks them.
    """

    def __init__(self, env: gym.Env[Any, np.int64]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, ("action_mask",))
        self.observation_space = spaces.Dict({**self._given, "action_mask": _mask_space(self._given, np.bool_)})

    def observation(self, observation: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """The observation in its new form."""
        return {**observation, "action_mask": observation["action_mask"].astype(np.bool_)}


class FlatObservation(_Form):
    """One float32 vector [..., F + N F + 3 N], for stock networks: query, documents, retrieval scores, places, mask.

    `places` [N] stands for `ranking`: 1/K for the candidate on the first rank up to 1 on the last, 0 if not ranked.

    Differs from Gymnasium's `FlattenObservation`: float32, not float64, and the ranking as a number for each candidate
    instead of indices, which networks cannot read.

    Args and raises as `BoolMask`; the environment must have observation="full".
    """

    def __init__(self, env: gym.Env[Any, np.int64]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, KINDS["full"])
        self.observation_space = _flat_space(self._given, mask=True)

    def observation(self, observation: Mapping[str, AnyArray]) -> NDArray[np.float32]:
        """As `BoolMask.observation`."""
        return _flat(observation, mask=True)


class TianshouObservation(_Form):
    """`{"obs": ..., "mask": [N] bool}`, which Tianshou's DQN family masks by, and by no other key.

    Args:
        env: as `BoolMask`; with observation="full" unless `flat` is False.
        flat: whether `obs` is one vector (that of `FlatObservation` without the mask), or the other keys of the
            observation as they are.

    Raises:
        ValueError: as `BoolMask`.
    """

    def __init__(self, env: gym.Env[Any, np.int64], flat: bool = True) -> None:
        RecordConstructorArgs.__init__(self, flat=flat)
        super().__init__(env, KINDS["full"] if flat else ("action_mask",))
        self._flat = flat
        rest = _flat_space(self._given, mask=False) if flat else spaces.Dict(_without_mask(self._given))
        self.observation_space = spaces.Dict({"obs": rest, "mask": _mask_space(self._given, np.bool_)})

    def observation(self, observation: Mapping[str, AnyArray]) -> dict[str, object]:
        """As `BoolMask.observation`."""
        rest = _flat(observation, mask=False) if self._flat else _without_mask(observation)
        return {"obs": rest, "mask": observation["action_mask"].astype(np.bool_)}


class RLlibObservation(_Form):
    """`{"observations": vector, "action_mask": [N] int8}`, as RLlib's own masking module reads it.

    Args and raises as `BoolMask`; the environment must have observation="full".
    """

    def __init__(self, env: gym.Env[Any, np.int64]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, KINDS["full"])
        rest, mask = _flat_space(self._given, mask=False), _mask_space(self._given, np.int8)
        self.observation_space = spaces.Dict({"observations": rest, "action_mask": mask})

    def observation(self, observation: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """As `BoolMask.observation`."""
        mask = observation["action_mask"].astype(np.int8)
        return {"observations": _flat(observation, mask=False), "action_mask": mask}


class VectorObservation(VectorWrapper):  # without type arguments: it takes none in Gymnasium 1.2
    """The native vector environment under a wrapper of this module, final observations included.

    Differs from Gymnasium's `TransformObservation`: it takes all three autoreset modes, SAME_STEP too.

    Args:
        env: `gym.make_vec("srd_gym:SRD-v0", ..., vectorization_mode="vector_entry_point")`.
        one: a single environment of the same arguments, under the wrapper.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], one: _Form) -> None:
        super().__init__(env)
        self._form = one.observation
        native: Any = env.unwrapped
        self.action_masks = native.action_masks
        self.autoreset_mode: AutoresetMode = native.autoreset_mode
        """As an attribute too, where TorchRL looks for it."""
        self.single_observation_space = one.observation_space
        self.observation_space = batch_space(one.observation_space, self.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """As `SelectionVectorEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._form(observations), infos

    def step(self, actions: object) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As `SelectionVectorEnv.step`."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        if "final_obs" in infos:
            final = np.empty(self.num_envs, dtype=object)
            for episode in np.flatnonzero(infos["_final_obs"]).tolist():
                final[episode] = self._form(infos["final_obs"][episode])
            infos = {**infos, "final_obs": final}
        return self._form(observations), rewards, terminated, truncated, infos


def _flat(observation: Mapping[str, AnyArray], mask: bool) -> NDArray[np.float32]:
    """[..., F + N F + 2 N] query, documents, retrieval scores and places in one vector; with the mask N more."""
    ranking, offered = observation["ranking"], observation["action_mask"]
    depth, n = ranking.shape[-1], offered.shape[-1]
    weights = (np.arange(depth, dtype=np.float32) + 1)[:, None] / np.float32(depth)
    places = ((ranking[..., None] == np.arange(n)) * weights).sum(-2)
    parts = [observation["query"], observation["documents"], observation["retrieval_scores"], places]
    parts += [offered] if mask else []
    lead = offered.shape[:-1]
    return np.concatenate([part.reshape(*lead, -1) for part in parts], axis=-1, dtype=np.float32)


def _flat_space(given: Mapping[str, Any], mask: bool) -> spaces.Box:
    """The space of such vectors."""
    n, width = given["documents"].shape
    return spaces.Box(-np.inf, np.inf, (width + n * width + (3 if mask else 2) * n,), np.float32)


def _mask_space(given: Mapping[str, Any], dtype: type[np.generic]) -> spaces.Box:
    """The mask's space in another dtype."""
    return spaces.Box(0, 1, given["action_mask"].shape, dtype)  # type: ignore[arg-type]


def _without_mask(parts: Mapping[str, object]) -> dict[str, Any]:
    """All but the mask."""
    return {name: part for name, part in parts.items() if name != "action_mask"}
