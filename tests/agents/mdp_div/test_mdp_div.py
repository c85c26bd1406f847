from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_topics import bare_topic, ragged

from srd_agents.mdp_div.network import RecurrentPolicy
from srd_agents.mdp_div.step_updates import ascend
from srd_agents.networks.features import order_features, side_by_side
from srd_agents.networks.inputs import Inputs, InputTensors, mean_and_deviation
from srd_agents.networks.policy import Steps, acting, in_numpy
from srd_agents.registry import make_ranker
from srd_agents.reinforce.rollout import SampledEpisodes, roll_out
from srd_agents.training.validation import Validation
from srd_gym.core import SelectionCore
from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet


@pytest.mark.parametrize("scale", [0.01, 300.0])
def test_the_batched_learner_does_not_care_how_long_vectors_are(scale: float) -> None:
    topics = generate("serp", n_topics=150, seed=2)
    lengthened = [{part: getattr(t, part) * scale for part in ("doc_vectors", "query_vector")} for t in topics]
    scaled = topics.replace(replace(topic, **vectors) for topic, vectors in zip(topics, lengthened, strict=True))
    ranker: Any = make_ranker("mdp-div-batched", epochs=8)
    ranker.fit(scaled[:100], seed=0)
    validation = Validation(scaled[100:], "alpha_nDCG@10")
    assert validation.mean(ranker) > validation.mean(make_ranker("random")) + 0.08


@pytest.mark.parametrize("name", ["mdp-div", "mdp-div-batched"])
def test_ranking_is_the_argmax_of_the_trained_policy_at_every_rank(name: str) -> None:
    topics = ragged(seed=1)
    ranker: Any = make_ranker(name, epochs=2)
    ranker.fit(topics, seed=0)
    network = ranker._network
    for topic in topics[:6]:
        query = np.zeros(7, np.float32) if topic.query_vector is None else topic.query_vector
        order = torch.tensor(order_features(topic))[None]
        seen = Inputs(torch.tensor(query)[None], torch.tensor(topic.doc_vectors)[None], features=order)
        ranking = ranker.rank(topic, 99)
        for rank, logits in enumerate(network.logits(seen, torch.from_numpy(ranking)[None, None])[0, 0].detach()):
            assert logits[ranking[rank]] >= logits[ranking[rank:]].max() - 1e-5


def test_order_features_mean_and_deviation_by_hand() -> None:
    topic, lone = bare_topic(3, retrieval_scores=[6, 3, 2]), bare_topic(1, "2", retrieval_scores=[2])
    np.testing.assert_allclose(order_features(topic), [[1, 1, 1], [0.5, 0.5, 0.25], [0, 1 / 3, 0]])
    assert not order_features(replace(topic, retrieval_scores=None)).any()
    equal = replace(topic, retrieval_scores=np.ones(3))
    assert order_features(equal)[:, 2].tolist() == [0, 0, 0]
    padded = side_by_side([order_features(each) for each in (topic, lone)])
    np.testing.assert_array_equal(padded[1], [[1, 1, 0], [0, 0, 0], [0, 0, 0]])
    one, other = bare_topic(2, doc_vectors=[[0, 1], [2, 1]]), bare_topic(1, "2", doc_vectors=[[4, 1]])
    topics = TopicSet([one, other], name="hand")
    mean, deviation = mean_and_deviation(topics)
    assert mean.tolist() == [2.0, 1.0]
    assert deviation == pytest.approx(np.sqrt((8 / 3 + 0) / 2))
    assert mean_and_deviation(topics[1:]) == (pytest.approx([4.0, 1.0]), 1.0)


@pytest.mark.parametrize("rollouts", [1, 3])
def test_what_episodes_earn_is_what_the_simulator_measures(rollouts: int) -> None:
    topics = ragged()
    network = RecurrentPolicy(7, 3)
    core = SelectionCore(topics, reward="StRecall", horizon=10)
    tensors = InputTensors(core.arrays, network.shift)
    for chosen in ([8, 0, 4], [5], [0]):
        index = np.array(chosen)
        draft = Steps(acting(network), in_numpy(tensors.batch(index)), rollouts)
        episodes = roll_out(draft, core, index, rollouts, np.random.default_rng(3))
        (values,) = core.measures().values()
        np.testing.assert_allclose(episodes.rewards.sum(2).ravel(), values, rtol=1e-6)
        assert (episodes.active.sum(2).ravel() == core.length).all()
        assert core.done.all()
        assert [len(set(row[row >= 0].tolist())) for row in core.ranking] == core.length.tolist()


def test_vectors_are_not_copied_for_training_on_the_cpu() -> None:
    core = SelectionCore(ragged(), horizon=3)
    tensors = InputTensors(core.arrays, RecurrentPolicy(7, 3).shift)
    one = tensors.batch(np.array([4])).documents
    assert one.data_ptr() == core.arrays.topics[4].require_vectors("test").ctypes.data
    assert one.shape == (1, 10, 7)


def test_ties_go_to_the_first_candidate_and_constant_vectors_keep_the_order() -> None:
    ranker: Any = make_ranker("mdp-div", hidden_size=2)
    ranker._build(3)
    ranker.vector_width = 3
    for parameter in ranker._network.parameters():
        torch.nn.init.ones_(parameter)
    assert ranker.rank(bare_topic(5, doc_vectors=np.ones((5, 3))), 5).tolist() == [0, 1, 2, 3, 4]


def test_first_weights_are_uniform_in_the_papers_range() -> None:
    network = RecurrentPolicy(20, 5)
    network.initialise(torch.Generator().manual_seed(0))
    values = torch.cat([parameter.detach().flatten() for parameter in network.parameters()])
    assert 0.9 < values.abs().max() <= 1
    assert values.mean().abs() < 0.15


@pytest.mark.parametrize("query", [1.0, 0.0])
@pytest.mark.parametrize("at_once", [False, True])
def test_gradients_by_hand_are_those_of_automatic_differentiation(query: float, at_once: bool) -> None:
    """Algorithm 1, lines 5 to 8: each at the weights that the one before left, or all at those of the episode."""
    policy, topics = RecurrentPolicy(3, 2), Inputs(torch.rand(1, 3) * query, torch.rand(1, 4, 3))
    policy.initialise(torch.Generator().manual_seed(0))
    twin, actions = copy.deepcopy(policy), np.array([[[2, 0, 3]]])
    acted = copy.deepcopy(policy) if at_once else twin
    allowed = np.array([[1, 1, 1, 1], [1, 1, 0, 1], [0, 1, 0, 1]], np.bool_)[None, None]
    rewards = np.array([[[1.0, 0.0, 2.0]]], np.float32)
    episodes = SampledEpisodes(actions, allowed, rewards, np.ones((1, 1, 3), np.bool_))
    told, loss, entropies = ascend(acting(policy), in_numpy(topics), episodes, 0.5, at_once=at_once), 0.0, []
    for rank, earned in enumerate((3.0, 2.0, 2.0)):
        logits = acted.logits(topics, torch.from_numpy(actions))[0, 0, rank]
        offered = logits[torch.from_numpy(allowed[0, 0, rank])]
        log_pi = logits[actions[0, 0, rank]] - offered.logsumexp(0)
        loss -= earned * log_pi.item()
        entropies.append(-(offered.softmax(0) * offered.log_softmax(0)).sum().item())
        slopes = torch.autograd.grad(earned * log_pi, list(acted.parameters()), materialize_grads=True)
        for parameter, slope in zip(twin.parameters(), slopes, strict=True):
            parameter.data += 0.5 * slope
    for one, other in zip(policy.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert told == pytest.approx((loss, np.mean(entropies)), abs=1e-5)
