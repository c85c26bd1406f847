"""Speed as a count: how many times document vectors are copied in a step."""

from __future__ import annotations

import tracemalloc
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import srd_gym  # noqa: F401 registers the environments
from srd_gym.topic import Topic, TopicSet

N, F, B = 50, 40, 4
MATRIX = N * F * 4
"""Bytes of one topic's vectors."""


class Counting(np.ndarray):
    """Counts the bytes that are copied out of it, however that is asked for."""

    copied = 0

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, np.ndarray) and not np.may_share_memory(self, source):
            Counting.copied += self.nbytes


@pytest.fixture
def topics() -> TopicSet:
    generator = np.random.default_rng(0)
    ids = tuple(map(str, range(N)))
    judgments = np.ones((N, 2), np.int8)
    return TopicSet(
        [Topic(query_id=str(i), doc_ids=ids, doc_vectors=generator.normal(size=(N, F)), subtopic_ids=("a", "b"),
               judgments=judgments) for i in range(3)],
        name="counted",
    )  # fmt: skip


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
def test_a_step_copies_the_documents_once_and_never_when_shared(topics: TopicSet, env_id: str, expected: int) -> None:
    env = counted(gym.make(env_id, topics=topics))
    env.reset(seed=0)
    for action in range(3):  # Gymnasium's checker looks at the first steps
        env.step(action)
    for action in range(3, 9):
        made, held = copies(lambda action=action: env.step(action))
        assert made == expected
        assert held < expected + 0.6
    made, held = copies(env.reset)
    assert made == expected
    assert held < expected + 0.6


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("share", [False, True])
def test_a_vector_step_copies_each_topic_once_and_none_when_shared(topics: TopicSet, mode: str, share: bool) -> None:
    env = counted(
        gym.make_vec("SRD-v0", num_envs=B, topics=topics, autoreset_mode=mode, share_documents=share, horizon=4)
    )
    env.reset(seed=0)
    for step in range(3):
        made, held = copies(lambda step=step: env.step(np.full(B, step)))
        assert made == (0 if share else B)
        assert held < (0 if share else B) + 1
    made, _ = copies(lambda: env.step(np.full(B, 3)))
    # Where the step ends episodes, same-step autoreset also hands out their last observations.
    last = B if mode == "same_step" else 0
    assert made == (0 if share else B + last)


def test_the_count_sees_every_way_of_copying() -> None:
    array = np.zeros((3, N, F), np.float32).view(Counting)
    for copy in (lambda: array[0].copy(), lambda: array[[1]], lambda: array.take([1], axis=0), lambda: array[0] + 0):
        Counting.copied = 0
        copy()
        assert Counting.copied == MATRIX
    Counting.copied = 0
    array[0][:5].view()
    assert Counting.copied == 0
