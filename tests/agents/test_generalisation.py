"""What several learners show beyond their laws: they learn what holds for other topics, and say when they diverge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_topics import ragged

from srd_agents import make_ranker
from srd_agents.validation import Validation
from srd_gym.data.synthetic import generate

pytest.importorskip("torch", reason='learners need torch: pip install "srd-gym[agents]"')


@pytest.mark.parametrize(("name", "count", "options", "margin"), [
    ("reinforce", 200, {"epochs": 8}, 0.03),
    ("qmix", 500, {"epochs": 25, "epsilon_episodes": 20_000, "validate_every": 5}, 0.02),
    ("maskable-ppo", 200, {"epochs": 1, "rollouts": 4, "hidden": 32, "batch_size": 160}, 0.02),
])  # fmt: skip
def test_beats_mmr_on_held_out_topics_that_share_a_catalogue(
    name: str, count: int, options: dict[str, Any], margin: float
) -> None:
    if name == "maskable-ppo":
        pytest.importorskip("sb3_contrib")
    fold = generate("serp", n_topics=count, seed=11).folds(5, 0)[0]
    ranker: Any = make_ranker(name, **options)
    ranker.fit(fold.train, fold.validation, seed=0)
    test = Validation(fold.test, "alpha_nDCG@10")
    best_mmr = max(test.mean(make_ranker("mmr", lambda_=step / 10)) for step in range(11))
    assert test.mean(make_ranker("random")) < best_mmr
    assert test.mean(ranker) > best_mmr + margin


@pytest.mark.parametrize(("name", "options", "margin"), [
    ("reinforce", {"hidden": 128}, 0.1),
    ("mcts", {"hidden": 64, "simulations": 1}, 0.05),
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
        assert topic.doc_vectors is not None
        closeness = topic.doc_vectors @ topic.query_vector
        nearer.append((closeness < closeness[ranker.rank(topic, 1)[0]]).mean())
    assert np.mean(nearer) > 0.8
    validation = Validation(topics, "alpha_nDCG@10")
    assert validation.mean(ranker) > validation.mean(make_ranker("random")) + margin


@pytest.mark.parametrize("name", ["reinforce", "mcts"])
@pytest.mark.parametrize("hidden", [1, 3, 40])
def test_similar_first_weights_for_any_width_of_state(name: str, hidden: int) -> None:
    ranker: Any = make_ranker(name, hidden=hidden, epochs=2)
    assert all(np.isfinite(record["return"]) for record in ranker.fit(ragged(), seed=0).records)


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")
@pytest.mark.parametrize(("name", "options"), [
    ("mdp-div", {}),
    ("reinforce", {}),
    ("mcts", {"optimizer": "adagrad", "clip_norm": 0.0, "hidden": 5, "simulations": 12}),
])  # fmt: skip
def test_a_diverged_training_says_so(name: str, options: dict[str, Any]) -> None:
    ranker: Any = make_ranker(name, learning_rate=1e38, epochs=50, **options)
    with pytest.raises(FloatingPointError, match=r"diverged.*lower the learning rate"):
        ranker.fit(ragged(), seed=0)
