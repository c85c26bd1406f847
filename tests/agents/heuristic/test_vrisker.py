from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from small_topics import refused, small_topic

from srd_agents import make_ranker
from srd_agents.training.validation import Validation
from srd_gym.data.synthetic import generate
from srd_gym.measures import IdealPool, evaluate, parse_measure
from srd_gym.topic import Topic

SERP = generate("serp", n_topics=12, seed=4)


def greedy(topic: Topic, notation: str, k: int) -> list[int]:
    """Document by document the list of least risk; ties to the higher mean over intents, then to the earlier one."""
    bound = parse_measure(notation).bind([IdealPool.of(topic, "candidates")], k)
    mean = parse_measure(f"P_IA@{k}").bind([IdealPool.of(topic, "candidates")], k)
    chosen: list[int] = []
    while len(chosen) < k:
        left = [d for d in range(topic.n_candidates) if d not in chosen]
        rows = topic.judgments[[[*chosen, d] for d in left]]
        zeros = np.zeros(len(left), np.int64)
        keys = zip(np.round(bound.values(rows, zeros), 10), -np.round(mean.values(rows, zeros), 10), left, strict=True)
        chosen.append(min(keys)[2])
    return chosen


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_from_judgments_it_is_greedy_by_the_measure(beta: float, weighted: bool) -> None:
    ranker = make_ranker("vrisker-judged", beta=beta, depth=5)
    for topic in SERP:
        if weighted:
            topic = replace(topic, subtopic_weights=np.arange(1.0, topic.n_subtopics + 1))
        assert ranker.rank(topic, 5).tolist() == greedy(topic, f"VRisk(beta={beta})@5", 5)


def test_it_serves_the_rare_intent_where_the_mean_does_not() -> None:
    topic = small_topic([(1, 0), (1, 0), (1, 0), (0, 1)])
    worst, mean = (make_ranker("vrisker-judged", beta=beta, depth=2).rank(topic, 2).tolist() for beta in (0.1, 1.0))
    plain, relative = (make_ranker("vrisker-judged", depth=3, relative=each).rank(topic, 3) for each in (False, True))
    assert 3 not in plain, "two documents of three are lost by the frequent intent, one by the rare one"
    assert 3 in relative

    def risk(ranking: Iterable[int], of: str = "VRisk@2") -> float:
        return evaluate([topic], {"1": list(ranking)}, [of]).measures[of]

    assert risk(worst) == min(map(risk, permutations(range(4), 2))) == 0.5
    assert risk(mean, "VRisk(beta=1)@2") == 0.25


def test_scores_of_subtopics_in_place_of_judgments_give_the_same_ranking() -> None:
    for topic in SERP:
        scores: dict[str, Any] = {"subtopic_ids": topic.subtopic_ids, "subtopic_scores": topic.judgments >= 1}
        bare = Topic(query_id=topic.query_id, doc_ids=topic.doc_ids, **scores)
        covered = bare.subtopic_scores.any(axis=0) & ~bare.subtopic_scores.all(axis=0)
        if covered.all():
            estimated = make_ranker("vrisker", coverage="subtopic", depth=5).rank(bare, 5)
            assert estimated.tolist() == make_ranker("vrisker-judged", depth=5).rank(topic, 5).tolist()
    assert make_ranker("vrisker").rank(SERP[0], 10).size == 10


def test_what_is_chosen_by_risk_has_less_of_it_than_a_shuffle() -> None:
    validation = Validation(SERP, "VRisk(beta=0.5)@5")
    assert validation.name == "VRisk_reduction(beta=0.5)@5"
    risk = {name: validation.mean(make_ranker(name, **options)) for name, options in (
        ("vrisker-judged", {"beta": 0.5, "depth": 5}), ("oracle", {"measure": "VRisk(beta=0.5)@5"}), ("random", {}),
    )}  # fmt: skip
    assert min(risk["vrisker-judged"], risk["oracle"]) > risk["random"]


def test_beta_is_above_0() -> None:
    refused(lambda: make_ranker("vrisker", beta=0.0), "beta")
