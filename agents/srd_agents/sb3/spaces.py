"""Which spaces our policies can take, and which environments may stand side by side; errors that say what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from srd_gym.core import TopicArrays

FULL = ("query", "documents", "retrieval_scores", "ranking", "action_mask")
COMPACT = ("topic", "ranking", "action_mask")


class Shapes(NamedTuple):
    """What the spaces of `SRD-v0` say."""

    candidates: int
    """N."""
    horizon: int
    """K."""
    width: int | None
    """F; None for compact observations, which have no vectors."""
    topics: int | None
    """T of a compact observation; None for full ones."""


def shapes_of(observation_space: spaces.Space[Any], action_space: spaces.Space[Any] | None = None) -> Shapes:
    """The shapes of the observations of `SRD-v0`.

    Args:
        observation_space: full or compact.
        action_space: what the candidates must agree with, where given.

    Raises:
        ValueError: other spaces; the message says what was expected.
    """
    parts = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
    compact = "topic" in parts
    missing = [key for key in (COMPACT if compact else FULL) if key not in parts]
    if missing:
        raise ValueError(
            f"expected the Dict observation of SRD-v0 with {', '.join(FULL)} (or, compact, {', '.join(COMPACT)}), got "
            f"{_short(observation_space)}{' without ' + ', '.join(missing) if parts else ''}; leave out wrappers that "
            "flatten or rename observations: this policy reads them as they are"
        )
    candidates = _shape(parts["action_mask"])[0]
    if action_space is not None and not (isinstance(action_space, spaces.Discrete) and action_space.n == candidates):
        raise ValueError(
            f"expected actions Discrete({candidates}), one for each candidate of the observation, got {action_space}"
        )
    horizon = _shape(parts["ranking"])[0]
    if not compact:
        return Shapes(candidates, horizon, _shape(parts["documents"])[1], None)
    topic = parts["topic"]
    count = int(topic.high[0]) + 1 if isinstance(topic, spaces.Box) else 0
    return Shapes(candidates, horizon, None, count)


def check_observation(observation: Any, observation_space: spaces.Space[Any]) -> None:
    """Refuse an observation of another environment than the policy was built for.

    Args:
        observation: one, or a batch of them.
        observation_space: what the policy was built for.

    Raises:
        ValueError: other keys, or other shapes.
    """
    parts = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
    if not isinstance(observation, Mapping) or observation.keys() != parts.keys():
        came = ", ".join(observation) if isinstance(observation, Mapping) else type(observation).__name__
        raise ValueError(
            f"this policy was built for observations of {', '.join(parts)}, got {came}; make the environment with the "
            "arguments of training (observation=...)"
        )
    for key, part in parts.items():
        shape, wanted = np.shape(observation[key]), _shape(part)
        if shape[len(shape) - len(wanted) :] != wanted or len(shape) > len(wanted) + 1:
            raise ValueError(
                f"this policy was built for {key} of shape {wanted}, got {shape}. The number of candidates is set by "
                "max_candidates, the ranks by horizon, the width by the vectors: make the environment with those of "
                "training; or rank topics of any size with srd_agents.sb3.ranker.SB3Ranker"
            )


def topics_of(env: Any) -> TopicArrays | None:
    """The topics that an environment ranks, if all its sub-environments rank the same.

    Args:
        env: `SRD-v0` under any wrappers, or an SB3 `VecEnv` of such.

    Returns:
        The topics' arrays; None where full observations of the same shapes come from several sets, which is fine.

    Raises:
        TypeError: no such environment.
        ValueError: sub-environments of different spaces, or compact observations of different sets.
    """
    cores, seen = _asked(env, "core"), _asked(env, "observation_space")
    for index, space in enumerate(seen):
        if space != seen[0]:
            raise ValueError(
                f"the sub-environments of this VecEnv observe different spaces: number 0 {_sizes(seen[0])}, number "
                f"{index} {_sizes(space)}; give all the same topics, or at least the same max_candidates, horizon and "
                "vector width"
            )
    sets = [core.arrays for core in cores]
    first = sets[0].topics.fingerprint if any(arrays is not sets[0] for arrays in sets) else ""
    for index, arrays in enumerate(sets):
        if arrays is sets[0] or arrays.topics.fingerprint == first:
            continue
        if shapes_of(seen[0]).topics is None:
            return None
        raise ValueError(
            f"the sub-environments of this VecEnv rank different topic sets: number 0 {sets[0].topics!r}, number "
            f"{index} {arrays.topics!r}. A compact observation names a topic by its index, so one lookup cannot serve "
            "both: give all the same topics, or leave observation='compact' out"
        )
    found: TopicArrays = sets[0]
    return found


def _asked(env: Any, name: str) -> list[Any]:
    """An attribute of every sub-environment."""
    try:
        return [env.get_wrapper_attr(name)] if isinstance(env, gym.Env) else list(env.get_attr(name))
    except AttributeError as error:
        raise TypeError(
            f"expected SRD-v0 (srd_gym.envs.SelectionEnv), or an SB3 VecEnv of such, got {type(env).__name__} without "
            f"{name!r}"
        ) from error


def _shape(space: spaces.Space[Any]) -> tuple[int, ...]:
    """The shape of a space that has one."""
    return tuple(space.shape or ())


def _sizes(space: spaces.Space[Any]) -> str:
    """What an observation space holds, in few words."""
    if not isinstance(space, spaces.Dict):
        return _short(space)
    return ", ".join(f"{key} {_shape(part)}" for key, part in space.spaces.items())


def _short(space: spaces.Space[Any]) -> str:
    """A space in few words: a printed Box of documents fills pages."""
    keys = f" of {', '.join(space.spaces)}" if isinstance(space, spaces.Dict) else ""
    return f"a {type(space).__name__}{keys}"
