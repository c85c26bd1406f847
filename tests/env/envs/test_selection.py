from __future__ import annotations

import inspect
import json
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from small_topics import FirstRankOnly, alone, judged_topic, random_topics, refused, seeds, small_topic

import srd_gym
from srd_gym import Clicks, TopicSet, scoring_v0
from srd_gym.core import ScoringCore, SelectionCore, TopicArrays
from srd_gym.data import load_topics, write_topics
from srd_gym.envs import SelectionEnv, SelectionVectorEnv
from srd_gym.measures import evaluate, parse_measure
from srd_gym.testing import check_env
from srd_gym.wrappers import FlatObservation, KNNPruning, RankerPruning, TianshouObservation, VectorObservation

ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"observation": "compact"},
    {"observation": "features"},
    {"observation": ["compact", "retrieval_scores", "progress"]},
    {"observation": "features", "mask_dtype": bool, "on_invalid": "next", "reward": "Clicks"},
    {"mask_dtype": bool},
    {"mask_dtype": "bool", "observation": "compact"},
    {"horizon": None},
    {"horizon": 2, "reward_type": "sparse"},
    {"reward": "alpha_nDCG@3", "normalizer": "candidates", "measures": ["NRBP", "StRecall"]},
    {"reward": parse_measure("ERR_IA"), "max_candidates": 14},
    {"reward": FirstRankOnly()},
    {"share_documents": True},
    # Gymnasium's own checker, which samples without the mask, looks at documents that are not shared only.
    {"share_documents": True, "on_invalid": "raise"},
    {"on_invalid": "next", "reward": "ERR_IA"},
    {"numeric_infos": True, "measures": ["NRBP"]},
    {"numeric_infos": True, "reward": Clicks(reveal_intent=True)},
]


REWARDS = [
    "alpha_DCG",
    "ERR_IA@5",
    "NRBP",
    "alpha_nDCG(normalizer=candidates)@3",
    parse_measure("StRecall"),
    "VRisk(beta=0.5)",
]
MEASURES = ["ERR_IA@5", "alpha_DCG@10", "Dsharp_nDCG", "MAP_IA"]


def name(arguments: dict[str, Any]) -> str:
    return ",".join(map(str, arguments)) or "defaults"


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=name)
def test_the_laws_hold(arguments: dict[str, Any]) -> None:
    for unlabelled in (False, True):
        topics = random_topics(3, unlabelled=unlabelled)
        check_env(gym.make("SRD-v0", topics=topics, disable_env_checker=True, **arguments), episodes=6)


@pytest.mark.parametrize("stack", [
    lambda env: gym.wrappers.RecordEpisodeStatistics(env),
    lambda env: gym.wrappers.FlattenObservation(env),
    lambda env: gym.wrappers.TimeLimit(env, 100),
    lambda env: gym.wrappers.FilterObservation(env, ["documents", "action_mask"]),
])  # fmt: skip
def test_the_laws_hold_under_wrappers(stack: Any) -> None:
    check_env(stack(gym.make("SRD-v0", topics=random_topics(5))))


def test_the_passive_checker_is_silent_and_off_for_shared_documents() -> None:
    with warnings.catch_warnings(action="error"):
        for env_id in ("SRD-v0", "SRD-shared-v0"):
            env = gym.make(env_id, topics=random_topics(1, n=8))
            env.reset(seed=0)
            for action in range(8):
                env.step(action)


@given(seeds, st.sampled_from(REWARDS), st.sampled_from([3, None]), st.sampled_from([None, "candidates"]))
def test_rewards_and_measures_are_those_of_an_evaluation(seed: int, what: Any, horizon: Any, normalizer: Any) -> None:
    topics = random_topics(seed)
    arguments: dict[str, Any] = {"reward": what, "horizon": horizon, "normalizer": normalizer, "measures": MEASURES}
    env = gym.make("SRD-v0", topics=topics, **arguments)
    generator = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    query_id, paid, terminated = info["query_id"], 0.0, False
    while not terminated:
        observation, reward, terminated, _, info = env.step(generator.integers(0, topics.max_candidates))
        paid += float(reward)
    assert info["return"] == paid
    assert info["measures"][env.unwrapped.core.reward_name] == pytest.approx(paid, rel=1e-12)
    found = evaluate(topics, {query_id: observation["ranking"]}, list(info["measures"]), normalizer)
    assert info["measures"] == pytest.approx(found.per_topic[query_id], rel=1e-12)
    assert {"ERR_IA@5", "alpha_DCG@10", "MAP_IA"} <= set(info["measures"])
    assert all(type(value) is float for value in info["measures"].values())


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"reward": "alpha_DGC"}, ValueError, "alpha_DCG"),
    ({"reward": 3}, TypeError, "such as 'alpha_DCG', a Measure"),
    ({"reward": "alpha_nDCG", "normalizer": "pool"}, ValueError, "no pool"),
    ({"measures": "StRecal@10"}, ValueError, r"'StRecal'\. Did you mean StRecall"),
    ({"horzion": 3}, TypeError, "unexpected keyword argument 'horzion'"),
    ({"horizon": 0}, ValueError, "horizon must be at least 1, got 0"),
    ({"on_invalid": "skips"}, ValueError, "on_invalid 'skips'. Did you mean skip"),
    ({"reward_type": "spars"}, ValueError, "reward_type 'spars'. Did you mean sparse"),
    ({"max_candidates": 3}, ValueError, "max_candidates=3, but 5 topics"),
    ({"observation": "ful"}, ValueError, r"observation 'ful'. Did you mean full\?"),
    ({"observation": ["full", "rankin"]}, ValueError, r"key of observations 'rankin'. Did you mean ranking"),
    ({"mask_dtype": "int99"}, ValueError, "unknown mask_dtype .*Known: bool, int8"),
    ({"topics": [1]}, TypeError, "topics must be a TopicSet"),
])  # fmt: skip
def test_unknown_and_bad_arguments_are_answered(arguments: dict[str, Any], error: Any, message: str) -> None:
    arguments = {"topics": random_topics(0, n=6)} | arguments
    refused(lambda: gym.make("SRD-v0", **arguments), message, error)
    refused(lambda: gym.make_vec("SRD-v0", 2, "vector_entry_point", **arguments), message, error)
    refused(lambda: gym.make_vec("SRD-v0", 2, "sync", **arguments), message, error)
    if arguments.keys() <= inspect.signature(SelectionCore).parameters.keys():
        refused(lambda: SelectionCore(**arguments), message, error)


def test_an_observation_is_the_topic_without_labels() -> None:
    topics = random_topics(8)
    env = gym.make("SRD-v0", topics=topics, max_candidates=11)
    for topic in topics:
        observation, info = env.reset(options={"query_id": topic.query_id})
        assert info["query_id"] == topic.query_id
        assert list(observation) == ["ranking", "action_mask", "documents", "query", "retrieval_scores"]
        n = topic.n_candidates
        assert_array_equal(observation["documents"][:n], topic.doc_vectors)
        assert not observation["documents"][n:].any()
        query, scores = (0 if part is None else part for part in (topic.query_vector, topic.retrieval_scores))
        assert_array_equal(observation["query"], query)
        assert_array_equal(observation["retrieval_scores"][:n], scores)
        assert observation["action_mask"].tolist() == [1] * n + [0] * (11 - n)
        assert observation["ranking"].tolist() == [-1] * 10
    without = alone(small_topic(), "ids")
    assert sorted(SelectionEnv(without, observation="compact").reset()[0]) == ["action_mask", "ranking", "topic"]
    refused(lambda: SelectionEnv(without), "'ids' has no document vectors")


def test_topics_come_in_a_seeded_shuffle_once_an_epoch() -> None:
    topics = random_topics(0)
    env = gym.make("SRD-v0", topics=topics)

    def epoch(seed: int | None, asked: bool = False) -> list[str]:
        got = []
        for i in range(5):
            if i and asked:
                assert env.reset(options={"query_id": "q2"})[1]["query_id"] == "q2"
            got.append(env.reset(seed=None if i else seed)[1]["query_id"])
        return got

    first, second, again = epoch(7), epoch(None), epoch(7)
    assert sorted(first) == sorted(second) == sorted(topics.query_ids)
    assert first == again
    assert any(epoch(seed) != first for seed in range(5))
    assert epoch(7, asked=True) == first, "asking for a topic leaves the epoch where it is"


def test_bad_options_and_actions_and_what_is_out_of_order_are_refused() -> None:
    env = SelectionEnv(random_topics(0, count=12, n=3))
    unknown = "'q12'.*Did you mean"
    refused(lambda: env.reset(options={"query_id": "q12"}), unknown)
    refused(lambda: env.reset(options={"query_id": 1}), r"a query id is text, got 1 \(int\)", TypeError)
    refused(lambda: env.reset(options={"queryid": "q1"}), r"'queryid'. Did you mean query_id\?")
    env.reset(seed=0)
    hidden = np.ma.masked_array(0, mask=True)  # type: ignore[no-untyped-call]
    for action in (0.5, "0", None, np.array([0]), True, np.True_, np.array(True), hidden):
        refused(lambda action=action: env.step(action), "an action is one integer", TypeError)
    env = SelectionEnv(random_topics(0, n=2), render_mode="ansi")
    for call in (lambda: env.step(0), env.snapshot, env.render):
        refused(call, r"call reset\(\) first", ResetNeeded)
    env.reset(seed=0)
    env.step(0)
    snapshot = env.snapshot()
    env.step(1)
    refused(lambda: env.step(1), "it has ended", ResetNeeded)
    env.restore(snapshot)
    assert env.step(1)[2] is True


def test_topics_may_be_a_set_arrays_a_path_or_a_name_for_environments_not_for_cores(tmp_path: Path) -> None:
    topics = random_topics(0)
    path = tmp_path / "topics.parquet"
    write_topics(path, topics)
    made = [SelectionEnv(source).core.arrays for source in (topics, TopicArrays(topics), path, str(path))]
    assert [arrays.query_ids for arrays in made] == [topics.query_ids] * 4
    assert made[2] is made[3] is not made[0]
    write_topics(path, topics[:2])
    assert len(SelectionEnv(path).core.arrays) == 2
    one, other = gym.make("SRD-v0"), gym.make("SRD-v0")
    assert len(one.unwrapped.core.arrays) == 1_000
    assert one.unwrapped.core.arrays is other.unwrapped.core.arrays, "the default topics are generated once"
    env = gym.make("SRD-v0", topics=topics)
    assert env.spec.kwargs["topics"] is topics
    assert gym.make(env.spec).unwrapped.core.arrays is env.unwrapped.core.arrays
    for make in (SelectionEnv, SelectionVectorEnv, scoring_v0.parallel_env):
        refused(lambda make=make: make("nowhere.parquet"), r"nowhere\.parquet", FileNotFoundError)
    for core in (SelectionCore, ScoringCore):
        refused(lambda core=core: core("words"), "srd_gym.load_topics reads names", TypeError)


def test_arguments_survive_in_the_spec() -> None:
    arguments = {
        "topics": "synthetic:tiny:4", "reward": "ERR_IA@3", "reward_type": "sparse", "measures": ["NRBP"], "horizon": 5,
        "max_candidates": 30, "on_invalid": "raise", "normalizer": "candidates", "observation": "compact",
        "mask_dtype": "bool", "share_documents": True, "render_mode": "ansi", "pruning": None,
        "numeric_infos": True,
    }  # fmt: skip
    assert arguments.keys() == inspect.signature(SelectionEnv).parameters.keys()
    env = gym.make("SRD-v0", disable_env_checker=True, **arguments)
    text = env.spec.to_json()
    assert json.loads(text)["kwargs"] == arguments
    again = gym.make(gym.envs.registration.EnvSpec.from_json(text), disable_env_checker=True)
    assert again.unwrapped.core.reward_name == env.unwrapped.core.reward_name
    assert again.observation_space == env.observation_space
    assert again.render_mode == "ansi"


def with_masked(on_invalid: Any, actions: list[int], **arguments: Any) -> dict[str, list[Any]]:
    """What `SRD-v0`, its core and both vector environments say of an episode of these actions."""
    topics = TopicSet([judged_topic(4)], name="one")
    how = {"on_invalid": on_invalid, "horizon": 4, **arguments}
    said: dict[str, list[Any]] = {}
    env = SelectionEnv(topics, **how)
    many = {
        "vector": SelectionVectorEnv(topics, num_envs=2, **how),
        "sync": SyncVectorEnv([lambda: SelectionEnv(topics, **how)] * 2),
    }
    for name, vector in many.items():
        infos = [vector.reset(seed=0)[1], *(vector.step([action] * 2)[4] for action in actions)]
        said[name] = [(i["ranking"][1].tolist(), i["invalid_action"][1], i["wasted"][1], i["return"][1]) for i in infos]
    infos = [env.reset(seed=0)[1], *(env.step(action)[4] for action in actions)]
    said["single"] = [(i["ranking"].tolist(), i["invalid_action"], i["wasted"], i["return"]) for i in infos]
    core = SelectionCore(topics, **how)
    core.reset([0])
    said["core"] = [(core.ranking[0].tolist(), False, 0, 0.0)]
    for action in actions:
        invalid = core.step([action]).invalid.item()
        said["core"].append((core.ranking[0].tolist(), invalid, core.wasted.item(), core.returns().item()))
    return said


@pytest.mark.filterwarnings("ignore:candidate .* is masked")
@pytest.mark.parametrize(("on_invalid", "expected", "wasted"), [
    ("skip", [2, -1, 0, -1], [0, 0, 1, 1, 2]),
    ("next", [2, 0, 1, 3], [0, 0, 0, 0, 0]),
])  # fmt: skip
def test_masked_choices_are_counted_or_replaced_alike_everywhere(on_invalid: str, expected: Any, wasted: Any) -> None:
    said = with_masked(on_invalid, [2, 2, 0, 2])
    assert said["single"] == said["core"] == said["vector"] == said["sync"]
    rankings, invalid, counts, returns = zip(*said["single"], strict=True)
    assert rankings[0] == [-1] * 4
    assert rankings[-1] == expected
    assert invalid == (False, False, True, on_invalid == "next", True)
    assert list(counts) == wasted
    assert list(returns) == sorted(returns)


def test_one_warning_per_environment_says_how_to_mask() -> None:
    topics = TopicSet([judged_topic(4)], name="one")
    message = r"candidate 1 is masked: document 'd1' is ranked already.*info\['action_mask'\].*on_invalid='next'"
    for make in (SelectionEnv, lambda topics: SelectionVectorEnv(topics, num_envs=1)):
        for _ in range(2):
            env: Any = make(topics)
            env.reset(seed=0)
            action = 1 if make is SelectionEnv else [1]
            env.step(action)
            with pytest.warns(UserWarning, match=message):
                env.step(action)
            with warnings.catch_warnings(action="error"):
                env.step(action)
    with warnings.catch_warnings(action="error"):
        for on_invalid in ("next", "raise"):
            quiet = SelectionEnv(topics, on_invalid=on_invalid, horizon=2)
            quiet.reset(seed=0)
            quiet.step(quiet.action_masks().argmax())
            if on_invalid == "next":
                quiet.step(0)


@pytest.mark.parametrize("reward_type", ["dense", "sparse"])
@pytest.mark.parametrize("reward", ["alpha_DCG", "Clicks(model='dbn', reveal_intent=True)"])
def test_infos_have_one_structure_however_few_candidates_there_are(reward: str, reward_type: Any) -> None:
    topics = TopicSet([judged_topic(n, width=2) for n in (1, 3, 8)], name="few")
    env = SelectionEnv(topics, reward=reward, reward_type=reward_type, horizon=5)
    structures = set()
    for topic in topics:
        _, info = env.reset(seed=0, options={"query_id": topic.query_id})
        terminated = False
        while True:
            told = {name: (type(value), np.shape(value)) for name, value in info.items() if name != "measures"}
            structures.add(tuple(sorted(told.items(), key=str)))
            assert ("measures" in info) is terminated
            assert info["ranking"].dtype == np.int64
            if terminated:
                break
            _, _, terminated, _, info = env.step(int(info["action_mask"].argmax()))
        assert info["ranking"].tolist() == [*range(min(5, topic.n_candidates)), *[-1] * (5 - topic.n_candidates)]
    assert len(structures) == 1


def test_a_time_limit_still_tells_ranking_and_return() -> None:
    env = gym.wrappers.TimeLimit(SelectionEnv(random_topics(2, n=8)), 3)
    _, info = env.reset(seed=0)
    paid = 0.0
    for action in (4, 1, 6):
        _, reward, terminated, truncated, info = env.step(np.int64(action))
        paid += float(reward)
    assert (terminated, truncated, info["return"]) == (False, True, paid)
    assert info["ranking"].tolist() == [4, 1, 6, *[-1] * 7]


@pytest.mark.parametrize("make", [
    lambda topics: gym.make("SRD-v0", topics=topics),
    lambda topics: gym.make_vec("SRD-v0", topics=topics),
    lambda topics: scoring_v0.parallel_env(topics),
])  # fmt: skip
def test_topics_of_which_none_is_judged_are_announced(make: Any) -> None:
    topics = [replace(topic, judgments=None, pool=None, pool_ids=None) for topic in load_topics("synthetic:tiny:2")]
    with pytest.warns(UserWarning, match="none of its 2 topics has judgments"):
        make(topics)


def test_both_environments_take_the_same_arguments() -> None:
    single, vector = (inspect.signature(each).parameters for each in (SelectionEnv, SelectionVectorEnv))
    assert set(vector) - set(single) == {"num_envs", "autoreset_mode"}
    assert {key: vector[key] for key in single} == dict(single)


@pytest.mark.parametrize("make", [
    SelectionEnv, SelectionVectorEnv, scoring_v0.parallel_env, SelectionCore, ScoringCore, KNNPruning, RankerPruning,
    FlatObservation, TianshouObservation, VectorObservation,
])  # fmt: skip
def test_constructors_name_every_argument_that_they_take(make: Any) -> None:
    assert not hasattr(make.__init__, "__signature__"), "what it says is what it takes: type checkers read the code"
    starred = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    assert not starred & {each.kind for each in inspect.signature(make.__init__).parameters.values()}


def test_the_id_with_its_module_needs_no_import_and_the_package_is_lazy() -> None:
    make = "import gymnasium as g; print(g.make('srd_gym:SRD-v0', topics='synthetic:tiny:2').reset()[1]['query_id'])"
    done = subprocess.run([sys.executable, "-c", make], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tiny")
    refused(lambda: srd_gym.load_topic, "has no attribute 'load_topic'", AttributeError)


@pytest.mark.parametrize("env", [SelectionEnv, SelectionVectorEnv])
def test_step_reads_like_the_problem_statement(env: Any) -> None:
    source = inspect.getsource(env.step).split('"""')[2]
    assert len(source.strip().splitlines()) <= 25
