"""MDP-DIV with the expensive policy: attention over the candidates on offer, anew at every rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_topics import judged_topic, ragged

from srd_agents.mdp_div.attentive import AttentivePolicyNetwork, AttentiveRanking
from srd_agents.mdp_div.network import PolicyNetwork
from srd_agents.mdp_div.rollout import Episodes, episode_log_policy, roll_out
from srd_agents.networks.inputs import TopicTensors
from srd_agents.registry import make_ranker
from srd_gym.core import SelectionCore
from srd_gym.pruning import KNN, ByRanker
from srd_gym.topic import Topic, TopicSet

RAGGED = ragged((1, 3, 11, 15, 30), width=8)


def network_of(order: int = 0, worth: float = 1.0) -> AttentivePolicyNetwork:
    network = AttentivePolicyNetwork(8, 5, attention_width=6, heads=2, order_features=order).double()
    generator = torch.Generator().manual_seed(1)
    network.initialise(dict.fromkeys(dict(network.named_parameters()), 1.0), generator)
    network.shift.copy_(torch.linspace(-0.2, 0.3, 8))
    network.scale.fill_(1.5)
    with torch.no_grad():
        network.worth_layer.weight.uniform_(-worth, worth, generator=generator)
    return network


def tensors_for(network: PolicyNetwork, core: SelectionCore) -> TopicTensors:
    return TopicTensors(core.arrays, network.shift, order=network.order_weight is not None)


def played(network: PolicyNetwork, pruning: Any, rollouts: int = 1) -> tuple[Any, Episodes]:
    topics = RAGGED
    core = SelectionCore(topics, horizon=10, pruning=pruning)
    chosen = np.arange(len(topics))
    projection = network.project(tensors_for(network, core).batch(chosen))
    return projection, roll_out(network, projection, core, chosen, rollouts, torch.Generator().manual_seed(2))


def test_first_weights_act_as_the_bilinear_policy_does() -> None:
    attentive = network_of(worth=0.0)
    plain = PolicyNetwork(8, 5).double()
    plain.load_state_dict({name: attentive.state_dict()[name] for name in plain.state_dict()})
    one, other = played(attentive, KNN(0.2))[1], played(plain, KNN(0.2))[1]
    assert torch.equal(one.actions[one.active], other.actions[other.active])
    assert one.evaluations() == other.evaluations()


@pytest.mark.parametrize(("rollouts", "order"), [(1, 0), (3, 3)])
@pytest.mark.parametrize("pruning", [None, KNN(0.3), ByRanker("mmr", 0.5)])
def test_learning_acting_and_ranking_see_the_same_policy(pruning: Any, rollouts: int, order: int) -> None:
    network = network_of(order)
    projection, episodes = played(network, pruning, rollouts)
    log_pi = episode_log_policy(network, projection, episodes).detach().numpy()
    ranking = AttentiveRanking(network)
    for episode, topic in enumerate(topic for topic in RAGGED for _ in range(rollouts)):
        for rank in range(int(episodes.active[episode].sum())):
            selected = episodes.actions[episode, :rank].numpy()
            allowed = episodes.allowed[episode, rank, : topic.n_candidates].numpy()
            logits = ranking.logits(topic, selected, allowed)
            expected = logits[allowed] - np.logaddexp.reduce(logits[allowed])
            np.testing.assert_allclose(log_pi[episode, rank][: len(allowed)][allowed], expected, rtol=1e-6, atol=1e-6)
            assert allowed[episodes.actions[episode, rank]]
            assert np.isneginf(logits[~allowed]).all()


def test_permuting_documents_permutes_logits_and_rankings() -> None:
    topic, network = judged_topic(20), network_of(0)
    order = np.random.default_rng(3).permutation(20)
    shuffled = topic.take(order)
    place = np.argsort(order)
    ranking, selected = AttentiveRanking(network), np.array([4, 11])
    np.testing.assert_allclose(
        ranking.logits(shuffled, place[selected]), ranking.logits(topic, selected)[order], rtol=1e-9
    )
    for strategy in (KNN(0.3), None):
        one, other = (
            ranking.rank_batch([t], 10)[0] if strategy is None else ranking.rank_pruned([t], 10, strategy)[0]
            for t in (topic, shuffled)
        )
        np.testing.assert_array_equal(one, order[other])


def test_what_is_off_offer_is_not_looked_at_and_what_is_on_offer_is() -> None:
    topic, ranking = judged_topic(12), AttentiveRanking(network_of())
    assert topic.doc_vectors is not None
    changed_vectors = topic.doc_vectors.copy()
    changed_vectors[7] *= -3
    changed = replace(topic, doc_vectors=changed_vectors)
    allowed = np.ones(12, bool)
    selected = np.array([2])
    others = np.setdiff1d(np.arange(12), [2, 7])
    with_it = [ranking.logits(t, selected, allowed)[others] for t in (topic, changed)]
    assert not np.allclose(*with_it)
    allowed[7] = False
    without = [ranking.logits(t, selected, allowed)[others] for t in (topic, changed)]
    np.testing.assert_array_equal(*without)


def test_every_weight_has_a_gradient() -> None:
    network = network_of(3)
    projection, episodes = played(network, KNN(0.3), 2)
    log_pi = episode_log_policy(network, projection, episodes)
    chosen = log_pi.gather(-1, episodes.actions[..., None]).squeeze(-1)
    (chosen * episodes.active * episodes.rewards).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_learns_what_only_attention_can_see() -> None:
    """The relevant document is the one of its kind: no candidate looked at alone shows it."""
    rng = np.random.default_rng(0)

    def odd_one_out(index: int) -> Topic:
        kinds = np.eye(2, dtype=np.float32)[rng.permutation(2)]
        order = rng.permutation(5)
        return Topic(
            query_id=str(index),
            doc_ids=tuple(map(str, range(5))),
            doc_vectors=kinds[[0, 0, 0, 0, 1]][order],
            subtopic_ids=("a",),
            judgments=np.array([[0], [0], [0], [0], [1]], np.int8)[order],
        )

    topics = TopicSet([odd_one_out(i) for i in range(200)], name="odd one out")
    found = {}
    for policy in ("bilinear", "attention"):
        learner: Any = make_ranker(
            "mdp-div-batched",
            policy=policy,
            epochs=20,
            horizon=1,
            learning_rate=0.01,
            entropy=0.6,
            batch_topics=32,
            validation_measure="alpha_nDCG@1",
        )
        found[policy] = learner.fit(topics[:150], topics[150:], seed=0).best_validation
    assert found["attention"] > 0.9
    assert found["bilinear"] < 0.75


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "attentive"}, "policy"),
        ({"attention_width": 0}, "attention_width"),
        ({"attention_width": 9}, "attention_width must be a multiple of attention_heads, got 9 and 2"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_ranker("mdp-div", **options)
