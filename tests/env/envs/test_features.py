"""`observation="features"`: bounded numbers for each candidate, whichever way an episode came to where it stands."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from small_topics import alone, bare_topic, random_topics, refused, seeds, small_topic

from srd_gym import Topic, TopicSet
from srd_gym.envs import FEATURES, SelectionEnv, SelectionVectorEnv
from srd_gym.pruning import KNN

OPTIONS: dict[str, Any] = {"observation": "features"}


def by_hand(topic: Topic, ranked: list[int], n: int) -> NDArray[np.float64]:
    """[N, C], the formulas of the class, one candidate after the other."""
    table = np.zeros((n, len(FEATURES)))
    vectors = np.asarray(topic.doc_vectors, np.float64)

    def cosine(one: NDArray[Any], other: NDArray[Any]) -> float:
        lengths = np.linalg.norm(one) * np.linalg.norm(other)
        return float(one @ other / lengths) if lengths else 0.0

    def standardised(x: float, values: list[float]) -> float:
        spread = float(np.std(values)) if values else 0.0
        return float(np.clip((x - np.mean(values)) / (3 * spread), -1, 1)) if spread > 1e-6 else 0.0

    every = range(topic.n_candidates)
    pairs = [cosine(vectors[i], vectors[j]) for i in every for j in every if i != j]
    query = np.zeros(vectors.shape[1]) if topic.query_vector is None else np.asarray(topic.query_vector, np.float64)
    near = [cosine(vector, query) for vector in vectors]
    for i in every:
        row = dict.fromkeys(FEATURES, 0.0)
        row["query_cosine"] = standardised(near[i], near)
        if topic.retrieval_scores is not None:
            scores = np.asarray(topic.retrieval_scores, np.float64)
            row["retrieval_score"] = standardised(scores[i], scores.tolist())
            row["reciprocal_rank"] = 1 / (1 + i)
        if ranked:
            alike = [standardised(cosine(vectors[i], vectors[j]) if i != j else 1.0, pairs) for j in ranked]
            row["largest_cosine"], row["mean_cosine"] = max(alike), sum(alike) / len(alike)
        row |= {"ranked": float(i in ranked), "present": 1.0}
        table[i] = list(row.values())
    return table


def columns(observation: dict[str, NDArray[Any]]) -> NDArray[Any]:
    return observation["features"].reshape(-1, len(FEATURES))


@given(seeds, st.integers(1, 6))
def test_features_are_their_formulas(seed: int, steps: int) -> None:
    topics = random_topics(seed)
    env = SelectionEnv(topics, max_candidates=topics.max_candidates + 2, **OPTIONS)
    generator = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    topic = topics[topics.position(info["query_id"])]
    ranked: list[int] = []
    for step in range(steps):
        expected = by_hand(topic, ranked, topics.max_candidates + 2)
        assert_allclose(columns(observation), expected, atol=2e-5)
        assert observation["progress"] == np.float32(step / min(10, topic.n_candidates))
        if step == min(10, topic.n_candidates):
            break
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        observation, *_, info = env.step(action)
        ranked.append(action)


@given(seeds)
def test_after_any_resets_and_restores_they_are_those_made_from_scratch(seed: int) -> None:
    topics, generator = random_topics(seed), np.random.default_rng(seed)
    vector = SelectionVectorEnv(topics, num_envs=3, autoreset_mode="disabled", **OPTIONS)
    observation, _ = vector.reset(seed=seed)
    snapshot = vector.snapshot()
    for _ in range(12):
        done = vector.core.done
        move = generator.integers(4)
        if done.any() or move == 0:
            mask = done | (generator.random(3) < 0.4)
            mask[0] |= not mask.any()
            # Often the same topics again, which rankings alone tell apart.
            asked = generator.choice(topics.query_ids[:2], 3).tolist()
            observation, _ = vector.reset(options={"reset_mask": mask, "query_ids": asked})
        elif move == 1:
            vector.restore(snapshot)
            if vector.core.done.any():
                continue
            observation, *_ = vector.step(vector.action_masks().argmax(axis=1))
        else:
            snapshot = vector.snapshot()
            observation, *_ = vector.step(generator.integers(0, topics.max_candidates, 3))  # masked ones too
        scratch = pickle.loads(pickle.dumps(vector))._observer.observe_all()
        for key, part in scratch.items():
            assert_array_equal(part, observation[key])
        for episode in range(3):
            single = copy.deepcopy(vector)._observer.observe(episode)
            assert_array_equal(single["features"], observation["features"][episode])


def test_extremes_stay_within_the_bounds() -> None:
    vectors = np.array([[3e38, 0], [3e38, 3e38], [0, 0], [-1e-30, 0], [1, 1]], np.float32)
    far = bare_topic(5, "far", doc_vectors=vectors, query_vector=[2e38, -3e38], retrieval_scores=[1e30, 0, 0, 0, 0])
    alike = bare_topic(2, "alike", doc_vectors=np.ones((2, 2)), retrieval_scores=[7, 7])
    env = SelectionEnv(TopicSet([far, alike], name="extremes"), **OPTIONS)
    for query_id in ("far", "alike"):
        observation, info = env.reset(options={"query_id": query_id})
        done = False
        while not done:
            assert env.observation_space.contains(observation)
            observation, _, done, _, info = env.step(info["action_mask"].argmax())
        assert env.observation_space.contains(observation)
    assert not columns(observation)[:, FEATURES.index("retrieval_score")].any()


def test_topics_without_vectors_are_refused() -> None:
    without = alone(small_topic(), "ids")
    for make in (SelectionEnv, SelectionVectorEnv):
        refused(lambda make=make: make(without, **OPTIONS), "document vectors.*observation='features'")


@pytest.mark.parametrize("env_id", ["SRD-v0", "SRD-Click-v0"])
def test_checkers_of_other_libraries_are_silent(env_id: str) -> None:
    from gymnasium.utils.env_checker import check_env as by_gymnasium

    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings(action="error"):
        env = gym.make(env_id, topics="synthetic:serp:8", on_invalid="next", pruning=KNN(0.1), **OPTIONS)
        sb3.check_env(env.unwrapped)
        by_gymnasium(env.unwrapped, skip_render_check=True)
