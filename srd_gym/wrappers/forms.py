"""Forms of `SRD-v0`'s observation that other libraries expect: which space each is, and how it is made.

A form takes one observation, or B of them stacked: every array may have leading axes. What it returns shares no memory
with what it was given, except arrays that it passes on as they are.

Shapes: N candidates, F vector width, K horizon; `...` stands for leading axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray

FLAT_PARTS = ("query", "documents", "retrieval_scores", "places", "action_mask")
"""What a flat observation is made of, in order; see `flat_slices`."""


class Form(Protocol):
    """One way to lay an observation out."""

    def space(self, given: spaces.Dict) -> spaces.Space[Any]:
        """The space of what the form makes of observations of this space.

        Raises:
            ValueError: observations of this space lack what the form needs.
        """

    def __call__(self, observation: Mapping[str, NDArray[Any]]) -> Any:
        """The observation, laid out anew."""


@dataclass(frozen=True)
class BoolMask:
    """The same observation with a bool `action_mask`."""

    def space(self, given: spaces.Dict) -> spaces.Dict:
        """As `Form.space`."""
        return spaces.Dict({**given.spaces, "action_mask": _mask_space(given, np.bool_)})

    def __call__(self, observation: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """As `Form.__call__`."""
        return {**observation, "action_mask": observation["action_mask"].astype(np.bool_)}


@dataclass(frozen=True)
class Flat:
    """One float32 vector [..., F + N F + 3 N]; `flat_slices` says where what lies.

    `places` [N] stands for `ranking`: 1/K for the candidate on the first rank up to 1 on the last, 0 if not ranked.
    """

    mask: bool = True
    """Whether `action_mask` is part of it: without it [..., F + N F + 2 N]."""

    def space(self, given: spaces.Dict) -> spaces.Box:
        """As `Form.space`."""
        size = list(flat_slices(given).values())[-1 if self.mask else -2].stop
        return spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def __call__(self, observation: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """As `Form.__call__`."""
        ranking, mask = observation["ranking"], observation["action_mask"]
        depth, n = ranking.shape[-1], mask.shape[-1]
        weights = (np.arange(depth, dtype=np.float32) + 1)[:, None] / np.float32(depth)
        parts = {**observation, "places": ((ranking[..., None] == np.arange(n)) * weights).sum(-2)}
        lead = mask.shape[:-1]
        names = FLAT_PARTS if self.mask else FLAT_PARTS[:-1]
        return np.concatenate([parts[name].reshape(*lead, -1) for name in names], axis=-1, dtype=np.float32)


@dataclass(frozen=True)
class Tianshou:
    """`{"obs": ..., "mask": [..., N] bool}`: Tianshou masks by the key `mask` and no other."""

    flat: bool = True
    """Whether `obs` is one vector (`Flat` without the mask) or the rest of the observation as it is."""

    def space(self, given: spaces.Dict) -> spaces.Dict:
        """As `Form.space`."""
        mask = _mask_space(given, np.bool_)
        rest = Flat(mask=False).space(given) if self.flat else spaces.Dict(_without_mask(given.spaces))
        return spaces.Dict({"obs": rest, "mask": mask})

    def __call__(self, observation: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """As `Form.__call__`."""
        rest = Flat(mask=False)(observation) if self.flat else _without_mask(observation)
        return {"obs": rest, "mask": observation["action_mask"].astype(np.bool_)}


@dataclass(frozen=True)
class RLlib:
    """`{"observations": [..., F + N F + 2 N] float32, "action_mask": [..., N] int8}`: exactly RLlib's keys."""

    def space(self, given: spaces.Dict) -> spaces.Dict:
        """As `Form.space`."""
        mask = _mask_space(given, np.int8)
        return spaces.Dict({"observations": Flat(mask=False).space(given), "action_mask": mask})

    def __call__(self, observation: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """As `Form.__call__`."""
        return {
            "observations": Flat(mask=False)(observation),
            "action_mask": observation["action_mask"].astype(np.int8),
        }


def flat_slices(given: spaces.Dict) -> dict[str, slice]:
    """Where in a flat observation each of `FLAT_PARTS` lies, along the last axis; `documents` row after row.

    Args:
        given: the observation space of `SRD-v0` (`env.unwrapped.observation_space`).

    Raises:
        ValueError: a space without vectors, such as the compact observation's.
    """
    if not {"query", "documents", "retrieval_scores", "ranking", "action_mask"} <= given.spaces.keys():
        raise ValueError(
            f"a flat observation is made of observation='full', got one of {sorted(given.spaces)}; "
            "look compact observations up on the agent's side instead (srd_gym.wrappers.lookup)"
        )
    n, width = _shape(given, "documents")
    sizes = dict(zip(FLAT_PARTS, (width, n * width, n, n, n), strict=True))
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def _mask_space(given: spaces.Dict, dtype: DTypeLike) -> spaces.Box:
    """The mask's space in another dtype."""
    if "action_mask" not in given.spaces:
        raise ValueError(
            f"expected SRD-v0's own observation, with 'action_mask', got {sorted(given.spaces)}; "
            "put this wrapper before those that change or leave out the mask"
        )
    return spaces.Box(0, 1, _shape(given, "action_mask"), np.dtype(dtype).type)


def _shape(given: spaces.Dict, name: str) -> tuple[int, ...]:
    """The shape of one part."""
    shape = given.spaces[name].shape
    if shape is None:
        raise ValueError(f"expected {name!r} to be an array, got {given.spaces[name]}")
    return shape


def _without_mask(parts: Mapping[str, Any]) -> dict[str, Any]:
    """All but the mask."""
    return {name: part for name, part in parts.items() if name != "action_mask"}
