"""Which spaces our policies can take, and which environments may stand side by side; errors that say what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium import spaces

from srd_gym.core import TopicArrays
from srd_gym.envs.observations import KINDS

FULL, COMPACT = KINDS["full"], KINDS["compact"]


class Shapes(NamedTuple):
    """Sizes from the spaces of `SRD-v0`."""

    candidates: int
    """N."""
    horizon: int
    """K."""
    width: int | None
    """F; None for compact observations, which have no vectors."""
    topics: int | None
    """T of a compact observation; None for full ones."""


def shapes_of(observation_space: spaces.Space[Any]) -> Shapes:
    """The shapes of the observations of `SRD-v0`.

    Args:
        observation_space: full or compact.

    Raises:
        ValueError: other spaces; the message says what was expected.
    """
    parts: Any = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
    if "features" in parts:
        raise ValueError(
            "observation='features' is for stock policies ('MultiInputPolicy'), which rank as "
            "srd_agents.acting.as_ranker(model); ours, and SB3Ranker, read observation='full' or 'compact'"
        )
    compact = "topic" in parts
    missing = [key for key in (COMPACT if compact else FULL) if key not in parts]
    if missing:
        raise ValueError(
            f"expected the Dict observation of SRD-v0 with {', '.join(FULL)} (or, compact, {', '.join(COMPACT)}), got "
            f"a {type(observation_space).__name__} without {', '.join(missing)}; leave out wrappers that flatten or "
            "rename observations: this policy reads them as they are"
        )
    (candidates,), (horizon,) = parts["action_mask"].shape, parts["ranking"].shape
    if compact:
        return Shapes(candidates, horizon, None, int(parts["topic"].high[0]) + 1)
    return Shapes(candidates, horizon, parts["documents"].shape[1], None)


def topics_of(env: object) -> TopicArrays | None:
    """The topics that an environment ranks, if all its sub-environments rank the same.

    Args:
        env: `SRD-v0` under any wrappers, or a vector environment of such (SB3's `VecEnv` or Gymnasium's).

    Returns:
        The topics' arrays; None where full observations of the same shapes come from several sets, which is fine.

    Raises:
        TypeError: no such environment.
        ValueError: sub-environments of different spaces, or compact observations of different sets.
    """
    sets: list[TopicArrays] = [core.arrays for core in _asked(env, "core")]
    shapes, *others = (shapes_of(space) for space in _asked(env, "observation_space"))
    for unlike in others:
        if unlike != shapes:
            raise ValueError(
                f"the sub-environments observe different spaces: {shapes} and {unlike}; give all the "
                "same topics, or at least the same max_candidates, horizon and vector width"
            )
    if shapes.topics is None and _another(sets) is not None:
        return None
    return common_topics(sets)


def _another(sets: Sequence[TopicArrays]) -> TopicArrays | None:
    """The first topics that are not those of the first sub-environment."""
    first = sets[0].topics.fingerprint
    return next((each for each in sets if each is not sets[0] and each.topics.fingerprint != first), None)


def common_topics(sets: Sequence[TopicArrays]) -> TopicArrays:
    """The topics of all sub-environments, which compact observations name by their index.

    Raises:
        ValueError: they are several sets.
    """
    if (other := _another(sets)) is not None:
        raise ValueError(
            f"the sub-environments rank different topic sets: {sets[0].topics!r} and {other.topics!r}. A compact "
            "observation names a topic by its index, so one lookup cannot serve both: give all the same topics, or "
            "leave observation='compact' out"
        )
    return sets[0]


def _asked(env: Any, name: str) -> list[Any]:
    """An attribute of every sub-environment."""
    try:
        return [env.get_wrapper_attr(name)] if isinstance(env, gym.Env) else list(env.get_attr(name))
    except AttributeError as error:
        raise TypeError(
            f"expected SRD-v0 (srd_gym.envs.SelectionEnv), or an SB3 VecEnv of such, got {type(env).__name__} without "
            f"{name!r}"
        ) from error
