from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_topics import ragged, refused

from srd_agents.qmix.replay import Visits
from srd_agents.registry import make_ranker
from srd_agents.simulators import ScoringSimulator
from srd_gym.core import Clicks, ScoringCore, TopicArrays
from srd_gym.data.synthetic import generate
from srd_gym.topic import Topic

SMALL: dict[str, Any] = {"attention_width": 8, "hidden_size": 8, "n_scores": 5, "epochs": 3, "epsilon_episodes": 20}


def best_scores(ranker: Any, topic: Topic) -> Any:
    """[N], the score of each document's largest value."""
    return ranker._values_of([topic])[0].argmax(axis=1)


def test_the_ranking_is_the_simulators_for_the_best_scores() -> None:
    topics = ragged()
    ranker: Any = make_ranker("qmix", **SMALL)
    ranker.fit(topics, seed=0)
    core = ScoringCore(topics, n_scores=5)
    scores = np.zeros((len(topics), 23), np.int64)
    for row, topic in zip(scores, topics, strict=True):
        row[: topic.n_candidates] = best_scores(ranker, topic)
    expected = core.rank(np.arange(len(topics)), scores)
    for ranking, row in zip(ranker.rank_batch(list(topics), 23), expected, strict=True):
        np.testing.assert_array_equal(ranking, row[row >= 0])


def test_ties_follow_the_candidate_order_or_the_values() -> None:
    values = np.zeros((1, 4, 3), np.float32)
    values[0, :, 1] = 1.0  # all four take score 1
    values[0, :, 2] = [0.1, 0.4, 0.2, 0.9]
    values[0, 3] = [0.0, 0.0, 2.0]  # this one takes score 2
    counts = np.array([4])
    assert make_ranker("vdn")._ranked(values, counts).tolist() == [[3, 0, 1, 2]]
    assert make_ranker("vdn", tie_break="q")._ranked(values, counts).tolist() == [[3, 1, 2, 0]]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_agents_explore_each_on_their_own(epsilon: float) -> None:
    topics = generate("tiny", n_topics=40, seed=0)
    ranker: Any = make_ranker("qmix", **(SMALL | {"rollouts": 50}))
    ranker.prepare(topics)
    batch = np.arange(40)
    actions, rewards = ranker.play(batch, epsilon)
    arrays = TopicArrays.of(topics)
    greedy = np.zeros((40, arrays.max_candidates), np.int64)
    for row, topic in zip(greedy, topics, strict=True):
        row[: topic.n_candidates] = best_scores(ranker, topic)
    actions, rewards = actions.numpy(), rewards.numpy()
    differs = (actions != greedy[:, None])[np.broadcast_to(arrays.present[:, None], actions.shape)]
    # A random score is the best one in 1 of 5 cases.
    assert abs(differs.mean() - 0.8 * epsilon) < 0.02
    assert not actions[~np.broadcast_to(arrays.present[:, None], actions.shape)].any()
    core = ScoringCore(topics, reward="alpha_nDCG@10", n_scores=5)
    for rollout in (0, 49):
        np.testing.assert_allclose(rewards[:, rollout], core.step(batch, actions[:, rollout]))


def test_a_repeated_topic_goes_through_the_network_once_and_counts_as_often_as_drawn() -> None:
    """The gradient of a batch with repeats equals that of the same visits as joint actions of one visit a topic."""
    topics, steps = generate("tiny", n_topics=3, seed=0), []
    for layout in ("repeats", "grouped"):
        ranker: Any = make_ranker("qmix", **SMALL)
        ranker.prepare(topics)
        count = ranker._core.arrays.max_candidates
        rng = np.random.default_rng(7)
        actions, rewards = torch.from_numpy(rng.integers(5, size=(3, 4, count))), torch.from_numpy(rng.random((3, 4)))
        order = rng.permutation(12)
        visits = Visits(np.array([0, 1, 2]), actions, rewards.float())
        if layout == "repeats":
            which = np.repeat([0, 1, 2], 4)[order]
            visits = Visits(which, actions.reshape(12, 1, count)[order], rewards.reshape(12, 1)[order].float())
        loss, _ = ranker.learn(visits)
        steps.append((loss, {name: p.grad for name, p in ranker._network.named_parameters() if p.grad is not None}))
    assert steps[0][0] == pytest.approx(steps[1][0], rel=1e-5)
    assert steps[0][1].keys() == steps[1][1].keys()
    for name, gradient in steps[0][1].items():
        torch.testing.assert_close(gradient, steps[1][1][name], rtol=1e-3, atol=1e-6, msg=name)


@pytest.mark.parametrize("name", ["qmix", "iql"])
def test_what_a_device_pays_teaches_the_same(name: str) -> None:
    topics, taught = ragged(), []
    for device in (False, True):
        ranker: Any = make_ranker(name, **SMALL)
        ranker.prepare(topics, 1)
        if device:
            ranker._simulator = ScoringSimulator(ranker._core.arrays, reward="alpha_nDCG@10", n_scores=5)
        figures = [ranker._update(np.arange(len(topics))) for _ in range(2)][-1]
        taught.append((figures, ranker._weights(), ranker._replay.tree()))
    (figures, weights, replay), (ours, our_weights, our_replay) = taught
    assert ours == pytest.approx(figures, rel=1e-4)
    np.testing.assert_array_equal(our_replay["actions"], replay["actions"])
    for part, values in weights.items():
        np.testing.assert_allclose(our_weights[part], values, atol=1e-4, err_msg=part)


def test_several_measures_add_up() -> None:
    topics = generate("tiny", n_topics=6, seed=0)
    ranker: Any = make_ranker("vdn", **SMALL, reward="alpha_nDCG@5 + StRecall@3")
    ranker.prepare(topics)
    actions, rewards = ranker.play(np.arange(6), 0.5)
    cores = (ScoringCore(topics, reward=name, n_scores=5) for name in ("alpha_nDCG@5", "StRecall@3"))
    np.testing.assert_allclose(rewards[:, 0], sum(core.step(np.arange(6), actions[:, 0]) for core in cores))


def test_users_pay_as_in_the_simulator() -> None:
    topics, users = generate("tiny", n_topics=6, seed=0), Clicks(cutoff=3, expected=True)
    ranker: Any = make_ranker("vdn", **SMALL, reward=users)
    ranker.prepare(topics)
    actions, rewards = ranker.play(np.arange(6), 0.5)
    core = ScoringCore(topics, reward=users, n_scores=5)
    np.testing.assert_allclose(rewards[:, 0], core.step(np.arange(6), actions[:, 0]))


def test_the_flattened_state_needs_topics_of_one_size_to_train_and_none_to_rank() -> None:
    flat = SMALL | {"state": "flat"}
    topics = ragged()
    refused(lambda: make_ranker("qmix", **flat, max_candidates=23).fit(topics), "takes exactly 23 documents")
    ranker: Any = make_ranker("qmix", **flat, max_candidates=23)
    ranker.fit(topics[8:], seed=0)
    assert sorted(ranker.rank(topics[4], 99).tolist()) == list(range(10))
