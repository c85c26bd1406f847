from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import judged_topic, refused

from srd_agents.registry import load_ranker, make_ranker
from srd_gym import Clicks, TopicSet

TOPICS = TopicSet([judged_topic(6, seed, width=4) for seed in range(8)], name="eight")
USERS = "Clicks(pays='reciprocal_rank')"


@pytest.mark.parametrize("name", ["reinforce", "reinforce-subtopics", "mdp-div", "qmix", "maskable-ppo"])
def test_learners_learn_from_users_and_repeat_themselves(name: str, tmp_path: Path) -> None:
    if name == "maskable-ppo":
        pytest.importorskip("sb3_contrib")
    weights = []
    for reward in (USERS, USERS, "alpha_nDCG@10"):
        learner: Any = make_ranker(name, epochs=1, reward=reward)
        learner.fit(TOPICS, seed=3)  # without validation the last weights are kept
        weights.append(learner._weights())
    assert all(np.array_equal(weights[0][key], weights[1][key]) for key in weights[0])
    assert not all(np.array_equal(weights[0][key], weights[2][key]) for key in weights[0])


@pytest.mark.parametrize("name", ["reinforce", "qmix", "vdn", "iql"])
def test_a_folder_keeps_the_users_as_text(name: str, tmp_path: Path) -> None:
    learner: Any = make_ranker(name, epochs=1, reward=Clicks(pays="reciprocal_rank"))
    learner.fit(TOPICS[:6], TOPICS[6:], seed=0)
    learner.save(tmp_path)
    assert load_ranker(tmp_path).config.reward == USERS


def test_a_search_for_the_best_list_needs_the_expectation() -> None:
    def fit(reward: str) -> None:
        learner: Any = make_ranker("mcts", epochs=1, simulations=2, reward=reward)
        learner.fit(TOPICS[:6], TOPICS[6:], seed=0)

    refused(lambda: fit("Clicks"), r"expected reward, Clicks\(expected=True\)")
    fit("Clicks(expected=True)")
