"""Documents of sets too large to lay out: environments show the same, and hold those of a few topics."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_topics import random_topics

from srd_gym.core import arrays
from srd_gym.core.arrays import TopicArrays
from srd_gym.envs.scoring import ScoringEnv
from srd_gym.envs.scoring_vector import ScoringVectorEnv
from srd_gym.envs.selection import SelectionEnv
from srd_gym.envs.selection_vector import SelectionVectorEnv
from srd_gym.wrappers import topic_tables


def shown(made: Any) -> list[Any]:
    """Observations of two episodes, the first candidates chosen."""
    seen: list[Any] = []
    for seed in range(2):
        seen.append(made.reset(seed=seed)[0])
        for _ in range(3):
            seen.append(made.step(seen[-1]["action_mask"].argmax(axis=-1))[0])
    return seen


ENVIRONMENTS = {
    "one": SelectionEnv,
    "one, shared": partial(SelectionEnv, share_documents=True),
    "vector": partial(SelectionVectorEnv, num_envs=3),
    "vector, shared": partial(SelectionVectorEnv, num_envs=3, share_documents=True),
}


@pytest.mark.parametrize("make", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_episodes_are_the_same(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(make(random_topics(5), horizon=3))
    monkeypatch.setattr(arrays, "_LAID_OUT", 0)
    env = make(random_topics(5), horizon=3)
    for one, other in zip(shown(env), expected, strict=True):
        assert one.keys() == other.keys()
        for key, value in one.items():
            assert_array_equal(value, other[key])
            assert value.dtype == other[key].dtype
    assert "documents" not in env.core.arrays.__dict__


def test_the_scoring_task_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for bytes_at_once in (arrays._LAID_OUT, 0):
        monkeypatch.setattr(arrays, "_LAID_OUT", bytes_at_once)
        topics = random_topics(5)
        alone, several = ScoringEnv(topics), ScoringVectorEnv(topics, num_envs=3)
        made.append((alone.reset(seed=1)[0], several.reset(seed=1)[0]))
        assert ("documents" in several.core.arrays.__dict__) == (bytes_at_once > 0)
    (one, many), (same, as_many) = made
    for agent, seen in one.items():
        for key, value in seen.items():
            assert_array_equal(value, same[agent][key])
    for key, value in many.items():
        assert_array_equal(value, as_many[key])


def test_what_is_not_laid_out_is_read_only_and_tables_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_LAID_OUT", 0)
    topics = random_topics(4)
    made = TopicArrays.of(topics)
    rows = made.documents_by_topic[2]
    with pytest.raises(ValueError, match="read-only"):
        rows[0, 0] = 1
    assert_array_equal(made.documents_by_topic.take(np.array([2, 0]))[0], rows)
    assert_array_equal(topic_tables(topics)["documents"][2], rows)
    assert made.documents_by_topic is made.documents, "laid out once, it serves everybody"
