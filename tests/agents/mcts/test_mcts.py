from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_topics import ragged

from srd_agents.mcts.loss import policy_loss, value_loss
from srd_agents.mcts.network import NumpyEvaluator, SearchNetwork
from srd_agents.networks.features import order_features
from srd_agents.networks.inputs import Inputs, log_policy
from srd_agents.registry import make_ranker
from srd_agents.training.validation import Validation
from srd_gym.data.synthetic import generate

SMALL: dict[str, Any] = {"hidden_size": 5, "simulations": 12, "rank_simulations": 12, "horizon": 5, "epochs": 3}


def learner(**options: Any) -> Any:
    return make_ranker("mcts", **(SMALL | options))


def test_on_held_out_topics_it_beats_chance_and_search_is_no_worse_than_the_raw_policy() -> None:
    fold = generate("serp", n_topics=80, seed=0).folds(5, 0)[0]
    ranker = learner(hidden_size=16, simulations=16)
    ranker.fit(fold.train, fold.validation, seed=0)
    test = Validation(fold.test, "alpha_nDCG@5")
    raw = test.mean(ranker.ranking_with(rank_by="policy"))
    assert raw > test.mean(make_ranker("random")) + 0.05
    for simulations in (16, 64):
        assert test.mean(ranker.ranking_with(rank_by="search", rank_simulations=simulations)) > raw - 0.02


def test_ranking_by_policy_is_the_argmax_of_the_network() -> None:
    ranker = learner()
    topics = ragged()
    ranker.fit(topics, seed=0)
    network = ranker._network
    for topic in topics[3:6]:
        query = np.zeros(7, np.float32) if topic.query_vector is None else topic.query_vector
        documents = torch.tensor(topic.doc_vectors)[None]
        with torch.no_grad():
            order = torch.tensor(order_features(topic))[None]
            scoring, inputs, state = network.project(Inputs(torch.tensor(query)[None], documents, None, order))
            ranking = ranker.ranking_with(rank_by="policy").rank(topic, 99)
            for rank, chosen in enumerate(ranking):
                logits = network.logits(scoring, state[:, None])[0, 0].numpy()
                assert logits[chosen] >= logits[ranking[rank:]].max() - 1e-5
                state = network.next_state(state, inputs[:, int(chosen)])


@pytest.mark.parametrize("read", [True, False])
def test_of_documents_alike_it_keeps_the_retrieval_order_where_it_reads_it(read: bool) -> None:
    topics = generate("serp", n_topics=6, seed=0)
    alike = topics.replace(replace(topic, doc_vectors=np.ones_like(topic.doc_vectors)) for topic in topics)
    ranker = learner(learning_rate=1e-9, epochs=1, retrieval_order=read)
    ranker.fit(alike, seed=0)
    kept = [np.array_equal(ranking, np.arange(15)) for ranking in ranker.rank_batch(alike, 15)]
    assert all(kept) if read else not any(kept)


@pytest.fixture(scope="module")
def trained() -> Any:
    ranker = learner()
    ranker.fit(ragged(), seed=0)
    return ranker


@pytest.mark.parametrize("by", ["policy", "value", "search"])
def test_a_longer_ranking_begins_with_the_shorter_one(by: Any, trained: Any) -> None:
    ranker = trained.ranking_with(rank_by=by)
    for short, long in zip(ranker.rank_batch(ragged(), 3), ranker.rank_batch(ragged(), 23), strict=True):
        np.testing.assert_array_equal(short, long[:3])


def test_a_budget_of_zero_ranks_by_the_raw_policy_and_says_so(trained: Any) -> None:
    raw = trained.ranking_with(rank_by="policy").rank_batch(list(ragged()), 9)
    with pytest.warns(UserWarning, match="no simulations to search with: it ranks by its raw policy"):
        fallen = trained.ranking_with(rank_by="search", rank_simulations=0).rank_batch(list(ragged()), 9)
    for one, other in zip(raw, fallen, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_loss_by_hand() -> None:
    values, outcome = torch.tensor([[0.5, 0.25]]), torch.tensor([1.0])
    target = torch.tensor([[[0.75, 0.25, 0.0], [1.0, 0.0, 0.0]]])
    allowed = torch.tensor([[[True, True, False], [True, False, False]]])
    log_pi = log_policy(torch.zeros(1, 2, 3), allowed)
    np.testing.assert_allclose(value_loss(values, outcome), [[0.25, 0.5625]])
    np.testing.assert_allclose(policy_loss(log_pi, target), [[np.log(2), 0.0]], rtol=1e-6)


def test_numpy_and_torch_compute_the_same_network() -> None:
    network = SearchNetwork(6, 5, order_features=3)
    network.initialise(torch.Generator().manual_seed(0))
    rng = np.random.default_rng(0)
    documents = torch.tensor(rng.normal(size=(3, 8, 6)), dtype=torch.float32)
    queries = torch.tensor(rng.normal(size=(3, 6)), dtype=torch.float32)
    with torch.no_grad():
        network.gate_bias.copy_(torch.tensor(rng.normal(size=20)))
        network.value_bias.fill_(0.3)
        assert network.order_weight is not None
        network.order_weight.copy_(torch.tensor([1.0, -2.0, 0.5]))
        order = torch.tensor(rng.random((3, 8, 3)), dtype=torch.float32)
        projection = network.project(Inputs(queries, documents, None, order))
        scoring, inputs, state = projection
        topics = [(scoring[i].numpy(), inputs[i].numpy(), state[i].numpy()) for i in range(3)]
        evaluator = NumpyEvaluator(network, topics)
        trees, chosen = np.arange(3), np.array([4, 0, 7])
        numpy_state = evaluator.initial(trees)
        lstm = torch.nn.LSTMCell(scoring.shape[2], 5)  # sizes of inputs do not matter: they are added as biases
        for _ in range(3):
            np.testing.assert_allclose(numpy_state, state, atol=1e-6)
            np.testing.assert_allclose(evaluator.values(trees, numpy_state), network.values(state), atol=1e-6)
            logits = network.logits(scoring, state[:, None])[:, 0]
            np.testing.assert_allclose(evaluator.logits(trees, numpy_state), logits, atol=1e-5)
            # Torch's own LSTM, its gates in the same order.
            lstm.weight_ih.zero_()
            lstm.bias_ih.zero_()
            lstm.bias_hh.zero_()
            lstm.weight_hh.copy_(network.recurrent_weight)
            expected = []
            for row in range(3):
                lstm.bias_ih.copy_(inputs[row, chosen[row]])
                h, c = lstm(torch.zeros(1, scoring.shape[2]), (state[row, None, 5:], state[row, None, :5]))
                expected.append(torch.cat([c, h], dim=1))
            state = network.next_state(state, inputs[torch.arange(3), torch.from_numpy(chosen)])
            np.testing.assert_allclose(state, torch.cat(expected), atol=1e-6)
            numpy_state = evaluator.advance(trees, numpy_state, chosen)
