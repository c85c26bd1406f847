from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from monsters import LONG, LONGEST, LONGEST_REPR, MONSTERS, NUMPY, TOPICS, numpys_names_in, said_by
from noisy_linear import NoisyLinear
from small_topics import refused

from srd_agents import RANKERS, diversify, load_ranker, make_ranker
from srd_agents.training import History, LearnerConfig, Progress, Validation
from srd_agents.training.options import Config
from srd_gym import Topic
from srd_gym.pruning import ByRanker

TOPIC = TOPICS[0]
VECTORS = np.eye(3)
DIVERSIFY = ("query_vector", "doc_vectors", "k", "ranker", "scores", "subtopics", "subtopic_weights", "embed",
             "diversity", "near_duplicates", "groups", "costs", "already_shown", "query_text", "texts",
             "subtopic_scores", "relevance", "fill", "per_cost", "max_per_group", "min_per_group", "budget",
             "pinned", "metric", "similarity")  # fmt: skip


def diversified(name: str, value: Any) -> object:
    beside = {"groups": {"max_per_group": 1}, "costs": {"budget": 1.0}, "max_per_group": {"groups": [1, 2, 3]},
              "min_per_group": {"groups": [1, 2, 3]}, "similarity": {"doc_vectors": None, "scores": [3, 2, 1]},
              "budget": {"costs": [1, 2, 3]}}.get(name, {})  # fmt: skip
    return diversify(**{"query_vector": None, "doc_vectors": VECTORS, "k": 2, **beside, name: value})  # type: ignore[arg-type]


CALLS: dict[str, Callable[[Any], object]] = {
    **{f"diversify({name})": lambda value, name=name: diversified(name, value) for name in DIVERSIFY},
    "make_ranker": make_ranker,
    "make_ranker(option)": lambda value: make_ranker("mmr", **{str(value): 1}),
    "make_ranker(value)": lambda value: make_ranker("mmr", lambda_=value),
    "make_ranker(words)": lambda value: make_ranker("mmr", relevance=value),
    "load_ranker": load_ranker,
    "rank": lambda value: make_ranker("mmr").rank(value, 3),
    "rank(k)": lambda value: make_ranker("mmr").rank(TOPIC, value),
    "fit": lambda value: NoisyLinear().fit(value) if value is not TOPICS else None,
    "fit(validation)": lambda value: NoisyLinear().fit(TOPICS, value),
    "fit(seed)": lambda value: NoisyLinear().fit(TOPICS, seed=value),
    "fit(threads)": lambda value: NoisyLinear().fit(TOPICS, threads=value),
    "fit(time_budget)": lambda value: NoisyLinear().fit(TOPICS, time_budget=value) if value is not TOPICS else None,
    "Validation": lambda value: Validation(value, "P_IA@1"),
    "Validation(by)": lambda value: Validation(TOPICS, value),
    "LearnerConfig": lambda value: LearnerConfig(epochs=value),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_whatever_comes_no_error_is_long(call: str) -> None:
    for name, value in MONSTERS.items():
        assert len(said_by(lambda value=value: CALLS[call](value))) <= LONGEST, f"{call} of {name}"  # type: ignore[misc]


@pytest.mark.parametrize("call", [name for name in CALLS if name != "make_ranker(option)"])
def test_whatever_comes_no_error_names_a_type_of_numpy(call: str) -> None:
    for name, value in NUMPY.items():
        assert not numpys_names_in(lambda value=value: CALLS[call](value)), f"{call} of {name}"  # type: ignore[misc]


def test_reprs_are_short() -> None:
    record = {"epoch": 1, "validation": 0.5}
    history = History(records=[record] * 1_000, measure="P_IA@1", excluded=[LONG] * 100)
    progress = Progress(epoch=1, epochs=9, topics_done=1, topics=9, records=[record] * 1_000)
    configs: list[Config] = [RANKERS[name].configure() for name in RANKERS if RANKERS[name].config_class is not Config]
    built = [make_ranker(name) for name in RANKERS if {"model file", "language model"}.isdisjoint(RANKERS[name].needs)]
    for one in (history, progress, RANKERS, *RANKERS.values(), *configs, *built, ByRanker(make_ranker("safe"), 0.5)):
        assert len(repr(one)) <= LONGEST_REPR
        assert " object at 0x" not in repr(one)
    assert repr(make_ranker("mmr", lambda_=0.7)) == "MMR(config=MMRConfig(lambda_=0.7))"
    assert repr(RANKERS["mmr"].configure(lambda_=0.7)) == "MMRConfig(lambda_=0.7)"


@pytest.mark.parametrize("shape", [(3,), (), (1, 1, 3)])
def test_subtopics_that_are_no_rows_are_told(shape: tuple[int, ...]) -> None:
    message = r"^subtopics must be \[S, F\].*\[vector\]"
    refused(lambda: diversify(None, VECTORS, 2, subtopics=np.ones(shape)), message)


def test_errors_name_rankers_as_the_registry_does() -> None:
    for name in ("mmr", "msd", "dpp", "xquad", "pm2", "random", "safe", "oracle", "relational-pretrained"):
        assert make_ranker(name).name == name  # type: ignore[attr-defined]
    bare = Topic(query_id="1", doc_ids=("a", "b"))
    refused(lambda: make_ranker("mmr", relevance="cosine").rank(bare, 1), "ranker 'mmr'")
    refused(lambda: diversify(None, VECTORS, 2, "random", diversity=0.5), "which ranker 'random' does not")


@pytest.mark.parametrize("name", ["mmr", "safe", "relational-pretrained", "mdp-div"])
def test_several_topics_are_no_topic(name: str) -> None:
    ranker = make_ranker(name)
    for several in (TOPICS, "words", list(TOPICS)):
        message = "takes one Topic, got .*rank_batch takes"
        refused(lambda several=several: ranker.rank(several, 3), message, TypeError)
