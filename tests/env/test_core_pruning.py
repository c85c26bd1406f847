from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from small_topics import EvenOnly, KeepAll, KeepNone, random_topics, seeds

import srd_gym  # noqa: F401 registers the environments
from srd_gym.core import SelectionCore
from srd_gym.testing import check_env, check_vector_env


@given(seeds, st.booleans())
@settings(max_examples=30, deadline=None)
def test_pruning_nothing_is_the_identity(seed: int, readmits: bool) -> None:
    topics = random_topics(seed)
    plain, kept = SelectionCore(topics, horizon=4), SelectionCore(topics, horizon=4, pruning=KeepAll(readmits))
    generator = np.random.default_rng(seed)
    for core in (plain, kept):
        core.reset(range(5))
    while not plain.done.all():
        actions = generator.integers(0, topics.max_candidates, 5)
        one, other = plain.step(actions), kept.step(actions)
        for name in ("reward", "invalid", "done"):
            assert_array_equal(getattr(one, name), getattr(other, name))
        for name in ("allowed", "ranking", "coverage", "rank"):
            assert_array_equal(getattr(plain, name), getattr(kept, name))


def test_drops_are_final() -> None:
    core = SelectionCore(random_topics(0, n=8), horizon=3, pruning=EvenOnly())
    core.reset([0])
    assert core.allowed.all()
    core.step([1])
    assert np.flatnonzero(core.allowed[0]).tolist() == [0, 2, 4, 6]
    core.step([3])
    assert core.ranking.tolist() == [[1, -1, -1]]
    assert np.flatnonzero(core.allowed[0]).tolist() == [0, 2, 4, 6]


def test_a_strategy_may_readmit_but_never_a_ranked_document() -> None:
    core = SelectionCore(random_topics(0, n=6), horizon=3, pruning=EvenOnly(at_once=True, back=True), max_candidates=7)
    core.reset([0])
    assert np.flatnonzero(core.allowed[0]).tolist() == [0, 2, 4]
    core.step([2])
    assert np.flatnonzero(core.allowed[0]).tolist() == [0, 1, 3, 4, 5]


def test_nothing_is_pruned_below_the_ranks_to_fill() -> None:
    with pytest.raises(ValueError, match=r"KeepNone keeps 0 candidates of an episode with 3 ranks to fill.*`needed`"):
        SelectionCore(random_topics(0, n=6), horizon=3, pruning=KeepNone()).reset([0])
    with pytest.raises(ValueError, match=r"KeepNone returned int8 of shape \(1, 6\); expected bool \(1, 6\)"):
        SelectionCore(random_topics(0, n=6), horizon=3, pruning=KeepNone("dtype")).reset([0])
    with pytest.raises(TypeError, match=r"pruning must be a strategy with `bind`.*got str"):
        SelectionCore(random_topics(0), pruning="KNN")  # type: ignore[arg-type]


def test_a_strategy_sees_read_only_state() -> None:
    class Meddler(KeepAll):
        def bind(self, topics: Any, horizon: int) -> Meddler:
            return self

        def after_step(self, topic: Any, ranking: Any, action: Any, allowed: Any, needed: Any) -> Any:
            for array in (topic, ranking, action, allowed, needed):
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0
            return allowed

    core = SelectionCore(random_topics(0, n=6), horizon=3, pruning=Meddler())
    core.reset([0])
    core.step([0])
    assert core.rank.tolist() == [1]


@pytest.mark.parametrize("pruning", [EvenOnly(), EvenOnly(at_once=True), EvenOnly(at_once=True, back=True)])
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_pruning_is_alike_in_the_environments(pruning: EvenOnly, mode: str) -> None:
    arguments: dict[str, Any] = {"topics": random_topics(5), "pruning": pruning, "horizon": 4}
    check_env(gym.make("SRD-v0", **arguments))
    vector = gym.make_vec("SRD-v0", num_envs=3, autoreset_mode=mode, **arguments)
    check_vector_env(vector, lambda: gym.make("SRD-v0", **arguments))
