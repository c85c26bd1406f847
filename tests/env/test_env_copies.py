"""Speed as a count: how many times document vectors are copied in a step."""

from __future__ import annotations

import tracemalloc
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from small_topics import judged_topic

import srd_gym  # noqa: F401 registers the environments
from srd_gym.topic import TopicSet

N, F, B = 50, 40, 4
MATRIX = N * F * 4
"""Bytes of one topic's vectors."""


class Counting(np.ndarray):
    """Counts the bytes that are copied out of it, however that is asked for."""

    copied = 0

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, np.ndarray) and not np.may_share_memory(self, source):
            Counting.copied += self.nbytes


TOPICS = TopicSet([judged_topic(N, seed, F) for seed in range(3)], name="counted")


def counted(env: Any) -> Any:
    """The environment with its vectors under watch."""
    observer = env.unwrapped._builder
    observer.documents = observer.documents.view(Counting)
    Counting.copied = 0
    return env


def copies(call: Any) -> tuple[float, float]:
    """Matrices copied out of the topics, and matrices' worth of memory held at most during a call, beyond before."""
    Counting.copied = 0
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = call()
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert result is not None
    return Counting.copied / MATRIX, peak / MATRIX


@pytest.mark.parametrize(("env_id", "expected"), [("SRD-v0", 1), ("SRD-shared-v0", 0)])
def test_a_step_copies_the_documents_once_and_never_when_shared(env_id: str, expected: int) -> None:
    env = counted(gym.make(env_id, topics=TOPICS))
    env.reset(seed=0)
    for action in range(3):  # Gymnasium's checker looks at the first steps
        env.step(action)
    for call in (*(lambda action=action: env.step(action) for action in range(3, 9)), env.reset):
        made, held = copies(call)
        assert made == expected
        assert held < expected + 0.6


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("share", [False, True])
def test_a_vector_step_copies_each_topic_once_and_none_when_shared(mode: str, share: bool) -> None:
    env = counted(
        gym.make_vec("SRD-v0", num_envs=B, topics=TOPICS, autoreset_mode=mode, share_documents=share, horizon=4)
    )
    env.reset(seed=0)
    for step in range(4):
        made, held = copies(lambda step=step: env.step(np.full(B, step)))
        # Where the step ends episodes, same-step autoreset also hands out their last observations.
        expected = 0 if share else 2 * B if step == 3 and mode == "same_step" else B
        assert made == expected
        assert step == 3 or held < expected + 1
