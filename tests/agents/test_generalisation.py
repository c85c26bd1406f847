from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srd_agents import make_ranker
from srd_agents.training.validation import Validation
from srd_gym.data.synthetic import generate
from studies.pretrain.wide import wide_topics

pytest.importorskip("torch", reason='learners need torch: pip install "srd-gym[agents]"')


SMOOTH: dict[str, Any] = {"epochs": 8, "width": 32, "learning_rate": 0.003}
NTN: dict[str, Any] = {"epochs": 8, "features": False, "learning_rate": 0.01, "tensor_rate": 1.0}


@pytest.mark.parametrize(("name", "count", "options", "than", "margin"), [
    ("reinforce", 200, {"epochs": 8}, "mmr", 0.03),
    ("qmix", 500, {"epochs": 25, "epsilon_episodes": 20_000, "validate_every": 5}, "mmr", 0.02),
    ("maskable-ppo", 200, {"epochs": 1, "rollouts": 4, "hidden_size": 32, "batch_size": 160}, "mmr", 0.02),
    ("daletor", 150, SMOOTH, "mmr", 0.0),
    ("mo4srd", 150, SMOOTH, "mmr", 0.0),
    ("desa", 150, SMOOTH | {"subtopics": False}, "mmr", 0.0),
    ("ntn", 100, NTN, "random", 0.05),
    ("ntn", 100, NTN | {"loss": "margin", "negatives": 5, "positives": 2}, "random", 0.05),
    ("ntn", 100, NTN | {"init": "random"}, "random", 0.05),
])  # fmt: skip
def test_beats_others_on_held_out_topics_that_share_a_catalogue(
    name: str, count: int, options: dict[str, Any], than: str, margin: float
) -> None:
    if name == "maskable-ppo":
        pytest.importorskip("sb3_contrib")
    fold = generate("serp", n_topics=count, seed=11).folds(5, 0)[0]
    ranker: Any = make_ranker(name, **options)
    ranker.fit(fold.train, fold.validation, seed=0)
    test = Validation(fold.test, "alpha_nDCG@10")
    others = {"random": test.mean(make_ranker("random"))}
    others["mmr"] = max(test.mean(make_ranker("mmr", lambda_=step / 10)) for step in range(11))
    assert others["random"] < others["mmr"]
    assert test.mean(ranker) > others[than] + margin


def test_relations_that_were_learned_hold_for_topics_of_other_subtopics() -> None:
    topics = wide_topics(80, seed=9, width=32, largest=30)
    ranker: Any = make_ranker("relational", init="random", epochs=6, learning_rate=0.01)
    ranker.fit(topics[:60], seed=0)
    test = Validation(topics[60:], "alpha_nDCG@10")
    assert test.mean(ranker) > test.mean(make_ranker("random", seed=0)) + 0.05


@pytest.mark.parametrize(("name", "options", "margin"), [
    ("reinforce", {"hidden_size": 128}, 0.1),
    ("mcts", {"hidden_size": 64, "simulations": 1, "retrieval_order": False}, 0.05),
])  # fmt: skip
def test_similar_first_weights_already_look_for_new_documents_near_the_query(
    name: str, options: dict[str, Any], margin: float
) -> None:
    """Before any learning: the first document is nearer to the query than most, and rankings beat random ones."""
    topics = generate("web", n_topics=40, seed=1)
    ranker: Any = make_ranker(name, learning_rate=1e-12, epochs=1, **options)
    ranker.fit(topics, seed=0)
    nearer = []
    for topic in topics:
        closeness = topic.doc_vectors @ topic.query_vector
        nearer.append((closeness < closeness[ranker.rank(topic, 1)[0]]).mean())
    assert np.mean(nearer) > 0.8
    validation = Validation(topics, "alpha_nDCG@10")
    assert validation.mean(ranker) > validation.mean(make_ranker("random")) + margin
