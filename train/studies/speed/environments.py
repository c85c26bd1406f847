"""What `make speed` measures of `SRD-v0`: steps of one environment, and of many at once.

Shapes: B environments, N candidates, F vector width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

import srd_gym  # noqa: F401 - registers the environments
from srd_gym.core.arrays import TopicArrays
from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from studies.speed.machine import limit
from studies.speed.race import Contender, Outcome, against, race

_ENVIRONMENTS, _HORIZON = 64, 10
_COMPACT = {256: 3e6, 1_024: 5e6}
"""Environments with compact observations, and the steps a second that they should make."""
_SHARED_GOAL = 1.5e6
_SIZE = (200, 100)
"""N and F; compact observations have no vectors, and 15 candidates."""


def stepping(*, share: bool, rounds: int, size: float = 1.0) -> Outcome:
    """Steps of SRD-v0 at N = 200, F = 100 through `gym.make`, against CartPole-v1; resets included."""
    topics = _topics(*_SIZE)
    # With shared documents the checker is off, as in SRD-shared-v0: it would look for copies.
    name = "SRD-shared-v0" if share else "SRD-v0"
    ours = gym.make(name, topics=topics)
    theirs = gym.make("CartPole-v1")
    steps = max(_HORIZON, int(10_000 * size))
    return race(
        f"{'SRD-v0, shared documents' if share else 'SRD-v0'}, N = 200, F = 100, through gym.make",
        "steps/s",
        Contender(name=name, run=_episodes(ours, steps, lambda step: step)),
        Contender(name="CartPole-v1", run=_episodes(theirs, steps, lambda step: step % 2)),
        target=0.7,
        rounds=rounds,
    )


def _episodes(env: gym.Env[Any, Any], steps: int, action: Callable[[int], int]) -> Callable[[], int]:
    """A runner of so many steps, with resets where episodes end."""

    def run() -> int:
        env.reset(seed=0)
        position = 0
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(action(position))
            position += 1
            if terminated or truncated:
                env.reset()
                position = 0
        return steps

    return run


def vector_stepping(*, share: bool, rounds: int, size: float = 1.0) -> Outcome:
    """Steps of the native vector environment with 64 sub-environments, against SyncVectorEnv."""
    topics = _topics(*_SIZE)
    name = "SRD-shared-v0" if share else "SRD-v0"
    ours = gym.make_vec(
        name, num_envs=_ENVIRONMENTS, vectorization_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT, topics=topics
    )
    # SyncVectorEnv always fills its own arrays; where both share, it is spared the copy it hands out.
    theirs = gym.make_vec(
        name,
        num_envs=_ENVIRONMENTS,
        vectorization_mode=gym.VectorizeMode.SYNC,
        vector_kwargs={"copy": not share},
        topics=topics,
    )
    how = "shared documents" if share else "documents copied"
    return race(
        f"{_ENVIRONMENTS} environments at once, {how}, N = 200, F = 100",
        "steps/s",
        Contender(name="native vector environment", run=_vector_steps(ours.step, ours, max(2, int(660 * size)))),
        Contender(name="SyncVectorEnv", run=_vector_steps(theirs.step, theirs, max(2, int(66 * size)))),
        target=10 if share else 7,
        rounds=rounds,
    )


def goal_stepping(environments: int, *, compact: bool, rounds: int, size: float = 1.0) -> Outcome:
    """Steps of the native vector environment, against the rate to reach: compact observations, or shared documents.

    Args:
        environments: B.
        compact: observations of topic, ranking and mask, N = 15; else those of N = 200, F = 100, documents shared.
        rounds: how many count.
        size: share of the full work, for tests.
    """
    goal = _COMPACT[environments] if compact else _SHARED_GOAL
    env = gym.make_vec(
        "SRD-v0" if compact else "SRD-shared-v0",
        num_envs=environments,
        vectorization_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
        topics=_topics(15, 2) if compact else _topics(*_SIZE),
        observation="compact" if compact else "full",
    )
    how = "compact observations, N = 15" if compact else "shared documents, N = 200, F = 100"
    return against(
        f"{environments:,} environments at once, {how}",
        "steps/s",
        _vector_steps(env.step, env, max(2, int(100_000 / environments * size))),
        goal,
        source="goal",
        target=1.0,
        rounds=rounds,
    )


def copying(*, rounds: int, size: float = 1.0) -> Outcome:
    """Steps of 64 environments whose documents are copied, against that copy alone, which is the limit."""
    topics = _topics(*_SIZE)
    env = gym.make_vec(
        "SRD-v0",
        num_envs=_ENVIRONMENTS,
        vectorization_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
        topics=topics,
    )
    documents, shown = TopicArrays.of(topics).documents, np.arange(_ENVIRONMENTS)
    steps = max(2, int(330 * size))
    read = 4.0 * _SIZE[0] * _SIZE[1]
    return race(
        f"{_ENVIRONMENTS} environments at once, documents copied, N = {_SIZE[0]}, F = {_SIZE[1]}",
        "steps/s",
        Contender(name="native vector environment", run=_vector_steps(env.step, env, steps)),
        Contender(
            name="the copy of the documents alone",
            run=_vector_steps(lambda _: documents.take(shown, axis=0), env, steps),
        ),
        target=1 / 1.3,
        rounds=rounds,
        limit=limit(read=read),
    )


def environment_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The lines of the speed table: a name to show while it runs, and the case."""
    yield "single environment", partial(stepping, share=False, rounds=rounds, size=size)
    yield "single environment, shared", partial(stepping, share=True, rounds=rounds, size=size)
    yield "vector environment", partial(vector_stepping, share=False, rounds=rounds, size=size)
    yield "vector environment, shared", partial(vector_stepping, share=True, rounds=rounds, size=size)
    yield "vector environment beside the copy", partial(copying, rounds=rounds, size=size)
    many = partial(goal_stepping, _ENVIRONMENTS, compact=False, rounds=rounds, size=size)
    yield "vector environment, shared, goal", many
    for environments in _COMPACT:
        many = partial(goal_stepping, environments, compact=True, rounds=rounds, size=size)
        yield f"vector environment, compact, {environments}", many


def _vector_steps(
    step: Callable[[Any], object], env: gym.vector.VectorEnv[Any, Any, Any], steps: int
) -> Callable[[], int]:
    """A runner of so many batched steps; the step after an end resets, and counts as none."""
    actions = [np.full(env.num_envs, rank, dtype=np.int64) for rank in range(_HORIZON + 1)]
    env.reset(seed=0)  # once: making a thousand generators takes as long as hundreds of steps

    def run() -> int:
        env.reset()
        taken = 0
        for number in range(steps):
            rank = number % (_HORIZON + 1)
            step(actions[rank])
            taken += env.num_envs * (rank < _HORIZON)
        return taken

    return run


def _topics(candidates: int, width: int) -> TopicSet:
    """Generated topics of one size."""
    return generate("web", n_topics=100, seed=0, width=width, candidates=(candidates, candidates))
