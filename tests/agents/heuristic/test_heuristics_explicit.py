from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import judged_topic, refused

from srd_agents import make_ranker
from srd_agents.heuristic.relevance import relevance_of
from srd_agents.heuristic.stepwise import ESTIMATED, least_tied
from srd_gym.data import generate
from srd_gym.topic import Topic

EXPLICIT = ("xquad", "pm2")


def drawn(n: int, s: int, seed: int) -> Topic:
    rng = np.random.default_rng(seed)
    named = {"subtopic_vectors": rng.standard_normal((s, 5)), "subtopic_weights": rng.random(s) + 0.1}
    return judged_topic(n, seed, 5, s, query_id=f"q{seed}", judgments=None, **named)


def plain_coverage(topic: Topic, scaling: str) -> Any:
    documents, subtopics = topic.doc_vectors.astype(float), topic.subtopic_vectors.astype(float)
    cosines = documents @ subtopics.T
    cosines /= np.linalg.norm(documents, axis=1)[:, None] * np.linalg.norm(subtopics, axis=1)
    if scaling == "cosine":
        return np.maximum(cosines, 0)
    axis = None if scaling == "topic" else 0
    low, high = cosines.min(axis=axis, keepdims=True), cosines.max(axis=axis, keepdims=True)
    return np.where(high == low, 1.0, (cosines - low) / np.where(high == low, 1.0, high - low))


def plain_xquad(topic: Topic, coverage: Any, lambda_: float, selected: list[int]) -> Any:
    weights = topic.subtopic_weights / topic.subtopic_weights.sum()
    relevance = relevance_of(topic, "cosine" if topic.retrieval_scores is None else "scores", "")
    left = np.prod(1 - coverage[selected], axis=0)
    return lambda_ * relevance + (1 - lambda_) * (coverage @ (weights * left))


def plain_pm2(topic: Topic, coverage: Any, lambda_: float, selected: list[int]) -> Any:
    weights = topic.subtopic_weights / topic.subtopic_weights.sum()
    totals = coverage[selected].sum(axis=1, keepdims=True)
    seats = (coverage[selected] / np.where(totals > 0, totals, 1)).sum(axis=0)
    quotients = weights / (2 * seats + 1)
    turns = np.flatnonzero(quotients == quotients.max())[:, None]
    shares = np.where(np.arange(len(weights)) == turns, lambda_, 1 - lambda_) * quotients
    return (coverage @ shares.T).max(axis=1)


TOPICS = st.builds(
    lambda n, s, seed, changes: replace(drawn(n, s, seed), **changes),
    n=st.integers(1, 12),
    s=st.integers(1, 6),
    seed=st.integers(0, 9999),
    changes=st.sampled_from([{}, {"query_vector": None}, {"retrieval_scores": None}, {"subtopic_weights": None}]),
)
OPTIONS = st.fixed_dictionaries(
    {
        "lambda_": st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
        "coverage": st.sampled_from(["topic", "subtopic", "cosine"]),
        "sharpness": st.sampled_from([1, 2.5]),
    }
)


@pytest.mark.parametrize("name", EXPLICIT)
@given(topic=TOPICS, options=OPTIONS)
@settings(max_examples=120)
def test_explicit_rankers_are_their_formulas(name: str, topic: Topic, options: dict[str, Any]) -> None:
    n, s, lambda_ = topic.n_candidates, topic.n_subtopics, options["lambda_"]
    topic = replace(topic, subtopic_weights=np.ones(s)) if topic.subtopic_weights is None else topic
    relevance = {"relevance": "cosine" if topic.retrieval_scores is None else "scores"} if name == "xquad" else {}
    ranker: Any = make_ranker(name, **options, **relevance)
    ranking, allowed = ranker.rank(topic, n + 3), np.ones(n, dtype=bool)
    coverage = plain_coverage(topic, options["coverage"]) ** options["sharpness"]
    plain = plain_xquad if name == "xquad" else plain_pm2
    assert sorted(ranking.tolist()) == list(range(n))
    for rank, chosen in enumerate(ranking.tolist()):
        scores = ranker.score(topic, ranking[:rank], allowed)
        wanted = plain(topic, coverage, lambda_, ranking[:rank].tolist())
        np.testing.assert_allclose(scores[allowed], wanted[allowed], atol=3e-6)
        assert scores[chosen] >= least_tied(scores.max(), ESTIMATED)
        allowed[chosen] = False


@pytest.mark.parametrize("name", EXPLICIT)
def test_the_order_of_subtopics_decides_nothing(name: str) -> None:
    rng = np.random.default_rng(0)
    for topic in generate("web", n_topics=10, seed=3, candidates=(40, 40)):
        order = rng.permutation(topic.n_subtopics)
        moved = replace(topic, subtopic_vectors=topic.subtopic_vectors[order])
        for lambda_ in (0.3, 0.9):
            ranker = make_ranker(name, lambda_=lambda_, coverage="subtopic")
            np.testing.assert_array_equal(ranker.rank(moved, 20), ranker.rank(topic, 20))


# Scores of subtopics, beside vectors or in their place

RATED = ("xquad", "pm2", "safe")
NAN = np.nan


def rated(scores: Any, **changes: Any) -> Topic:
    """A topic of documents that all lie alike, so that only the scores tell them apart."""
    n, s = np.shape(scores)
    about: dict[str, Any] = {"doc_vectors": np.eye(n), "query_vector": None, "subtopic_weights": None}
    about |= {"retrieval_scores": np.ones(n), "subtopic_vectors": None, "subtopic_scores": scores}
    return judged_topic(n, 0, n, s, judgments=None, **(about | changes))


@pytest.mark.parametrize("name", RATED)
@given(seed=st.integers(0, 9999))
def test_scores_count_within_their_subtopic_on_any_scale(name: str, seed: int) -> None:
    topic, rng = drawn(9, 3, seed), np.random.default_rng(seed)
    scores = np.where(rng.random((9, 3)) < 0.3, NAN, rng.integers(0, 6, (9, 3)))
    moved = scores * [1, 1024, 2**-10] + [0, -8, 4]  # numbers that float32 holds
    ranker: Any = make_ranker(name)
    for lacks in ({}, {"subtopic_vectors": None}, {"subtopic_vectors": None, "query_vector": None}):
        one, other = (replace(topic, subtopic_scores=given, **lacks) for given in (scores, moved))
        np.testing.assert_array_equal(ranker.rank(one, 9), ranker.rank(other, 9))


@pytest.mark.parametrize("name", RATED)
def test_scores_go_before_vectors_and_vectors_fill_what_is_not_rated(name: str) -> None:
    topic, ranker = drawn(12, 3, 0), make_ranker(name)
    unit = topic.doc_vectors / np.linalg.norm(topic.doc_vectors, axis=1, keepdims=True)
    cosines = unit @ (topic.subtopic_vectors / np.linalg.norm(topic.subtopic_vectors, axis=1, keepdims=True)).T
    by_vectors = ranker.rank(topic, 12).tolist()
    # Scores that say what the vectors say, on another scale; of some documents, all of them or none.
    for unrated in (slice(0), slice(4, None), slice(None)):
        scores = 5 * cosines + 100
        scores[unrated] = NAN
        assert ranker.rank(replace(topic, subtopic_scores=scores), 12).tolist() == by_vectors
    opposite = replace(topic, subtopic_vectors=-topic.subtopic_vectors, subtopic_scores=cosines)
    assert opposite.subtopic_scores is not None
    first = int(ranker.rank(opposite, 1)[0])
    standing = (cosines - cosines.mean(axis=0)) / cosines.std(axis=0)
    assert standing[first].max() > 1, "by the scores, not by the vectors"


@pytest.mark.parametrize("name", RATED)
@pytest.mark.parametrize(("scores", "told"), [
    ([[5, 0], [5, 0], [5, 0], [0, 5]], True),
    ([[0.5, -3], [NAN, NAN], [0.4, -3], [-0.9, -1]], True),  # nobody rated the second
    ([[NAN, 0], [NAN, 0], [NAN, 0], [NAN, 5]], True),
    ([[5, 0], [5, 0], [4, 0], [NAN, 5]], True),  # many speak of the first, and that is no less a subtopic
    ([[5, 5]] * 4, False),
    ([[-5, -5]] * 4, False),
    ([[NAN, NAN]] * 4, False),
])  # fmt: skip
def test_each_subtopic_is_covered_as_it_is_rated_and_else_the_order_stays(name: str, scores: Any, told: bool) -> None:
    if told:
        assert 3 in make_ranker(name).rank(rated(scores), 2)
    else:
        in_order = rated(scores, retrieval_scores=[4, 3, 2, 1])
        assert make_ranker(name).rank(in_order, 4).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", EXPLICIT)
def test_rated_documents_need_no_vectors(name: str) -> None:
    scores = [[5, 0], [5, 0], [5, 0], [0, 5]]
    bare = rated(scores, doc_vectors=None)
    assert 3 in make_ranker(name).rank(bare, 2)
    np.testing.assert_array_equal(make_ranker(name).rank(bare, 4), make_ranker(name).rank(rated(scores), 4))
    unrated = rated(scores, subtopic_scores=None)
    refused(lambda: make_ranker(name).rank(unrated, 2), "no subtopic vectors.*subtopic_scores=")


@pytest.mark.parametrize("name", [*EXPLICIT, "safe", "query-expansion"])
def test_subtopics_that_only_the_judges_know_change_nothing(name: str) -> None:
    named = [replace(drawn(9, 3, seed), subtopic_texts=("a", "b", "c")) for seed in range(4)]
    weights = [np.append(topic.subtopic_weights, [1.0, 2.0]) for topic in named]
    more = [
        replace(
            topic,
            subtopic_ids=(*topic.subtopic_ids, "x", "y"),
            subtopic_texts=(*topic.subtopic_texts, "", ""),
            subtopic_vectors=np.vstack([topic.subtopic_vectors, np.zeros((2, 5))]),
            subtopic_weights=own,
        )
        for topic, own in zip(named, weights, strict=True)
    ]
    ranker = make_ranker(name)
    np.testing.assert_array_equal(ranker.rank_batch(more, 9), ranker.rank_batch(named, 9))
    np.testing.assert_array_equal(ranker.rank(more[0], 5), ranker.rank(named[0], 5))
