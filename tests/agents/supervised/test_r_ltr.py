"""R-LTR, PAMM, SGDMM and ListMLE: likelihood and losses by hand and by formula; learning."""

from __future__ import annotations

import itertools
import logging
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srd_agents.registry import make_ranker
from srd_agents.supervised.linear.r_ltr import Prepared, exponential, log_likelihoods, logistic, perceptron
from srd_agents.supervised.samples import Samples
from srd_agents.validation import Validation
from srd_gym.data import generate
from srd_gym.protocols import SequentialScorer
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic, TopicSet

PAIRS = ("pamm", "sgdmm-log", "sgdmm-exp")
RELATIONAL = ("r-ltr", *PAIRS)
LEARNERS = (*RELATIONAL, "listmle")
POOLINGS: Any = ("min", "mean", "max")
POOL: Any = {"min": min, "max": max, "mean": lambda values: sum(values) / len(values)}


def drawn(seed: int, n: int = 4, lists: int = 2, ranks: int = 4, relations: int = 2) -> tuple[Prepared, Any]:
    """Random columns, relations of every document, and rankings of all counted ranks."""
    rng = np.random.default_rng(seed)
    columns, between = rng.random((n, 3), np.float32), rng.random((n, relations, n), np.float32)
    rankings = np.stack([rng.permutation(n)[:ranks] for _ in range(lists)])
    samples = Samples(rankings, np.ones((lists, ranks), np.bool_), np.ones(lists), lists)
    given = Prepared(columns, between, np.arange(n), samples)
    return given, rng.normal(size=3 + relations)


def phi(given: Prepared, ranked: list[int], i: int, pooling: str) -> np.ndarray[Any, Any]:
    """The columns of document i after those ranked, as Zhu et al. write them."""
    relations = given.relations.astype(np.float64)
    h = [POOL[pooling]([relations[j, d, i] for j in ranked]) if ranked else 0.0 for d in range(relations.shape[1])]
    return np.concatenate([given.relevance[i].astype(np.float64), h])


def equations(given: Prepared, ranking: list[int], weights: Any, pooling: str) -> tuple[float, Any]:
    """F(y) and its gradient, rank by rank and document by document (R-LTR; PAMM's Equations 9 to 12)."""
    value, gradient = 0.0, np.zeros(len(weights))
    for rank, chosen in enumerate(ranking):
        left = [i for i in range(len(given.relevance)) if i not in ranking[:rank]]
        columns = {i: phi(given, ranking[:rank], i, pooling) for i in left}
        total = sum(math.exp(weights @ columns[i]) for i in left)
        value += math.log(math.exp(weights @ columns[chosen]) / total)
        gradient += columns[chosen] - sum(math.exp(weights @ columns[i]) / total * columns[i] for i in left)
    return value, gradient


@pytest.mark.parametrize("pooling", POOLINGS)
@given(seed=st.integers(0, 500), ranks=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_likelihood_and_gradient_are_the_equations(pooling: Any, seed: int, ranks: int) -> None:
    given_, weights = drawn(seed, ranks=ranks)
    values, gradients = log_likelihoods(given_, weights, pooling)
    for value, gradient, ranking in zip(values, gradients, given_.samples.rankings.tolist(), strict=True):
        wanted, slope = equations(given_, ranking, weights, pooling)
        assert value == pytest.approx(wanted, abs=1e-4)
        np.testing.assert_allclose(gradient, slope, atol=1e-4)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_uncounted_ranks_give_nothing(pooling: Any) -> None:
    given_, weights = drawn(2, n=7, lists=3, ranks=5)
    given_.samples.counted[1, 3:] = False
    samples = given_.samples
    short = given_._replace(samples=samples._replace(rankings=samples.rankings[:, :3], counted=samples.counted[:, :3]))
    for whole, cut in zip(
        log_likelihoods(given_, weights, pooling), log_likelihoods(short, weights, pooling), strict=True
    ):
        np.testing.assert_allclose(whole[1], cut[1], atol=1e-5)


def test_many_rankings_go_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    given_, weights = drawn(3, n=6, lists=9, ranks=4)
    whole = log_likelihoods(given_, weights, "min")
    monkeypatch.setattr("srd_agents.supervised.linear.r_ltr._BLOCK", 100)
    for one, other in zip(whole, log_likelihoods(given_, weights, "min"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_pair_losses_by_hand() -> None:
    margin, wanted = np.array([0.5, 0.2, -1.0]), np.array([0.3, 0.2, 0.4])
    losses, slopes = perceptron(margin, wanted)
    assert (losses.tolist(), slopes.tolist()) == ([-0.0, -0.2, 1.0], [-0.0, -1.0, -1.0])
    losses, slopes = logistic(margin, wanted)
    assert losses[2] == pytest.approx(0.4 * math.log(1 + math.e))
    assert slopes[2] == pytest.approx(-0.4 * math.e / (1 + math.e))
    losses, slopes = exponential(margin, wanted)
    assert losses[2] == pytest.approx(0.4 * math.e)
    assert slopes[2] == pytest.approx(-0.4 * math.e)
    for loss in (logistic, exponential):
        ends = [loss(margin + step, wanted)[0] for step in (1e-6, -1e-6)]
        np.testing.assert_allclose(loss(margin, wanted)[1], (ends[0] - ends[1]) / 2e-6, rtol=1e-6)
        assert np.isfinite(loss(np.array([-1e4, 1e4]), np.ones(2))).all()


def prepared_pamm(topics: TopicSet, **options: Any) -> Any:
    learner: Any = make_ranker("pamm", optimizer="sgd", clip_norm=1e9, learning_rate=0.1, **options)
    learner.vector_width = topics.vector_width
    learner._build(topics.vector_width)
    learner._prepare(topics, 0)
    return learner


def test_pamms_update_is_its_equations() -> None:
    topics = TopicSet([toy(0)], name="toy")
    learner = prepared_pamm(topics, positives=2, negatives=4, negative_below=0.95)
    given_ = learner._topics[0]
    values, at = given_.samples.values, given_.samples.n_good
    counted = given_.samples.counted[0].sum()
    before = np.array(list(learner.weights_by_name.values()))
    found = [equations(given_, row[:counted], before, "min") for row in given_.samples.rankings.tolist()]
    step, pairs = np.zeros_like(before), 0
    for good, bad in itertools.product(range(at), range(at, len(found))):
        pairs += 1
        if found[good][0] - found[bad][0] <= values[good] - values[bad]:
            step += found[good][1] - found[bad][1]
    assert pairs == 8
    assert np.abs(step).max() > 0.1
    learner._update(np.array([0]))
    np.testing.assert_allclose(list(learner.weights_by_name.values()), before + 0.1 * step / pairs, atol=1e-5)


def toy(index: int) -> Topic:
    """Relevance is a column, subtopics are directions: four documents cover one of them, two each another one."""
    rng = np.random.default_rng([index, 7])
    subtopic = np.array([0, 0, 0, 0, 1, 2])
    judgments = np.zeros((12, 3), np.int8)
    judgments[np.arange(6), subtopic] = 1
    order = rng.permutation(12)
    centres = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    kind = np.concatenate([subtopic, np.full(6, 3)])
    return Topic(
        query_id=f"toy{index}",
        doc_ids=tuple(f"d{i}" for i in range(12)),
        doc_vectors=(centres[kind] + 0.05 * rng.normal(size=(12, 6)))[order],
        subtopic_ids=("0", "1", "2"),
        judgments=judgments[order],
        doc_features=np.stack([(np.arange(12) < 6) + 0.3 * rng.random(12), rng.random(12)], axis=1)[order],
        feature_names=("BM25", "noise"),
    )


def toys(count: int = 6) -> TopicSet:
    return TopicSet([toy(index) for index in range(count)], name="toys")


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_learns_the_toy_topics(name: str, pooling: str) -> None:
    options = {} if name == "listmle" else {"pooling": pooling, "negative_below": 0.9}
    if name == "r-ltr":
        del options["negative_below"]
    ranker: Any = make_ranker(name, epochs=100, depth=3, columns="BM25,noise", **options)
    history = ranker.fit(toys(), seed=0)
    if name != "pamm":  # a perceptron's loss counts only pairs that are still wrong
        assert history.records[-1]["loss"] < history.records[0]["loss"]
    by_name = ranker.weights_by_name
    assert by_name["BM25"] > max(0.0, by_name["noise"])
    unseen = Validation(TopicSet([toy(20 + i) for i in range(8)], name="unseen"), "alpha_nDCG@5")
    found = unseen.mean(ranker)
    # By relevance alone nothing tells the subtopics apart.
    assert 0.8 < found < 0.92 if name == "listmle" else found > 0.93
    assert unseen.mean(make_ranker("random")) < 0.6


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("measure", ["ERR_IA@20", "Dsharp_nDCG@20", "alpha_nDCG@20", "StRecall@3"])
def test_any_measure_trains(name: str, measure: str) -> None:
    ranker: Any = make_ranker(name, epochs=30, columns="BM25", measure=measure, negatives=5, negative_below=0.95)
    ranker.fit(toys(), seed=0)
    assert Validation(toys(), "alpha_nDCG@5").mean(ranker) > 0.85


@pytest.mark.parametrize("pooling", POOLINGS)
def test_ranking_is_greedy_by_score(pooling: str) -> None:
    topics = generate("web", n_topics=4, seed=0, candidates=(20, 30))
    ranker: Any = make_ranker("r-ltr", epochs=2, pooling=pooling)
    ranker.fit(topics[:3], seed=0)
    assert isinstance(ranker, SequentialScorer)
    topic = topics[3]
    ranking = ranker.rank(topic, 12)
    for rank, chosen in enumerate(ranking):
        allowed = np.ones(topic.n_candidates, np.bool_)
        allowed[ranking[:rank]] = False
        scores = ranker.score(topic, ranking[:rank], allowed)
        assert scores[chosen] >= scores[allowed].max() - 1e-5


@pytest.mark.parametrize("name", LEARNERS)
def test_one_candidate_and_constant_columns(name: str) -> None:
    single = Topic(
        query_id="one", doc_ids=("d",), doc_vectors=np.ones((1, 6)), subtopic_ids=("0",), judgments=np.ones((1, 1))
    )
    same = replace(toy(3), query_id="same", doc_vectors=np.full((12, 6), 0.1), doc_features=None, feature_names=())
    topics = TopicSet([single, same, *(replace(toy(i), query_id=f"q{i}") for i in range(3))], name="odd")
    ranker: Any = make_ranker(name, epochs=3)
    ranker.fit(topics, seed=0)
    check_ranker(ranker, list(topics))
    assert ranker.rank(single, 5).tolist() == [0]
    assert ranker.rank(same, 12).tolist() == list(range(12))  # nothing tells them apart: candidate order


def test_shortage_of_bad_rankings_is_told(caplog: pytest.LogCaptureFixture) -> None:
    easy = replace(toy(0), query_id="easy", judgments=np.ones((12, 3), np.int8))
    ranker: Any = make_ranker("pamm", epochs=1, columns="BM25")
    with caplog.at_level(logging.WARNING, logger="srd_agents"):
        ranker.fit(TopicSet([easy, *toys()], name="mixed"), seed=0)
    assert "1 of 7 topics have fewer than 20 random rankings of at most 0.8 of the ideal's alpha_nDCG (0 in all" in (
        caplog.text
    )
    with pytest.raises(
        ValueError, match=r"'pamm': no random ranking of 1 topics is as bad as negative_below=0.8.*raise"
    ):
        make_ranker("pamm", epochs=1).fit(TopicSet([easy], name="easy"))  # type: ignore[attr-defined]


def test_refusals() -> None:
    for name in LEARNERS:
        with pytest.raises(ValueError, match="has no weights yet"):
            make_ranker(name).weights_by_name  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ValueError, match=r"unknown feature column of topic 'toy0': 'BM52'. Did you mean BM25\?"):
        make_ranker("r-ltr", columns="BM52").fit(toys())  # type: ignore[attr-defined]
    for options, message in (
        ({"columns": "a,,b"}, "columns must be names separated by commas, got 'a,,b'"),
        ({"depth": 0}, "depth must be at least 1, got 0"),
        ({"pooling": "median"}, "unknown pooling: 'median'"),
        ({"negative_below": 2.0}, "negative_below must be a finite number from 0.0 to 1.0"),
        ({"optimizer": "sgdd"}, "unknown optimizer: 'sgdd'.*Did you mean sgd"),
    ):
        with pytest.raises(ValueError, match=message):
            make_ranker("pamm", **options)
