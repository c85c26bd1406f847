"""The checkers find what is broken: each law is broken once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from small_topics import alone, bare_topic, random_topics, refused

from srd_gym.envs import SelectionEnv, SelectionVectorEnv
from srd_gym.protocols import IntArray
from srd_gym.testing import ConformanceError, check_env, check_ranker, check_topics, check_vector_env
from srd_gym.topic import Topic, TopicSet

TOPICS = random_topics(0, n=6)


class Broken(SelectionEnv):
    """Breaks one law."""

    def __init__(self, law: str) -> None:
        super().__init__(TOPICS, horizon=4)
        self.law = law

    def action_masks(self) -> Any:
        return super().action_masks() | (self.law == "masks differ")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        observation, info = super().reset(seed=seed, options=options)
        if self.law == "no label flag":
            del info["labelled"]
        if self.law == "foreign query":
            info["query_id"] = "?"
        if self.law == "bool mask":
            info["action_mask"] = info["action_mask"].astype(bool)
        if self.law == "no seed":
            observation["query"] += np.random.default_rng().normal()
        return observation, info

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        if self.law == "numpy reward":
            reward = np.float32(reward)
        if self.law == "doubled reward":
            reward *= 2
        if self.law == "numpy end":
            terminated = np.bool_(terminated)
        if self.law == "truncates":
            truncated = terminated
        if self.law == "hides invalid":
            info["invalid_action"] = False
        if self.law == "foreign ranking" and terminated:
            info["ranking"] = (*info["ranking"], 0)
        if self.law == "no measures":
            info.pop("measures", None)
        if self.law == "out of space":
            observation["ranking"][0] = -2
        if self.law == "offers ranked":
            observation["action_mask"][:] = info["action_mask"][:] = 1
        return observation, reward, terminated, truncated, info

    def restore(self, snapshot: Any) -> None:
        super().restore(snapshot)
        if self.law == "forgets":
            self.core.step_episode(0, 5)


@pytest.mark.parametrize(("law", "message"), [
    ("masks differ", r"action_masks\(\) and info\['action_mask'\] differ"),
    ("offers ranked", r"action_masks\(\) and info"),
    ("no label flag", "reset's info lacks 'labelled'"),
    ("foreign query", r"info\['query_id'\] is not the topic's"),
    ("bool mask", "must be int8"),
    ("no seed", "the same seed and actions"),
    ("numpy reward", "must be a Python float, got float32"),
    ("doubled reward", r"the rewards add up to .*, but info\['return'\] is"),
    ("numpy end", "terminated must be a Python bool"),
    ("truncates", "truncated always False"),
    ("hides invalid", r"info\['invalid_action'\] is wrong"),
    ("foreign ranking", r"info\['ranking'\] is"),
    ("no measures", "measures belong to labelled topics"),
    ("out of space", "step gives an observation outside the observation space"),
    ("forgets", "restore does not lead to where the snapshot was taken"),
])  # fmt: skip
def test_a_broken_environment_is_found(law: str, message: str) -> None:
    check_env(Broken("none"))
    refused(lambda: check_env(Broken(law)), message, ConformanceError)


def test_other_environments_and_a_vector_environment_that_differs_are_found() -> None:
    def single() -> SelectionEnv:
        return SelectionEnv(TOPICS, horizon=4)

    def check(seed: int = 0, **changes: Any) -> None:
        check_vector_env(SelectionVectorEnv(TOPICS, num_envs=2, **{"horizon": 4, **changes}), single, seed=seed)

    check()
    refused(lambda: check(horizon=3), "single_observation_space differs", ConformanceError)
    refused(lambda: check(1, reward="P_IA"), r"step 0\[1\]", ConformanceError)
    refused(lambda: check(measures=["NRBP"]), r"step 3\[4\], measures: keys .*NRBP", ConformanceError)
    refused(lambda: check_env(gym.make("CartPole-v1")), "must be a SelectionEnv, got CartPoleEnv", ConformanceError)


class InOrder:
    """Ranks candidates as they stand; `law` is the one to break."""

    def __init__(self, law: str = "none") -> None:
        self.law = law
        self.calls = 0

    def rank(self, topic: Topic, k: int) -> IntArray:
        self.calls += 1
        ranking = np.arange(min(k, topic.n_candidates))
        if self.law == "meddles":
            object.__setattr__(topic, "query_text", str(self.calls))
        broken = {
            "short": ranking[:-1],
            "twice": ranking * 0,
            "outside": ranking + topic.n_candidates,
            "scores": ranking.astype(float),
            "moody": np.roll(ranking, self.calls),
        }
        return broken.get(self.law, ranking)

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        rankings = [self.rank(topic, k) for topic in topics]
        if self.law == "batch":
            return [ranking[::-1] for ranking in rankings]
        return rankings[1:] if self.law == "drops" else rankings


@pytest.mark.parametrize(("law", "message"), [
    ("short", r"k=1: expected 1 documents, got \[\]"),
    ("twice", "ranks a document of topic 'q0' twice"),
    ("outside", "that topic 'q0' does not have; they are 0 to 5"),
    ("scores", r"returned float64 of shape \(1,\) .* expected whole numbers"),
    ("moody", "they must agree"),
    ("meddles", "after ranking"),
    ("batch", "they must agree"),
    ("drops", "rank_batch gave 1 rankings for 2 topics"),
])  # fmt: skip
def test_a_broken_ranker_is_found(law: str, message: str) -> None:
    topics = random_topics(1, count=2, n=6)
    check_ranker(InOrder(), topics)
    refused(lambda: check_ranker(InOrder(law), topics), message, ConformanceError)
    refused(lambda: check_ranker(object(), TOPICS), r"object lacks rank\(topic, k\)", ConformanceError)
    refused(lambda: check_ranker(InOrder(), []), "at least one topic")


def test_sources_of_topics() -> None:
    check_topics(TOPICS)
    check_topics(random_topics(2, unlabelled=True))
    check_topics("synthetic:tiny:3")
    check_topics(alone(bare_topic()))
    refused(lambda: check_topics(TopicSet([], name="none")), "'none' is empty", ConformanceError)
    thawed = random_topics(2)
    object.__setattr__(thawed[1], "doc_vectors", np.array(thawed[1].doc_vectors))
    refused(lambda: check_topics(thawed), "topic 'q1': doc_vectors can be written to", ConformanceError)
