"""`scoring_v0.vector_env` is B parallel environments, and says what it does not take."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from small_topics import COUNTED_MODES, random_topics, refused, seeds

from srd_gym import Clicks, TopicSet, scoring_v0
from srd_gym.testing import _require_equal, check_vector_env

MODES = list(AutoresetMode)
arguments = st.fixed_dictionaries(
    {
        "reward": st.sampled_from(
            ["alpha_nDCG@10", ("ERR_IA@2", "alpha_DCG@3"), Clicks(), Clicks(boredom=0.5, reveal_intent=True)]
        ),
        "measures": st.sampled_from([(), ("NRBP", "StRecall@2")]),
        "n_scores": st.sampled_from([2, 30]),
        "ties": st.sampled_from(["retrieval", "random"]),
        "observation": st.sampled_from(["full", "flat"]),
    }
)


class Joint(gym.Env[Any, Any]):
    """A parallel environment as one agent that scores all documents: what its agents are told, along an axis."""

    def __init__(self, topics: TopicSet, **options: Any) -> None:
        self.env = scoring_v0.parallel_env(topics, **options)
        n, width = self.env.core.arrays.documents.shape[1:]
        box = spaces.Box(-np.inf, np.inf, (n, 2 * width), np.float32)
        if options["observation"] == "full":
            agent = self.env.observation_space("doc_0")
            shapes = {"query": agent["query"], "documents": agent["documents"]}
            mask = spaces.Box(0, 1, (n, options["n_scores"]), np.int8)
            self.observation_space: Any = spaces.Dict({**shapes, "action_mask": mask})
        else:
            self.observation_space = box
        self.action_space = spaces.MultiDiscrete([options["n_scores"]] * n)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self._told(*self.env.reset(seed=seed, options=options))

    def step(self, scores: Any) -> Any:
        agents = self.env.possible_agents
        seen, rewards, ended, _, infos = self.env.step(dict(zip(agents, scores.tolist(), strict=True)))
        seen, info = self._told(seen, infos)
        return seen, rewards["doc_0"], ended["doc_0"], False, info

    def _told(self, seen: Any, infos: Any) -> Any:
        if isinstance(self.observation_space, spaces.Dict):
            masks = np.stack([each["action_mask"] for each in seen.values()])
            documents = np.stack([each["document"] for each in seen.values()])
            assert_array_equal(documents, seen["doc_0"]["documents"])
            told: Any = {"query": seen["doc_0"]["query"].copy(), "documents": documents, "action_mask": masks}
        else:
            told = np.stack(list(seen.values()))
        info = {name: infos["doc_0"][name] for name in ("topic", "intent") if name in infos["doc_0"]}
        for name in ("padding", "rank", "click"):
            if name in infos["doc_0"]:
                info[name] = np.array([each[name] for each in infos.values()])
        measures = self.env.measures or dict.fromkeys(self.env.core.measure_names, 0.0)
        assert tuple(measures) == self.env.core.measure_names
        info["measures"] = np.array(list(measures.values()))
        return told, info


@pytest.mark.parametrize("mode", MODES)
@given(seed=seeds, how=arguments, episodes=st.integers(1, 5), unlabelled=st.booleans())
@settings(max_examples=12)
def test_it_is_so_many_parallel_environments_bit_for_bit(
    mode: AutoresetMode, seed: int, how: dict[str, Any], episodes: int, unlabelled: bool
) -> None:
    topics = random_topics(seed, unlabelled=unlabelled)
    vector = scoring_v0.vector_env(topics, num_envs=episodes, autoreset_mode=mode, **how)
    check_vector_env(vector, lambda: Joint(topics, **how), seed=seed, steps=14)


def test_some_begin_anew_and_topics_are_asked_for() -> None:
    topics = random_topics(3, n=5)
    how: dict[str, Any] = {"observation": "full", "n_scores": 4, "ties": "random"}
    vector = scoring_v0.vector_env(topics, num_envs=3, autoreset_mode="next_step", **how)
    sync: Any = SyncVectorEnv([lambda: Joint(topics, **how)] * 3)
    scores = np.ones((3, topics.max_candidates), np.int64)
    mask = np.array([True, False, True])
    both = (vector, sync)
    for env in both:
        env.reset(seed=4)
        env.step(scores)
    _require_equal(*(env.step(scores * 9) for env in both), "a step that begins anew looks at no scores")
    for options in ({"query_id": "q2"}, None):
        _require_equal(*(env.reset(options=options) for env in both), "reset")
    for env in both:
        env.step(scores)
    seen, infos = vector.reset(options={"reset_mask": mask, "query_ids": ["q1", "q2", None]})
    assert topics.query_ids[infos["topic"][0]] == "q1"
    assert infos["_topic"].tolist() == mask.tolist()
    assert (vector.ranking[mask] == -1).all()
    assert (vector.ranking[~mask] >= 0).any(axis=1).all(), "the others stay ended"
    _, rewards, ended, _, infos = vector.step(scores)
    assert ended.tolist() == mask.tolist()
    assert rewards[1] == 0.0
    assert seen["documents"].shape == vector.observation_space["documents"].shape


def test_measures_are_told_at_the_end() -> None:
    vector = scoring_v0.vector_env("synthetic:tiny:5", num_envs=2, n_scores=5, measures=("StRecall@3",))
    assert vector.core.measure_names == ("alpha_nDCG@10", "StRecall@3")
    _, told = vector.reset(seed=0)
    _, rewards, _, _, infos = vector.step(vector.action_space.sample())
    assert not np.any([told["measures"], infos["measures"]]), "of topics that wait for scores"
    assert_array_equal(infos["final_info"]["measures"][:, 0], rewards)


@pytest.mark.parametrize("mode", COUNTED_MODES)
def test_gymnasiums_statistics_are_the_rewards(mode: AutoresetMode) -> None:
    vector = RecordEpisodeStatistics(scoring_v0.vector_env("synthetic:tiny:5", num_envs=3, autoreset_mode=mode))
    vector.reset(seed=0)
    for _ in range(4):
        _, rewards, ended, _, infos = vector.step(vector.action_space.sample())
        told = infos.get("final_info", infos).get("episode", infos.get("episode"))
        assert ("episode" in infos) == ended.any()
        if ended.any():
            assert_array_equal(told["r"], rewards)
            assert (told["l"] == 1).all()


def test_misuse_is_refused() -> None:
    topics = random_topics(0, n=4)
    n = topics.max_candidates
    vector = scoring_v0.vector_env(topics, num_envs=2, n_scores=5, autoreset_mode="disabled")
    refused(lambda: vector.step(np.zeros((2, n), int)), r"\[0, 1\] have ended or were never", ResetNeeded)
    vector.reset(seed=0)
    refused(lambda: vector.step(np.zeros((2, n))), "scores must be integers from 0 to 4, got", TypeError)
    refused(lambda: vector.step(np.full((2, n), 5)), "score 5 of candidate 0 in episode 0")
    refused(lambda: vector.step(np.full((2, n), -1)), "score -1 of candidate 0")
    for shape in ((3, n), (2, n - 1), (2,), (2, n, 1)):
        refused(lambda shape=shape: vector.step(np.zeros(shape, int)), rf"expected scores of shape \(2, {n}\)")
    assert not vector._done.any(), "a step that raises leaves the episodes as they were"
    vector.step(np.zeros((2, n), int))
    refused(lambda: vector.step(np.zeros((2, n), int)), "reset them first", ResetNeeded)
    refused(lambda: vector.reset(options={"reset_masks": 1}), r"Did you mean reset_mask\?")
    for options, message in (
        ({"num_envs": 0}, "num_envs must be at least 1, got 0"),
        ({"autoreset_mode": "smae_step"}, "'smae_step'. Did you mean same_step"),
        ({"observation": "local"}, "unknown observation 'local'"),
    ):
        refused(lambda options=options: scoring_v0.vector_env(topics, **options), message)
