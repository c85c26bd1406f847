from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from small_topics import alone, bare_topic, random_topics, refused

from srd_gym import scoring_v0
from srd_gym.dtypes import IntArray
from srd_gym.envs import SelectionEnv, SelectionVectorEnv
from srd_gym.testing import ConformanceError, check_env, check_ranker, check_scoring_env, check_topics, check_vector_env
from srd_gym.topic import Topic, TopicSet

TOPICS = random_topics(0, n=6)


class Broken(SelectionEnv):
    def __init__(self, method: str = "", breaks: Callable[[Any], object] = lambda told: None) -> None:
        super().__init__(TOPICS, horizon=4)
        self.broken = {method: breaks}

    def told(self, method: str, told: Any) -> Any:
        self.broken.get(method, lambda told: None)(told)
        return told

    def action_masks(self) -> Any:
        return self.told("action_masks", super().action_masks())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self.told("reset", super().reset(seed=seed, options=options))

    def step(self, action: Any) -> Any:
        return tuple(self.told("step", list(super().step(action))))

    def restore(self, snapshot: Any, *, same_future: bool = False) -> None:
        super().restore(snapshot, same_future=same_future)
        self.told("restore", self.core)


def offer_all(told: Any) -> None:
    told[0]["action_mask"][:] = told[4]["action_mask"][:] = 1


def rank_more(told: Any) -> None:
    if told[2]:
        told[4]["ranking"][0] = -1


def wander(told: Any) -> None:
    told[0]["query"] += np.random.default_rng().normal()


@pytest.mark.parametrize(("method", "breaks", "message"), [
    ("action_masks", lambda mask: mask.fill(True), r"and info\['action_mask'\] differ"),
    ("reset", lambda told: told[1].pop("labelled"), "reset's info lacks 'labelled'"),
    ("reset", lambda told: told[1].update(query_id="?"), r"info\['query_id'\] is not the topic's"),
    ("reset", lambda told: told[1].update(action_mask=told[1]["action_mask"].astype(bool)), "must be int8"),
    ("reset", wander, "the same seed and actions"),
    ("step", offer_all, r"action_masks\(\) and info"),
    ("step", lambda told: told.__setitem__(1, np.float32(told[1])), "must be a Python float, got float32"),
    ("step", lambda told: told.__setitem__(1, told[1] * 2), r"but info\['return'\] is"),
    ("step", lambda told: told.__setitem__(2, np.bool_(told[2])), "terminated must be a Python bool"),
    ("step", lambda told: told.__setitem__(3, told[2]), "truncated always False"),
    ("step", lambda told: told[4].update(invalid_action=False), r"info\['invalid_action'\] is wrong"),
    ("step", rank_more, r"info\['ranking'\] is"),
    ("step", lambda told: told[4].update(wasted=9), r"info\['wasted'\] is 9"),
    ("step", lambda told: told[4].pop("wasted"), "one structure .*wasted"),
    ("step", lambda told: told[4].update(ranking=told[4]["ranking"][:2]), "one structure .*ranking"),
    ("step", lambda told: told[4].pop("measures", None), "measures belong to labelled topics"),
    ("step", lambda told: told[0]["ranking"].__setitem__(0, -2), "outside the observation space"),
    ("restore", lambda core: core.step_episode(0, 5), "restore does not lead"),
])  # fmt: skip
def test_a_broken_environment_is_found(method: str, breaks: Callable[[Any], object], message: str) -> None:
    check_env(Broken())
    refused(lambda: check_env(Broken(method, breaks)), message, ConformanceError)


@pytest.mark.parametrize(("entry", "message"), [
    ({"query_id": "q"}, "numbers only, .'query_id'. do not"),
    ({"words": np.array(["a"])}, "numbers only, .'words'. do not"),
    ({"measures": np.zeros(1)}, r"measures must have shape \[M\]"),
])  # fmt: skip
def test_infos_that_are_no_numbers_are_found(entry: dict[str, Any], message: str) -> None:
    class Told(SelectionEnv):
        def _info(self, *args: Any) -> Any:
            return super()._info(*args) | entry

    refused(lambda: check_env(Told(TOPICS, numeric_infos=True)), message, ConformanceError)


def test_environments_that_refuse_masked_documents_or_have_users_pass() -> None:
    check_env(SelectionEnv([TOPICS[0], TOPICS[1].take(range(2))], on_invalid="raise"))
    check_scoring_env(scoring_v0.parallel_env(TOPICS, reward="Clicks@3"))


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
    """Ranks candidates as they stand; functions may break a ranking of a topic, and what a batch answers."""

    def __init__(self, ranking: Callable[..., Any] | None = None, batch: Callable[[Any], Any] | None = None) -> None:
        self.ranking, self.batch, self.calls = ranking, batch, 0

    def rank(self, topic: Topic, k: int) -> IntArray:
        self.calls += 1
        ranking = np.arange(min(k, topic.n_candidates))
        return ranking if self.ranking is None else self.ranking(ranking, topic, self.calls)

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        rankings = [self.rank(topic, k) for topic in topics]
        return rankings if self.batch is None else self.batch(rankings)


def meddle(ranking: IntArray, topic: Topic, calls: int) -> IntArray:
    object.__setattr__(topic, "query_text", str(calls))
    return ranking


@pytest.mark.parametrize(("ranker", "message"), [
    (InOrder(lambda ranking, *_: ranking[:-1]), "ranked 0 documents of topic 'q0'"),
    (InOrder(lambda ranking, *_: ranking * 0), "ranks a document of topic 'q0' twice"),
    (InOrder(lambda ranking, *_: ranking + 6), "topic 'q0' does not have"),
    (InOrder(lambda ranking, *_: ranking.astype(float)), r"\[\d.0\] .* expected whole numbers"),
    (InOrder(lambda ranking, topic, calls: np.roll(ranking, calls)), "they must agree"),
    (InOrder(meddle), "after ranking"),
    (InOrder(batch=lambda rankings: [ranking[::-1] for ranking in rankings]), "they must agree"),
    (InOrder(batch=lambda rankings: rankings[1:]), "returned 1 for 2 topics"),
])  # fmt: skip
def test_a_broken_ranker_is_found(ranker: InOrder, message: str) -> None:
    topics = random_topics(1, count=2, n=6)
    check_ranker(InOrder(), topics)
    refused(lambda: check_ranker(ranker, topics), message, ConformanceError)
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
    refused(lambda: check_topics(thawed), "doc_vectors can be written to", ConformanceError)
