"""Rewards with two sides: each telescopes to its measure, and a weighted sum is D#-nDCG."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from small_topics import bare_topic, random_topics, refused, seeds, small_topic

from srd_gym import TopicSet
from srd_gym.envs import SelectionEnv
from srd_gym.testing import check_env
from srd_gym.wrappers import FlatObservation, VectorReward

PAIRS = [("D_nDCG", "StRecall"), ("P_IA", "alpha_nDCG"), ("ERR_IA", "NRBP@3"), ("alpha_DCG", "VRisk_reduction")]


def played(env: Any, seed: int) -> tuple[list[Any], dict[str, Any]]:
    """The rewards of a random episode, masked choices included, and its last info."""
    generator, rewards, ended = np.random.default_rng(seed), [], False
    env.reset(seed=seed)
    while not ended:
        _, reward, ended, _, info = env.step(int(generator.integers(env.action_space.n)))
        rewards.append(reward)
    return rewards, info


@given(seeds, st.sampled_from(PAIRS), st.sampled_from([3, 10]), st.sampled_from(["skip", "next"]))
def test_each_side_is_the_reward_that_it_names(seed: int, pair: tuple[str, str], horizon: int, invalid: Any) -> None:
    options: dict[str, Any] = {"topics": random_topics(seed), "horizon": horizon, "on_invalid": invalid}
    rewards, _ = played(VectorReward(SelectionEnv(**options), pair), seed)
    assert all(reward.shape == (2,) and reward.dtype == np.float64 for reward in rewards)
    for place, name in enumerate(pair):
        alone, _ = played(SelectionEnv(reward=name, **options), seed)
        assert [reward[place] for reward in rewards] == alone


@given(seeds, st.sampled_from([0.0, 0.3, 1.0]))
def test_the_weighted_sum_of_the_default_pair_is_d_sharp(seed: int, gamma: float) -> None:
    topics = random_topics(seed)
    env = VectorReward(SelectionEnv(topics), weights=(1 - gamma, gamma))
    rewards, info = played(env, seed)
    expected, _ = played(SelectionEnv(topics, reward=f"Dsharp_nDCG(gamma={gamma})"), seed)
    assert all(type(reward) is float for reward in rewards)
    assert_allclose(rewards, expected, atol=1e-12)
    assert info["vector_reward"].shape == (2,)


def test_the_id_makes_it_and_speaks_the_protocol_of_mo_gymnasium() -> None:
    env = gym.make("srd_gym:SRD-MO-v0", topics="synthetic:tiny:5", horizon=4)
    assert env.unwrapped.reward_space.shape == (2,)  # type: ignore[attr-defined]
    assert env.get_wrapper_attr("reward_names") == ("D_nDCG@4", "StRecall@4")
    again = gym.make(env.spec)
    assert str(again) == str(env)
    total, measures = np.zeros(2), ("D_nDCG", "StRecall")
    rewards, _ = played(env, 1)
    for reward in rewards:
        assert env.unwrapped.reward_space.contains(reward)  # type: ignore[attr-defined]
        total += reward
    _, info = played(SelectionEnv("synthetic:tiny:5", horizon=4, measures=measures), 1)
    assert_allclose(total, [info["measures"][f"{name}@4"] for name in measures], rtol=1e-12)


def test_ideals_are_those_of_the_environment() -> None:
    more: Any = {"pool": [[1, 0], [0, 1], [1, 1]], "pool_ids": ("a", "b", "c"), "doc_vectors": np.eye(2)}
    topics = TopicSet([small_topic(**more)], name="of a larger pool")
    for normalizer in ("pool", "candidates"):
        env = gym.make("srd_gym:SRD-MO-v0", topics=topics, normalizer=normalizer, measures=["D_nDCG", "StRecall"])
        rewards, info = played(env, 0)
        wanted = [info["measures"][f"{name}@10"] for name in ("D_nDCG", "StRecall")]
        assert_allclose(np.sum(rewards, axis=0), wanted, rtol=1e-12)


def test_a_restored_episode_goes_on_as_it_would_have() -> None:
    env: Any = VectorReward(SelectionEnv(random_topics(3, n=6)))
    env.reset(seed=0)
    env.step(2)
    here = env.unwrapped.snapshot()
    first = [env.step(action)[1].tolist() for action in (0, 4)]
    copied = pickle.loads(pickle.dumps(env))
    for each in (env, copied):
        each.unwrapped.restore(here)
        assert [each.step(action)[1].tolist() for action in (0, 4)] == first


def test_it_stands_under_other_wrappers_and_keeps_the_laws() -> None:
    scalar = VectorReward(gym.make("SRD-v0", topics=random_topics(2), reward="Dsharp_nDCG"), weights=(0.5, 0.5))
    check_env(FlatObservation(scalar))
    new = TopicSet([bare_topic(2, "new", doc_ids=("n1", "n2"), doc_vectors=np.ones((2, 2)))], name="unlabelled")
    rewards, _ = played(VectorReward(SelectionEnv(new)), 0)
    assert not np.any(rewards)


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"rewards": ("D_nDCG", "StRecal")}, ValueError, "measure 'StRecal'. Did you mean StRecall"),
    ({"rewards": ("StRecall", "StRecall@10")}, ValueError, "must be different measures"),
    ({"rewards": (1, 2)}, TypeError, "measure"),
    ({"weights": (1,)}, ValueError, r"each reward: expected .* shape \(2,\)"),
    ({"weights": (1, np.nan)}, ValueError, "each reward: expected finite numbers"),
])  # fmt: skip
def test_bad_arguments_are_answered(arguments: dict[str, Any], error: Any, message: str) -> None:
    refused(lambda: VectorReward(SelectionEnv(random_topics(0)), **arguments), message, error)


def test_other_environments_are_refused() -> None:
    refused(lambda: VectorReward(gym.make("CartPole-v1")), "goes around SRD-v0, got CartPoleEnv", TypeError)  # type: ignore[arg-type]
