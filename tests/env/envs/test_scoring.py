from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given
from hypothesis import strategies as st
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test
from pettingzoo.utils.conversions import aec_to_parallel
from small_topics import alone, refused

from srd_gym import scoring_v0
from srd_gym.core import ScoringCore
from srd_gym.data.synthetic import generate
from srd_gym.measures import evaluate, parse_measure
from srd_gym.testing import ConformanceError, check_scoring_env

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pettingzoo")


TINY = generate("tiny", n_topics=6, seed=1)
TOPICS = TINY.replace(topic.take(range(3 + i % 4)) for i, topic in enumerate(TINY))
"""Topics of 3, 4, 5, ... candidates in one set."""


@pytest.mark.parametrize("observation", ["full", "local", "flat"])
@pytest.mark.parametrize("agents", ["all", "present"])
@pytest.mark.parametrize("ties", ["retrieval", "random"])
def test_pettingzoo_accepts_the_environment_and_the_laws_hold(observation: str, agents: str, ties: str) -> None:
    def make() -> scoring_v0.parallel_env:
        return scoring_v0.parallel_env(TOPICS, n_scores=5, observation=observation, agents=agents, ties=ties)

    check_scoring_env(make(), episodes=8)
    for _ in range(5):  # episodes last one step: many runs look at many topics
        parallel_seed_test(make, num_cycles=5)
    one_by_one = scoring_v0.env(TOPICS, n_scores=5, observation=observation, agents=agents, ties=ties)
    api_test(one_by_one, num_cycles=10)
    parallel_api_test(aec_to_parallel(one_by_one), num_cycles=10)


@pytest.mark.parametrize("agents", ["all", "present"])
def test_one_by_one_documents_come_to_what_they_come_to_at_once(agents: str) -> None:
    options: dict[str, Any] = {"reward": "ERR_IA@5", "n_scores": 4, "agents": agents, "measures": ("StRecall@2",)}
    kinds = (scoring_v0.parallel_env, scoring_v0.env)
    parameters = [inspect.signature(kind).parameters.keys() for kind in kinds]
    assert parameters[0] == parameters[1]
    at_once, one_by_one = (kind(TOPICS, **options) for kind in kinds)
    for seed in range(6):
        at_once.reset(seed=seed)
        one_by_one.reset(seed=seed)
        scores = {agent: (7 * i + seed) % 4 for i, agent in enumerate(at_once.agents)}
        _, rewards, _, _, infos = at_once.step(scores)
        for agent in one_by_one.agent_iter():
            _, reward, ended, _, info = one_by_one.last()
            if ended:
                assert (reward, info) == (rewards[agent], infos[agent])
            one_by_one.step(None if ended else scores[agent])
        assert one_by_one.unwrapped.ranking == at_once.ranking
        assert one_by_one.unwrapped.measures == at_once.measures
    refused(lambda: scoring_v0.env(TOPICS, n_score=3), "unexpected keyword argument 'n_score'", TypeError)


def test_infos_are_numbers_and_the_environment_names_the_query() -> None:
    env = scoring_v0.parallel_env(TOPICS)
    for _ in TOPICS:
        told = list(env.reset()[1].values())
        told += env.step(dict.fromkeys(env.agents, 1))[-1].values()
        assert all(TOPICS[info["topic"]].query_id == env.query_id for info in told)
        assert all(info.keys() == {"topic", "padding", "rank"} for info in told)


def test_many_documents_obey_the_laws_and_embedded_topics_are_the_default() -> None:
    check_scoring_env(scoring_v0.parallel_env(generate("web", n_topics=2, seed=0)))
    assert len(scoring_v0.parallel_env().possible_agents) == 15


def test_the_checker_finds_broken_laws() -> None:
    class Unequal(scoring_v0.parallel_env):
        def step(self, actions):
            seen, rewards, *rest = super().step(actions)
            return seen, {agent: reward + i for i, (agent, reward) in enumerate(rewards.items())}, *rest

    class Unflagged(scoring_v0.parallel_env):
        wrong = ("padding", False)

        def _infos(self):
            return {agent: info | dict([self.wrong]) for agent, info in super()._infos().items()}

    class Named(Unflagged):
        wrong = ("query_id", "?")

    class Unsorted(scoring_v0.parallel_env):
        def step(self, actions):
            told = super().step(actions)
            self.ranking = self.ranking[::-1]
            return told

    broken = {
        Unequal: "have the same reward",
        Unflagged: "padding",
        Named: "numbers only, .'query_id'. do not",
        Unsorted: "sorted by score",
    }
    for kind, message in broken.items():
        refused(lambda kind=kind: check_scoring_env(kind(TOPICS), episodes=8), message, ConformanceError)


def test_observations_say_the_same_in_every_form() -> None:
    full, local, flat = (scoring_v0.parallel_env(TOPICS, observation=form) for form in ("full", "local", "flat"))
    seen, without, vectors = (env.reset(seed=0)[0] for env in (full, local, flat))
    topic = TOPICS[TOPICS.position(full.query_id)]
    padded = np.zeros((len(full.agents) - topic.n_candidates, TOPICS.vector_width), np.float32)
    np.testing.assert_array_equal(full.state(), np.vstack([topic.query_vector, topic.doc_vectors, padded]).ravel())
    for i, agent in enumerate(full.agents):
        document = topic.doc_vectors[i] if i < topic.n_candidates else np.zeros(TOPICS.vector_width)
        assert seen[agent].keys() - without[agent].keys() == {"documents"}
        for part in (seen[agent], without[agent]):
            np.testing.assert_array_equal(part["query"], topic.query_vector)
            np.testing.assert_array_equal(part["document"], document)
        np.testing.assert_array_equal(seen[agent]["documents"][i], document)
        np.testing.assert_array_equal(vectors[agent], [*topic.query_vector, *document])
    shared = seen[full.agents[0]]["documents"]
    assert all(seen[agent]["documents"] is shared for agent in full.agents), "by reference"
    assert np.shares_memory(shared, full.core.arrays.documents)
    with pytest.raises(ValueError, match="read-only"):
        shared[0] = 1.0


@given(data=st.data())
def test_environment_equals_batched_twin_equals_an_evaluation(data: st.DataObject) -> None:
    rewards = [("alpha_nDCG@10",), ("StRecall@2",), ("alpha_nDCG@3", "ERR_IA@5"), ("ERR_IA",)]
    reward = data.draw(st.sampled_from(rewards))
    env = scoring_v0.parallel_env(TOPICS, reward=reward, measures=("alpha_DCG@10", "ERR_IA@5"), n_scores=4)
    query_id = data.draw(st.sampled_from(TOPICS.query_ids))
    env.reset(seed=0, options={"query_id": query_id})
    position = TOPICS.position(query_id)
    n = TOPICS[position].n_candidates
    scores = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    _, paid, _, _, infos = env.step({f"doc_{i}": score for i, score in enumerate(scores)})

    order = sorted(range(n), key=lambda i: (-scores[i], i))
    assert env.ranking == tuple(order)
    assert [infos[f"doc_{i}"]["rank"] for i in order] == list(range(n))
    padded = np.array([scores + [0] * (len(env.possible_agents) - n)])
    twin = env.core.step([position], padded)
    assert set(paid.values()) == {twin.item()}
    names = [parse_measure(name).at(TOPICS.max_candidates) for name in reward]
    plain = [name.plain() for name in names]
    assert list(env.measures) == list(dict.fromkeys([*map(str, names + plain), "alpha_DCG@10", "ERR_IA@5"]))
    assert env.core.reward_name == " + ".join(map(str, plain))
    found = evaluate(TOPICS, {query_id: order}, list(env.measures)).per_topic[query_id]
    assert env.measures == pytest.approx(found, abs=1e-12)
    assert twin.item() == pytest.approx(sum(found[str(name)] for name in plain), abs=1e-12)


def test_padding_changes_nothing() -> None:
    wide = ScoringCore(TOPICS, n_scores=6, max_candidates=20)
    narrow = ScoringCore(TOPICS, n_scores=6)
    generator = np.random.default_rng(0)
    topic = np.arange(len(TOPICS))
    scores = generator.integers(0, 6, (len(TOPICS), TOPICS.max_candidates))
    filled = generator.integers(-9, 99, (len(TOPICS), 20))  # scores of padding may be anything
    filled[:, : scores.shape[1]] = scores
    assert np.array_equal(narrow.step(topic, scores), wide.step(topic, filled))
    assert np.array_equal(narrow.rank(topic, scores), wide.rank(topic, filled)[:, : scores.shape[1]])


def test_permuting_documents_permutes_the_ranking() -> None:
    topic = generate("tiny", n_topics=1, seed=4)[0]
    generator = np.random.default_rng(1)
    order = generator.permutation(topic.n_candidates)
    scores = generator.permutation(topic.n_candidates)  # no ties: their rule is the candidate order
    one, two = (ScoringCore(alone(each), n_scores=50) for each in (topic, topic.take(order)))
    assert np.array_equal(one.rank([0], [scores])[0], order[two.rank([0], [scores[order]])[0]])
    assert one.step([0], [scores]) == pytest.approx(two.step([0], [scores[order]]))


def test_random_ties_are_fair_and_seeded() -> None:
    core = ScoringCore(TOPICS, n_scores=3, ties="random")
    topic = np.zeros(4000, np.int64)
    scores = np.zeros((4000, TOPICS.max_candidates), np.int64)
    first = core.rank(topic, scores, np.random.default_rng(5))
    assert np.array_equal(first, core.rank(topic, scores, np.random.default_rng(5)))
    shares = np.bincount(first[:, 0], minlength=3)[:3] / len(first)
    assert np.allclose(shares, 1 / 3, atol=0.03)


def test_an_unlabelled_topic_pays_nothing() -> None:
    bare = TOPICS.replace(replace(topic, judgments=None) for topic in TOPICS)
    env = scoring_v0.parallel_env(bare, render_mode="ansi")
    env.reset(seed=0)
    _, rewards, *_ = env.step(dict.fromkeys(env.agents, 1))
    assert set(rewards.values()) == {0.0}
    assert env.measures == {}
    assert "no judgments" in (env.render() or "")


def test_render_shows_scores_and_coverage() -> None:
    env = scoring_v0.parallel_env(TOPICS, render_mode="ansi")
    env.reset(options={"query_id": TOPICS.query_ids[0]})
    assert "have not scored themselves yet" in (env.render() or "")
    env.step({"doc_0": 1, "doc_1": 29, "doc_2": 7})
    lines = (env.render() or "").splitlines()
    assert "score  29" in lines[1]
    assert TOPICS[0].doc_ids[1] in lines[1]
    assert float(lines[1].split("+")[1].split()[0]) > 0
    assert lines[-1].endswith(f"  return alpha_nDCG@10 = {env.measures['alpha_nDCG@10']:.4f}")


def test_wrong_actions_scores_and_reset_options_are_answered() -> None:
    env = scoring_v0.parallel_env(TOPICS, n_scores=4)
    refused(lambda: env.step({}), "call reset", ResetNeeded)
    env.reset(options={"query_id": TOPICS.query_ids[0]})
    refused(lambda: env.step({"doc_0": 0, "doc_1": 0}), r"1 of 3 documents gave no score \(doc_2\)")
    message = "out of range; expected 0 to 3"
    refused(lambda: env.step({"doc_0": 0, "doc_1": 4, "doc_2": 0}), message)
    refused(lambda: env.step({"doc_0": 0, "doc_1": 0, "doc_2": 0, "doc_99": 0}), "no agent 'doc_99'")
    for odd in (True, np.True_, np.array(True)):
        given = {"doc_0": odd, "doc_1": 0, "doc_2": 0}
        refused(lambda given=given: env.step(given), "integers from 0 to 3, got True or False", TypeError)
    env.step({"doc_0": np.uint64(1), "doc_1": 0, "doc_2": 0})
    refused(lambda: env.step({"doc_0": 0}), "ended", ResetNeeded)
    core, random = env.core, ScoringCore(TOPICS, ties="random")
    refused(lambda: core.rank([0], [[1, 2, 3]]), r"expected scores of shape \(1, 6\)")
    refused(lambda: core.rank([0], [[0.5] * 6]), "scores must be integers", TypeError)
    refused(lambda: random.rank([0], np.zeros((1, 6), int)), "needs a generator")
    env = scoring_v0.parallel_env(TOPICS)
    assert env.reset(options={"options": 1})[0]  # PettingZoo's own tests do that
    for key in ("qid", "queryid"):
        refused(lambda key=key: env.reset(options={key: "x"}), f"option '{key}'. Did you mean query_id")
    for wrong in (1.5, "1", None, 2**63, np.array([3])):
        given: dict[str, Any] = {**dict.fromkeys(env.agents, -1), env.agents[1]: wrong}
        refused(lambda given=given: env.step(given), "must be an integer from 0 to 29", TypeError)


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"n_scores": 1}, ValueError, "n_scores must be at least 2"),
    ({"ties": "retrieve"}, ValueError, "unknown ties 'retrieve'.*retrieval"),
    ({"reward": ()}, ValueError, "at least one measure"),
    ({"reward": ("alpha_nDCG@5", "alpha-nDCG@5")}, ValueError, "is duplicated"),
    ({"max_candidates": 3}, ValueError, "max_candidates=3"),
    ({"observation": "ful"}, ValueError, "unknown observation 'ful'.*full"),
])  # fmt: skip
def test_wrong_arguments_are_answered(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    refused(lambda: scoring_v0.parallel_env(TOPICS, **arguments), message, error)
    if arguments.keys() <= inspect.signature(ScoringCore).parameters.keys():
        refused(lambda: ScoringCore(TOPICS, **arguments), message, error)
