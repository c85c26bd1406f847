"""SSD, COVER, facility location and saturated coverage: formulas, pyversity, brute force, and the lazy choice."""

from __future__ import annotations

from itertools import combinations
from math import e
from typing import Any

import numpy as np
import pytest
from small_topics import refused

from srd_agents import make_ranker
from srd_agents.heuristic import coverage
from srd_agents.pipeline.capabilities import with_diversity
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic

COVERING = ("cover", "facility-location", "saturated-coverage")


def topic_of(vectors: Any, scores: Any = None) -> Topic:
    falling = np.linspace(1, 0, len(vectors)) if scores is None else scores
    return Topic(
        query_id="q",
        doc_ids=tuple(f"d{i}" for i in range(len(vectors))),
        doc_vectors=vectors,
        retrieval_scores=falling,
        query_vector=np.ones(np.shape(vectors)[1]),
    )


def drawn(rng: Any, n: int, width: int, clusters: int = 0) -> Topic:
    vectors = rng.standard_normal((n, width), dtype=np.float32)
    if clusters:
        vectors = (
            0.5 * vectors + rng.standard_normal((clusters, width), dtype=np.float32)[rng.integers(clusters, size=n)]
        )
    return topic_of(vectors, np.sort(rng.random(n, dtype=np.float32))[::-1])


def units_of(topic: Any) -> Any:
    wide = topic.doc_vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)


def covered(name: str, topic: Topic, chosen: list[int]) -> float:
    """C of the papers, the mean over candidates, in float64."""
    near = (units_of(topic) @ units_of(topic).T).clip(min=0)
    total = near[:, chosen].sum(axis=1)
    if name == "cover":
        each = total**0.5
    elif name == "facility-location":
        each = near[:, chosen].max(axis=1, initial=0)
    else:
        each = np.minimum(total, min(1, 5 / len(near)) * near.sum(axis=1))
    return float(each.mean())


@pytest.mark.parametrize("name", COVERING)
@pytest.mark.parametrize("lambda_", [0.0, 0.1, 0.5, 1.0])
def test_scores_are_relevance_and_what_a_document_adds(name: str, lambda_: float) -> None:
    topic = drawn(np.random.default_rng(1), 12, 5, clusters=3)
    ranker: Any = make_ranker(name, lambda_=lambda_, relevance="scores")
    ranking, everything = ranker.rank(topic, 12).tolist(), np.ones(12, bool)
    for rank, chosen in enumerate(ranking):
        before = ranking[:rank]
        added = [covered(name, topic, [*before, d]) - covered(name, topic, before) for d in range(12)]
        wanted = lambda_ * np.asarray(topic.retrieval_scores) + (1 - lambda_) * np.array(added)
        scores = ranker.score(topic, np.array(before, np.int64), everything)
        np.testing.assert_allclose(scores, wanted, atol=2e-6)
        assert chosen == np.where(np.isin(np.arange(12), before), -np.inf, scores).argmax()


@pytest.mark.parametrize("name", COVERING)
def test_greedy_is_within_its_guarantee_of_the_best_set(name: str) -> None:
    for seed in range(20):
        topic = drawn(np.random.default_rng(seed), 8, 4, clusters=seed % 4)
        best = max(covered(name, topic, list(some)) for some in combinations(range(8), 3))
        greedy = covered(name, topic, make_ranker(name, lambda_=0.0).rank(topic, 3).tolist())
        assert (1 - 1 / e) * best <= greedy <= best + 1e-9


def odd_topics() -> list[Topic]:
    """Topics in which bounds mislead: ties, copies, zeros, no relevance."""
    rng = np.random.default_rng(0)
    copies = rng.standard_normal((10, 16), dtype=np.float32)[rng.integers(10, size=150)]
    few = rng.integers(-1, 2, size=(150, 3)).astype(np.float32)
    flat = np.zeros(150)
    zeros = np.where(np.arange(150)[:, None] % 3 == 0, 0, few)
    return [
        drawn(rng, 150, 16),
        drawn(rng, 150, 16, clusters=7),
        *(topic_of(vectors, scores) for vectors in (copies, few, zeros) for scores in (None, flat)),
    ]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", ["mean", "sum"])
@pytest.mark.parametrize("lambda_", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", COVERING)
def test_lazy_choice_is_the_eager_one(name: str, lambda_: float, scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for topic in odd_topics():
        ranker = make_ranker(name, lambda_=lambda_, scale=scale)
        rankings = []
        for limit in (0, 1 << 40):
            monkeypatch.setattr(coverage, "LAZY_FROM", limit)
            rankings.append(ranker.rank(topic, 60).tolist())
        assert rankings[0] == rankings[1]
        assert len(set(rankings[0])) == 60


@pytest.mark.parametrize("name", COVERING)
def test_lazily_most_candidates_are_computed_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, computed = drawn(np.random.default_rng(3), 600, 8, clusters=20), list[int]()
    real = coverage._gains

    def counted(ranker: Any, similarities: Any, *rest: Any) -> Any:
        computed.append(len(similarities))
        return real(ranker, similarities, *rest)

    monkeypatch.setattr(coverage, "_gains", counted)
    make_ranker(name).rank(topic, 20)
    assert 600 < sum(computed) < 600 + 19 * 300  # eagerly: 20 * 600


@pytest.mark.parametrize("name", ["ssd", *COVERING])
def test_contract_of_rankers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    shapes = [(9, 5)] * 5 + [(40, 6), (1, 5), (1, 5), (40, 7)]
    topics = [drawn(rng, n, width) for n, width in shapes]
    for limit in (100, 1 << 40):  # with large topics ranked alone, and without
        monkeypatch.setattr(coverage, "LAZY_FROM", limit)
        check_ranker(make_ranker(name), topics, k=12)
    ranker, topic = make_ranker(name, relevance="cosine"), drawn(rng, 60, 9)
    order = rng.permutation(60)
    np.testing.assert_array_equal(order[ranker.rank(topic.take(order), 30)], ranker.rank(topic, 30))
    twice = topic_of(np.concatenate([topic.doc_vectors] * 2))
    for position, document in enumerate((ranking := ranker.rank(twice, 40)).tolist()):
        assert document < 60 or document - 60 in ranking[:position]


@pytest.mark.parametrize("name", ["ssd", "cover"])
def test_choices_are_those_of_pyversity_on_a_thousand_topics(name: str) -> None:
    pyversity = pytest.importorskip("pyversity")
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        n, width = int(rng.integers(1, 60)), int(rng.integers(2, 40))
        # Where as many documents as dimensions are chosen, pyversity orders the rest by rounding errors.
        k = int(rng.integers(1, width + 1)) if name == "ssd" else int(rng.integers(1, 30))
        diversity, topic = float(rng.choice([0, 0.1, 0.3, 0.5, 0.8, 1])), drawn(rng, n, width, clusters=6 * (seed % 2))
        options: Any = {"gamma": float(rng.choice([0.2, 0.5, 1]))}
        ours = {"scale": "sum"} if name == "cover" else {}
        if name == "ssd":
            options["window"] = None if seed % 3 else int(rng.integers(1, 8))
        ranker: Any = make_ranker(name, lambda_=1 - diversity, relevance="scores", **options, **ours)
        given = (topic.doc_vectors, topic.retrieval_scores, k)
        theirs = pyversity.diversify(*given, strategy=pyversity.Strategy(name), diversity=diversity, **options).indices
        ranking = ranker.rank(topic, k)
        different = np.flatnonzero(ranking != theirs)
        if len(different):  # only where float32 cannot tell two documents apart
            rank = int(different[0])
            scores = ranker.score(topic, ranking[:rank], np.ones(n, dtype=bool))
            gap = abs(scores[ranking[rank]] - scores[theirs[rank]])
            assert gap < 2e-6 * (1 + abs(scores[ranking[rank]])), seed


def test_ssd_forgets_what_leaves_the_window() -> None:
    # With the 1 appended, nothing is left of a copy, sqrt(3/2) at a right angle, sqrt(2) of the opposite.
    topic = topic_of(np.array([[1, 0], [1, 0], [0, 1], [-1, 0]]), scores=np.zeros(4))
    assert make_ranker("ssd", lambda_=0.0).rank(topic, 4).tolist() == [0, 3, 2, 1]
    ranker: Any = make_ranker("ssd", lambda_=0.0, window=1)
    scores = ranker.score(topic, np.array([0]), np.ones(4, bool))
    np.testing.assert_allclose(scores, np.sqrt([0, 0, 1.5, 2]), atol=1e-6)
    # The last one alone counts: the copy of the first is new again.
    assert ranker.rank(topic, 4).tolist() == [0, 3, 1, 2]
    refused(lambda: make_ranker("ssd", window=0), "window must be at least 1")
    refused(lambda: make_ranker("cover", gamma=0.0), "gamma must be")


@pytest.mark.parametrize("name", COVERING)
def test_coverage_takes_no_diversity(name: str) -> None:
    refused(lambda: with_diversity(make_ranker(name), 0.5), f"difference, which ranker '{name}' does not: .*dpp, ssd,")
