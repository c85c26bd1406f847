from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_topics import judged_topic

from srd_agents.networks.features import relevance_features
from srd_agents.registry import make_ranker
from srd_agents.supervised.ntn_div.agent import pieces
from srd_agents.supervised.ntn_div.network import NtnNetwork, candidates_on_offer, margin_loss, ranking_log_likelihood
from srd_agents.supervised.ntn_div.scoring import TensorScorer
from srd_agents.supervised.samples import Sampler
from srd_gym.topic import Topic, TopicSet

NINE = judged_topic(9, 0, 4, 4)
POOLINGS: Any = ["max", "min", "mean"]


def network(pooling: Any, slices: int, width: int = 4, seed: int = 0) -> NtnNetwork:
    made = NtnNetwork(width, slices, pooling, 4)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
        made.shift.copy_(torch.randn(width, generator=generator))
        made.scale.fill_(1.7)
    return made


def scorer_of(net: NtnNetwork) -> TensorScorer:
    return TensorScorer({name: tensor.detach().numpy() for name, tensor in net.state_dict().items()}, net.pooling)


def by_formula(net: NtnNetwork, one: Topic, selected: list[int]) -> np.ndarray[Any, Any]:
    values = {name: tensor.detach().double().numpy() for name, tensor in net.state_dict().items()}
    points = (one.doc_vectors.astype(np.float64) - values["shift"]) / values["scale"]
    pool = {"max": np.max, "min": np.min, "mean": np.mean}[net.pooling]
    out = []
    for point, row in zip(points, relevance_features(one), strict=True):
        score = point @ values["vector_weight"] + row @ values["feature_weight"]
        for index in range(net.slices if selected else 0):
            matrix = values["tensor"][:, :, index] + values["similarity_weight"][index] * np.eye(net.width)
            bent = [np.tanh(points[s] @ matrix @ point / net.width) for s in selected]
            score += values["slice_weight"][index] * pool(bent)
        out.append(score)
    return np.array(out)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("slices", [1, 7])
def test_network_and_scorer_are_the_formula(pooling: Any, slices: int) -> None:
    net, one = network(pooling, slices), NINE
    scorer, ranking = scorer_of(net), np.array([5, 2, 8, 0])
    documents, features = torch.tensor(one.doc_vectors)[None], torch.tensor(relevance_features(one))[None]
    found = net(documents, features, torch.tensor(ranking)[None, None])[0, 0].detach().numpy()
    for rank in range(4):
        expected = by_formula(net, one, ranking[:rank].tolist())
        np.testing.assert_allclose(found[rank], expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(scorer.scores(one, ranking[:rank]), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_and_pieces_change_no_topics_loss(pooling: Any) -> None:
    learner: Any = make_ranker("ntn", pooling=pooling, slices=3, depth=5)
    topics = TopicSet([judged_topic(n, seed, 4, 4) for seed, n in enumerate([9, 3, 14, 6])], name="four")
    learner.prepare(topics)
    together = learner._loss(learner._topics).detach()
    alone = [learner._loss([one]).item() for one in learner._topics]
    assert together.tolist() == pytest.approx(alone, rel=1e-4, abs=1e-5)
    assert [len(piece) for piece in pieces(learner._topics, 10**9)] == [1, 1, 1, 1]


def test_likelihood_is_plackett_luce() -> None:
    scores = torch.tensor([0.3, -1.0, 2.0, 0.5]).expand(1, 1, 3, 4)
    rankings = torch.tensor([[[2, 0, 1]]])
    on_offer = candidates_on_offer(rankings, torch.tensor([[True, True, True, False]]))
    assert on_offer[0, 0].int().tolist() == [[1, 1, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0]]
    counted = torch.ones(1, 1, 3, dtype=torch.bool)
    e = np.exp([0.3, -1.0, 2.0])
    expected = np.log(e[2] / e.sum()) + np.log(e[0] / (e[0] + e[1]))
    assert ranking_log_likelihood(scores, rankings, on_offer, counted).item() == pytest.approx(expected, abs=1e-6)
    counted[0, 0, 1:] = False
    assert ranking_log_likelihood(scores, rankings, on_offer, counted).item() == pytest.approx(np.log(e[2] / e.sum()))


def test_margin_counts_the_pairs_that_differ_too_little() -> None:
    good, bad = torch.tensor([1.0, 5.0], requires_grad=True), torch.tensor([0.9, 0.0], requires_grad=True)
    loss = margin_loss(good, bad, torch.ones(2), torch.full((2,), 0.2))
    assert loss.item() == pytest.approx(-0.1 / 4)  # only 1.0 against 0.9 differs by less than 0.8
    by_good, by_bad = torch.autograd.grad(loss, (good, bad))
    assert by_good.tolist() == [-0.25, 0.0]
    assert by_bad.tolist() == [0.25, 0.0]
    assert margin_loss(good, bad[:0], torch.ones(2), torch.ones(0)).item() == 0


@given(seed=st.integers(0, 500), n=st.integers(1, 20))
def test_samples_are_what_they_say(seed: int, n: int) -> None:
    one = judged_topic(n, seed, 4, 4)
    samples = Sampler("alpha_nDCG", 6).pairs(one, 4, 5, 0.8, np.random.default_rng(seed))
    depth = min(6, n)
    rankings, values, good = samples.rankings, samples.values, samples.n_good
    assert rankings.shape == samples.counted.shape == (len(values), depth)
    assert all(len(set(row.tolist())) == depth for row in rankings)
    assert values[:good] == pytest.approx(np.ones(good))  # swaps change no value
    assert (values[good:] <= 0.8).all()
    assert 1 <= good <= 4
    assert len(values) - good <= 5
    judgments = one.judgments
    for row in rankings[:good]:
        assert sorted(judgments[row].tolist()) == sorted(judgments[rankings[0]].tolist())
