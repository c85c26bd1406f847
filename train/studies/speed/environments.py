"""Stepping `SRD-v0` for the speed table, alone and many at once.

Shapes: N candidates, F vector width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import srd_gym  # noqa: F401 - registers the environments
from studies.speed.race import Side, Work, share, timed
from studies.speed.topics import web

VectorEnv = gym.vector.VectorEnv[Any, Any, Any]
_HORIZON = 10
_N, _F = 200, 100
_OURS, _SYNC = gym.VectorizeMode.VECTOR_ENTRY_POINT, gym.VectorizeMode.SYNC


def stepping(size: float) -> Work:
    """One environment against CartPole-v1, resets included."""
    steps = share(size, 10_000, _HORIZON)
    ours, theirs = gym.make("SRD-v0", topics=web(100, _N, _F)), gym.make("CartPole-v1")
    return Work(_episodes(ours, steps, lambda step: step), _episodes(theirs, steps, lambda step: step % 2))


def _episodes(env: gym.Env[Any, Any], steps: int, action: Callable[[int], int]) -> Side:
    """So many steps, with resets where episodes end."""

    def run() -> None:
        env.reset(seed=0)
        position = 0
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(action(position))
            position += 1
            if terminated or truncated:
                env.reset()
                position = 0

    return timed(run, steps)


def beside_sync(name: str, size: float) -> Work:
    """64 environments at once against SyncVectorEnv."""
    # It always fills its own arrays; where both share, it is spared the copy it hands out.
    copies, topics = {"copy": name == "SRD-v0"}, web(100, _N, _F)
    ours = gym.make_vec(name, 64, vectorization_mode=_OURS, topics=topics)
    sync = gym.make_vec(name, 64, vectorization_mode=_SYNC, vector_kwargs=copies, topics=topics)
    return Work(_vector_steps(ours, share(size, 660, 2)), _vector_steps(sync, share(size, 66, 2)))


def compact(size: float) -> Work:
    """1,024 environments with compact observations."""
    topics = web(100, 15, 2)
    env = gym.make_vec("SRD-v0", 1_024, vectorization_mode=_OURS, topics=topics, observation="compact")
    return Work(_vector_steps(env, share(size, 100, 2)))


def _vector_steps(env: VectorEnv, steps: int) -> Side:
    """So many batched steps; the step after an end resets, and counts as none."""
    actions = [np.full(env.num_envs, rank, dtype=np.int64) for rank in range(_HORIZON + 1)]
    env.reset(seed=0)  # once: making a thousand generators takes as long as hundreds of steps

    def run() -> None:
        env.reset()
        for number in range(steps):
            env.step(actions[number % (_HORIZON + 1)])

    return timed(run, env.num_envs * (steps - steps // (_HORIZON + 1)))
