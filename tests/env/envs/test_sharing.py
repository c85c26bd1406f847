"""Topics and documents: who shares them, and how often an environment copies them, counted."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium as gym
import numpy as np
import pytest
from small_topics import judged_topic, random_topics

from srd_gym import TopicSet, scoring_v0
from srd_gym.envs import SelectionVectorEnv
from srd_gym.testing import _require_equal


def test_shared_documents_are_shared_and_read_only() -> None:
    many, _ = SelectionVectorEnv(random_topics(3), num_envs=4, share_documents=True).reset(seed=0)
    with pytest.raises(ValueError, match="read-only"):
        many["documents"][0] = 0
    shared = gym.make("SRD-shared-v0", topics=random_topics(2, n=6))
    one, other = shared.reset(seed=0)[0]["documents"], shared.step(0)[0]["documents"]
    assert np.shares_memory(one, other)
    with pytest.raises(ValueError, match="read-only"):
        one[0] = 0


@pytest.mark.parametrize("make", [
    lambda topics: gym.make("SRD-v0", topics=topics),
    lambda topics: gym.make_vec("SRD-v0", 2, "vector_entry_point", topics=topics),
    lambda topics: gym.make_vec("SRD-shared-v0", 2, "vector_entry_point", topics=topics),
    lambda topics: scoring_v0.parallel_env(topics),
])  # fmt: skip
def test_pickled_environments_share_their_topics(make: Any) -> None:
    env = make("synthetic:serp")
    env.reset(seed=0)
    data = pickle.dumps(env)
    assert len(data) < 1_000_000, "the topics are 7 MB"
    own = random_topics(3, n=6)
    env = make(own)
    env.reset(seed=0)
    copies = [pickle.loads(library.dumps(env)) for library in (pickle, pickle, cloudpickle)]
    for each in copies:
        assert each.unwrapped.core.arrays is env.unwrapped.core.arrays
        if hasattr(each.unwrapped, "_observer"):
            assert documents_of(each) is env.unwrapped.core.arrays.documents
            actions = env.action_space.sample()
            _require_equal(each.step(actions), copy.deepcopy(env).step(actions), "the next step")


def test_a_pickle_in_another_process_brings_what_it_needs(tmp_path: Path) -> None:
    code = """import pickle, sys
for path in sys.argv[1:]:
    print(pickle.load(open(path, "rb")).unwrapped.core.arrays.topics.fingerprint)
"""
    files, wanted = [], []
    for source in (random_topics(3, n=6), "synthetic:tiny:7:3"):
        env: Any = gym.make("srd_gym:SRD-v0", topics=source)
        files.append(tmp_path / str(len(files)))
        files[-1].write_bytes(pickle.dumps(env))
        wanted.append(env.unwrapped.core.arrays.topics.fingerprint)
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True)
    assert done.stdout.split() == wanted


# Speed as a count: how many times document vectors are copied in a step

N, F, B = 50, 40, 4
TOPICS = TopicSet([judged_topic(N, seed, F) for seed in range(3)], name="counted")


class Counting(np.ndarray):
    """Counts the bytes that are copied out of it, however that is asked for."""

    copied = 0

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, np.ndarray) and not np.may_share_memory(self, source):
            Counting.copied += self.nbytes


def documents_of(env: Any) -> Any:
    """The array that an environment's observations take documents from."""
    observer = env.unwrapped._observer
    return observer.copied["documents"] if observer.shared is None else observer.shared


def counted(env: Any) -> Any:
    """The environment with its vectors under watch, in its first episode."""
    observer = env.unwrapped._observer
    if observer.shared is None:
        observer.copied["documents"] = observer.copied["documents"].view(Counting)
    else:
        observer.shared = observer.shared.view(Counting)
    env.reset(seed=0)
    return env


def copies(call: Any) -> float:
    """Number of copies of a topic's vectors that a call makes; beyond them it may hold less than two more."""
    Counting.copied = 0
    tracemalloc.start()
    result = call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result is not None
    assert most < Counting.copied + 2 * N * F * 4
    return Counting.copied / (N * F * 4)


@pytest.mark.parametrize(("env_id", "expected"), [("SRD-v0", 1), ("SRD-shared-v0", 0)])
def test_a_step_copies_the_documents_once_and_never_when_shared(env_id: str, expected: int) -> None:
    env = counted(gym.make(env_id, topics=TOPICS))
    for action in range(3):  # Gymnasium's checker looks at the first steps
        env.step(action)
    assert [copies(lambda action=action: env.step(action)) for action in range(3, 9)] == [expected] * 6
    assert copies(env.reset) == expected


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("share", [False, True])
def test_a_vector_step_copies_each_topic_once_and_none_when_shared(mode: str, share: bool) -> None:
    options: dict[str, Any] = {"autoreset_mode": mode, "share_documents": share, "horizon": 4}
    env = counted(gym.make_vec("SRD-v0", num_envs=B, topics=TOPICS, **options))
    made = [copies(lambda step=step: env.step(np.full(B, step))) for step in range(4)]
    # Where the step ends episodes, same-step autoreset also hands out their last observations.
    last = 2 * B if mode == "same_step" else B
    assert made == ([0] * 4 if share else [B, B, B, last])
