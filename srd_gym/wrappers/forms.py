"""Forms of `SRD-v0`'s observation that other libraries expect: which space each is, and how it is made.

A form takes one observation, or B of them stacked: every array may have leading axes. What it returns shares no memory
with what it was given, except arrays that it passes on as they are.

Shapes: N candidates, F vector width, K horizon; `...` stands for leading axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

FLAT_PARTS = ("query", "documents", "retrieval_scores", "places", "action_mask")
"""What a flat observation is made of, in order; see `flat_slices`."""


@dataclass(frozen=True)
class BoolMask:
    """The same observation with a bool `action_mask`."""

    def space(self, given: spaces.Dict) -> spaces.Dict:
        """The space of what the form makes of observations of this space.

        Raises:
            ValueError: observations of this space lack what the form needs.
        """
        return spaces.Dict({**given.spaces, "action_mask": _mask_space(given, np.bool_)})

    def __call__(self, observation: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The observation, laid out anew."""
        return {**observation, "action_mask": observation["action_mask"].astype(np.bool_)}


@dataclass(frozen=True)
class Flat:
    """One float32 vector [..., F + N F + 3 N]; `flat_slices` says where what lies.

    `places` [N] stands for `ranking`: 1/K for the candidate on the first rank up to 1 on the last, 0 if not ranked.
    """

    mask: bool = True
    """Whether `action_mask` is part of it: without it [..., F + N F + 2 N]."""

    def space(self, given: spaces.Dict) -> spaces.Box:
        """As `BoolMask.space`."""
        size = list(flat_slices(given).values())[-1 if self.mask else -2].stop
        return spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def __call__(self, observation: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """As `BoolMask.__call__`."""
        ranking, mask = observation["ranking"], observation["action_mask"]
        depth, n = ranking.shape[-1], mask.shape[-1]
        weights = (np.arange(depth, dtype=np.float32) + 1)[:, None] / np.float32(depth)
        parts = {**observation, "places": ((ranking[..., None] == np.arange(n)) * weights).sum(-2)}
        lead = mask.shape[:-1]
        names = FLAT_PARTS if self.mask else FLAT_PARTS[:-1]
        return np.concatenate([parts[name].reshape(*lead, -1) for name in names], axis=-1, dtype=np.float32)


@dataclass(frozen=True)
class Split:
    """`{rest: ..., mask: [..., N]}`: the mask beside the rest, under the keys that a library reads."""

    rest: str
    mask: str
    dtype: type[np.generic]
    """Of the mask."""
    flat: bool = True
    """Whether the rest is one vector (`Flat` without the mask) or the other keys of the observation as they are."""

    def space(self, given: spaces.Dict) -> spaces.Dict:
        """As `BoolMask.space`."""
        mask = _mask_space(given, self.dtype)
        rest = Flat(mask=False).space(given) if self.flat else spaces.Dict(_without_mask(given.spaces))
        return spaces.Dict({self.rest: rest, self.mask: mask})

    def __call__(self, observation: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """As `BoolMask.__call__`."""
        rest = Flat(mask=False)(observation) if self.flat else _without_mask(observation)
        return {self.rest: rest, self.mask: observation["action_mask"].astype(self.dtype)}


Form = BoolMask | Flat | Split
"""One way to lay an observation out."""


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
    n, width = given.spaces["documents"].shape or (0, 0)
    sizes = dict(zip(FLAT_PARTS, (width, n * width, n, n, n), strict=True))
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def _mask_space(given: spaces.Dict, dtype: type[np.generic]) -> spaces.Box:
    """The mask's space in another dtype."""
    if "action_mask" not in given.spaces:
        raise ValueError(
            f"expected SRD-v0's own observation, with 'action_mask', got {sorted(given.spaces)}; "
            "put this wrapper before those that change or leave out the mask"
        )
    return spaces.Box(0, 1, given.spaces["action_mask"].shape, dtype)  # type: ignore[arg-type]


def _without_mask(parts: Mapping[str, Any]) -> dict[str, Any]:
    """All but the mask."""
    return {name: part for name, part in parts.items() if name != "action_mask"}
