from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_topics import judged_topic, ragged

from srd_agents.mdp_div.network import RecurrentPolicy
from srd_agents.networks.inputs import InputTensors
from srd_agents.networks.policy import Steps, acting, in_numpy
from srd_agents.registry import make_ranker
from srd_agents.reinforce.rollout import SampledEpisodes, roll_out
from srd_gym.core import SelectionCore
from srd_gym.data.synthetic import generate
from srd_gym.pruning import KNN, parse_pruning
from srd_gym.topic import TopicSet

RAGGED = ragged((1, 3, 11, 15, 30), width=8)
PRUNED = ["mdp-div-knn10", "mdp-div-knn20", "mdp-div-knn30", "mdp-div-ntn-d", "mdp-div-ntn-e"]


def episodes_of(topics: TopicSet, pruning: Any, rollouts: int = 1, order: int = 0) -> SampledEpisodes:
    network = RecurrentPolicy(8, 5, order_features=order)
    network.initialise(torch.Generator().manual_seed(1))
    network.shift.uniform_(-1, 1, generator=torch.Generator().manual_seed(3))
    network.scale.fill_(1.7)
    core, chosen = SelectionCore(topics, horizon=10, pruning=pruning), np.arange(len(topics))
    seen = InputTensors(core.arrays, network.shift, order=order > 0).batch(chosen)
    return roll_out(Steps(acting(network), in_numpy(seen), rollouts), core, chosen, rollouts, np.random.default_rng(2))


def test_pruning_nothing_draws_the_same_episodes() -> None:
    plain, kept = (episodes_of(RAGGED, pruning, rollouts=3, order=3) for pruning in (None, KNN(0.0)))
    for one, other in zip(plain, kept, strict=True):
        np.testing.assert_array_equal(one, other)


def test_knn30_needs_a_third_of_the_evaluations() -> None:
    topics = TopicSet([judged_topic(211)], name="large")
    counts = [np.count_nonzero(episodes_of(topics, pruning).allowed) for pruning in (None, KNN(0.3))]
    assert counts == [2065, 679]
    for name, count in (("mdp-div", 2065), ("mdp-div-knn30", 679)):
        ranker: Any = make_ranker(name, epochs=1)
        assert ranker.fit(topics, seed=0).records[-1]["evaluations"] == count


@pytest.mark.parametrize("strategy", [KNN(0.0), parse_pruning("knn:0.0+ranker:1.0:reset:mmr")])
def test_ranking_with_nothing_pruned_is_plain_ranking(strategy: Any) -> None:
    ranker: Any = make_ranker("mdp-div-batched", epochs=1)
    ranker.fit(RAGGED, seed=0)
    ranker.pruning = strategy
    for k in (1, 4, 100):
        for topic, ranking in zip(RAGGED, ranker.rank_batch(RAGGED, k), strict=True):
            np.testing.assert_array_equal(ranker._pruned(topic, k), ranking)


@pytest.mark.parametrize("name", PRUNED)
def test_rankings_obey_the_pruning_of_training_where_asked_for_and_none_else(name: str) -> None:
    ranker, plain = make_ranker(name, epochs=2, hidden_size=3), make_ranker("mdp-div", epochs=1)
    evaluations = [each.fit(RAGGED, seed=1).records[-1]["evaluations"] for each in (ranker, plain)]
    assert evaluations[0] < evaluations[1]
    alone: Any = make_ranker("mdp-div", hidden_size=3)
    alone._build(8)
    alone._network.load_state_dict(ranker._network.state_dict())
    alone.vector_width = 8
    for one, other in zip(ranker.rank_batch(RAGGED, 10), alone.rank_batch(RAGGED, 10), strict=True):
        np.testing.assert_array_equal(one, other)
    rankings = ranker.ranking_with(prune_ranking=True).rank_batch(RAGGED, 10)
    assert not ranker.config.prune_ranking
    core = SelectionCore(RAGGED, horizon=10, pruning=ranker.pruning, on_invalid="raise")
    core.reset(range(len(RAGGED)))
    for rank in range(10):
        core.step([int(row[rank]) if rank < len(row) else 0 for row in rankings])  # raises where masked
    assert core.done.all()


def test_a_resumed_run_trains_ntn_once_and_keeps_its_time(tmp_path: Any) -> None:
    topics = generate("serp", n_topics=20, seed=1)
    short, rest = (make_ranker("mdp-div-ntn-d", epochs=epochs, ntn_epochs=2, ntn_slices=2) for epochs in (2, 4))
    short.fit(topics[:14], topics[14:], seed=4, out=tmp_path)
    rest.fit(topics[:14], topics[14:], seed=4, out=tmp_path, resume=True)
    assert rest.pretraining_seconds == 0
    assert short.pretraining_seconds > 0
    times = [record["cpu_seconds"] for record in rest.history.records]
    assert times == sorted(times)
    assert times[0] == pytest.approx(short.pretraining_cpu_seconds, abs=1e-4)


def test_ntn_is_trained_on_the_training_topics() -> None:
    topics = generate("serp", n_topics=20, seed=1)
    ranker: Any = make_ranker("mdp-div-ntn-d", epochs=1, ntn_epochs=3, ntn_tensor_rate=0.02)
    ranker.fit(topics[:15], topics[15:], seed=0)
    assert ranker._ntn.config.tensor_rate == 0.02
    alone: Any = make_ranker("ntn-div", epochs=3)
    alone.fit(topics[:15], seed=0)  # all fifteen: a fifth less went into the other's own
    assert alone._weights().keys() == ranker._ntn._weights().keys()
    assert not np.allclose(alone._weights()["shift"], ranker._ntn._weights()["shift"])
    kept = SelectionCore(topics[15:], pruning=ranker.pruning)
    kept.reset(range(5))
    for index, topic in enumerate(topics[15:]):
        size = max(10, topic.n_candidates // 2)
        expected = np.zeros(topics[15:].max_candidates, bool)
        expected[ranker._ntn.rank(topic, size)] = True
        np.testing.assert_array_equal(kept.allowed[index], expected)
