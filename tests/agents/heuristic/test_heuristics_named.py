from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_topics import refused, small_topic

from srd_agents import make_ranker
from srd_agents.heuristic.named import estimate
from srd_gym.data import load_ambient, load_texts
from srd_gym.measures import evaluate
from srd_gym.testing import check_ranker
from srd_gym.topic import Topic

NAMED = ("safe", "xquad", "pm2")
WIDTH = 24
needs_data = pytest.mark.skipif("SRD_DATA_DIR" not in os.environ, reason="SRD_DATA_DIR names no folder of data sets")


def drawn(seed: int, n: int = 60, names: int = 4, **changes: Any) -> Topic:
    """Half of the candidates are each about one of the names, near the query as these are."""
    rng = np.random.default_rng(seed)
    query = rng.standard_normal(WIDTH)
    meant = query + rng.standard_normal((names, WIDTH))
    about = rng.integers(2 * names, size=n)
    vectors = np.where((about < names)[:, None], meant[about % names], query) + rng.standard_normal((n, WIDTH))
    values: dict[str, Any] = {"query_vector": query, "doc_vectors": vectors, "retrieval_scores": np.arange(n, 0, -1)}
    values |= {"subtopic_vectors": meant, "subtopic_weights": np.ones(names)}
    return small_topic(
        about[:, None] == np.arange(names), f"q{seed}", doc_ids=tuple(map(str, range(n))), **(values | changes)
    )


def named(topic: Topic, vectors: Any) -> Topic:
    ids = tuple(map(str, range(len(vectors))))
    return replace(topic, subtopic_ids=ids, subtopic_vectors=vectors, subtopic_weights=None, judgments=None)


def value_of(topics: Sequence[Topic], rankings: Any) -> float:
    by_id = dict(zip([topic.query_id for topic in topics], rankings, strict=True))
    return evaluate(topics, by_id, ["alpha_nDCG@10"], "candidates").measures["alpha_nDCG@10"]


def gained(topics: list[Topic], name: str, told: list[Topic]) -> float:
    """What a ranker that is told these names adds to the order of the scores, on average."""
    rankings = make_ranker(name).rank_batch(told, 10)
    found, given = (value_of(topics, each) for each in (rankings, [np.arange(10)] * len(told)))
    return found - given


@pytest.mark.parametrize("name", NAMED)
def test_right_names_gain_and_others_do_little(name: str) -> None:
    topics = [drawn(seed) for seed in range(40)]
    right = [np.asarray(topic.subtopic_vectors) for topic in topics]
    of_others = [right[index - 1] for index in range(len(right))]
    rng = np.random.default_rng(0)
    lists = {
        "right": right,
        "repeated": [np.repeat(own, (5, 1, 1, 2), axis=0) for own in right],
        "half, half wrong": [np.vstack([own[:2], other[:2]]) for own, other in zip(right, of_others, strict=True)],
        "wrong": of_others,
        "of nothing": [rng.standard_normal((30, WIDTH)) for _ in right],
    }
    gains = {kind: gained(topics, name, list(map(named, topics, vectors))) for kind, vectors in lists.items()}
    assert gains["right"] > 0.1
    assert gains["repeated"] > 0.33
    assert gains["half, half wrong"] > 0.03
    assert min(gains["wrong"], gains["of nothing"]) > -0.02


SEEDS = st.integers(0, 9999)


@given(seed=SEEDS)
def test_names_with_weights_may_come_in_any_order(seed: int) -> None:
    topic = drawn(seed, subtopic_weights=np.arange(1.0, 5.0))
    moved = np.random.default_rng(seed).permutation(4)
    parts = {part: getattr(topic, part)[moved] for part in ("subtopic_vectors", "subtopic_weights")}
    shuffled = replace(topic, **parts, judgments=None)
    for name in NAMED:
        np.testing.assert_array_equal(make_ranker(name).rank(shuffled, 10), make_ranker(name).rank(topic, 10))


def evidence(seed: int, names: int = 3, n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    query = rng.standard_normal(n)
    return query + rng.standard_normal((names, n)), query


def by_rank(cosines: Any) -> Any:
    """Scores that tell ranks alone."""
    return 1.0 / np.arange(1, cosines.shape[1] + 1, dtype=np.float32)


@given(seed=SEEDS, scale=st.sampled_from([1e-3, 0.1, 7.0]), shift=st.sampled_from([-1.0, 0.0, 0.8]))
def test_the_scale_of_evidence_says_nothing(seed: int, scale: float, shift: float) -> None:
    cosines, query = evidence(seed)
    found = estimate(cosines, query, scores=by_rank(cosines))
    other = estimate(scale * (cosines + shift), scale * (query + shift), scores=by_rank(cosines))
    for one, two in zip(found, other, strict=True):
        np.testing.assert_allclose(one, two, atol=2e-3)


@given(seed=SEEDS)
def test_estimates_stay_in_their_ranges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cosines, query = evidence(seed, names=int(rng.integers(1, 6)), n=int(rng.integers(1, 30)))
    cosines[rng.random(cosines.shape) < 0.2] = np.nan
    if seed % 3 == 0:
        cosines[0] = 0.5  # of a name that tells nothing apart
    if seed % 5 == 0:
        cosines[0] = np.nan
    for known in (None, query):
        found = estimate(cosines, known, scores=by_rank(cosines) if seed % 2 else None)
        assert (found.coverage >= 0).all()
        assert (found.coverage.sum(axis=0) <= 1 + 1e-6).all()
        assert (found.weights >= 0).all()
        assert np.isfinite(found.order).all()
        assert 0 <= found.trust <= 1


def test_a_listed_name_counts_more_than_a_later_one() -> None:
    cosines, _ = evidence(0)
    falling = estimate(cosines, scores=by_rank(cosines)).weights
    assert (np.diff(falling) < 0).all()
    np.testing.assert_allclose(estimate(cosines, scores=by_rank(cosines), ordered=False).weights, 1)
    given = estimate(cosines, scores=by_rank(cosines), weights=np.array([1, 2, 3], dtype=np.float32)).weights
    np.testing.assert_allclose(given, [0.5, 1, 1.5])


def test_the_query_is_trusted_as_an_order_follows_it_and_few_candidates_stand_out() -> None:
    few = np.linspace(0.1, 0, 50) + 0.6 * (np.arange(50) < 5)
    cosines = np.random.default_rng(0).random((3, 50))
    trusted = estimate(cosines, few, scores=by_rank(cosines))
    assert trusted.trust > 0.5
    assert trusted.order[0] > 2 * trusted.order[10]
    assert estimate(cosines, few[::-1], scores=by_rank(cosines)).trust == 0
    assert estimate(cosines, few[::-1]).trust == 1
    assert estimate(cosines, np.linspace(1, 0, 50), scores=by_rank(cosines)).trust == 0


def test_scores_with_a_long_tail_are_trusted_whatever_the_query_says() -> None:
    rng = np.random.default_rng(0)
    cosines, query = rng.random((3, 50)), rng.random(50)
    engine = np.sort(rng.exponential(size=50))[::-1]
    few, ranks = (estimate(cosines, query, scores=scores) for scores in (engine, by_rank(cosines)))
    assert few.trust > 0.9
    assert ranks.trust < 0.1
    assert few.order[0] > 1.5 * ranks.order[0]
    assert few.order[0] > 2 * few.order[10]
    about = np.array([2, 0, 2])
    doubted, kept = (estimate(cosines + 2, query, about=about, scores=scores) for scores in (engine, by_rank(cosines)))
    assert doubted.weights[1] < 0.3 * kept.weights[1]


@pytest.mark.parametrize("n", [5, 100, 2000])
@pytest.mark.parametrize("of", [
    lambda rank: 1 / rank, lambda rank: 1 / (60 + rank), lambda rank: -rank, lambda rank: -np.log(rank), np.ones_like,
])  # fmt: skip
def test_scores_made_of_ranks_are_not_trusted(of: Callable[[Any], Any], n: int) -> None:
    cosines, query = np.random.default_rng(0).random((3, n)), np.random.default_rng(1).random(n)
    scores = of(np.arange(1, n + 1, dtype=np.float64)).astype(np.float32)
    found, plain = (estimate(cosines, query, scores=one) for one in (scores, -np.arange(n)))
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_order_that_only_repeats_the_querys_cosines_counts_less_and_names_more() -> None:
    cosines = np.random.default_rng(0).random((3, 50))
    falling = 3 + np.linspace(1, 0, 50)  # nearer to the query than to any name, and no candidate stands out
    repeats, other = (estimate(cosines, query, scores=by_rank(cosines)) for query in (falling, falling[::-1]))
    assert repeats.order[0] < 0.7 * other.order[0]
    assert (repeats.weights > 2 * other.weights).all()
    assert estimate(cosines, falling).order[0] == pytest.approx(other.order[0])


def test_a_name_that_is_not_about_the_query_is_doubted_more_where_no_candidate_is_near_it() -> None:
    rng = np.random.default_rng(0)
    cosines, query = rng.random((3, 50)), 1 + rng.random(50)
    (about, foreign), spoken_of = (
        [estimate(near, query, about=np.array(one), scores=by_rank(near)).weights for one in ([2, 2, 2], [2, 0, 2])]
        for near in (cosines, cosines + 2)
    )
    np.testing.assert_allclose(foreign[[0, 2]], about[[0, 2]])
    assert foreign[1] < 0.5 * about[1]
    np.testing.assert_allclose(*spoken_of)


def test_a_name_that_says_no_more_than_the_query_counts_little() -> None:
    rng = np.random.default_rng(0)
    query, noise = rng.random(100), rng.random((2, 100))
    near = np.stack([query + 0.05 * noise[0], query + noise[1]])
    weights = estimate(near, query, scores=by_rank(noise), ordered=False).weights
    assert weights[0] < 0.1
    assert weights[1] > 0.9
    for few in (1, 2):
        assert (estimate(noise[:, :few], query[:few], scores=by_rank(noise[:, :few])).weights > 0).all()


def few_asked_for(seed: int) -> tuple[Any, Any]:
    """Evidence of three names and of a query that only the first five of 50 candidates are near."""
    rng = np.random.default_rng(seed)
    query = np.linspace(0.1, 0, 50) + 0.6 * (np.arange(50) < 5)
    return 0.2 * rng.random((3, 50)), query


def test_a_name_makes_a_candidate_relevant() -> None:
    """As far as it is about the query, and cosines are trusted."""
    cosines, query = few_asked_for(0)
    cosines[:, 7] += 0.3
    plain, foreign = (
        estimate(cosines, query, about=np.full(3, about), scores=by_rank(cosines)).order for about in (0.6, 0.0)
    )
    assert plain[7] > 1.5 * plain[8]
    assert plain[7] / plain[8] > 1.5 * foreign[7] / foreign[8]
    idle = estimate(cosines, query[::-1], about=np.full(3, 0.6), scores=by_rank(cosines)).order
    assert idle[7] < 1.05 * idle[8]


def test_what_is_covered_is_to_be_relevant_where_no_name_is_nearer_than_the_query() -> None:
    cosines, query = few_asked_for(1)
    cosines[:, 45] = cosines[:, 8]  # alike but for the query
    covered = [estimate(names, query, scores=by_rank(names)).coverage[:, [8, 45]] for names in (cosines, cosines + 0.7)]
    (short, other) = (one[:, 0] / one[:, 1] for one in covered)
    assert (short > 1.02 * other).all()


def test_the_less_names_keep_the_more_the_order_counts() -> None:
    cosines, query = few_asked_for(2)
    worth = [
        estimate(names, query, about=np.full(3, about), scores=by_rank(names)).order[0]
        for names, about in ((cosines + 0.7, 0.6), (cosines, 0.6), (cosines - 0.5, 0.0))
    ]
    assert worth[0] <= worth[1] < 0.1 * worth[2]


@pytest.mark.parametrize("scores", [None, np.arange(60, 0, -1)])
def test_names_without_a_word_of_the_documents_change_nothing(scores: Any) -> None:
    topic, ranker = drawn(5, retrieval_scores=scores), make_ranker("safe")
    found = ranker.rank(named(topic, np.zeros((3, WIDTH), np.float32)), 10)
    assert found.tolist() == ranker.rank(replace(topic, subtopic_vectors=None, judgments=None), 10).tolist()
    cosines, query = evidence(0)
    cosines[1] = 0.0
    assert (estimate(cosines, query).coverage.any(axis=1) == [True, False, True]).all()


@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_query_expansion_is_the_cosine_with_query_and_names(weight: float) -> None:
    topic = drawn(3)
    units = [
        part / np.linalg.norm(part, axis=-1, keepdims=True)
        for part in (topic.query_vector, topic.subtopic_vectors, topic.doc_vectors)
    ]
    wanted = np.argsort(-(units[2] @ (units[0] + weight * units[1].mean(axis=0))), kind="stable")[:12]
    ranker = make_ranker("query-expansion", weight=weight)
    assert (
        ranker.rank(replace(topic, subtopic_vectors=3 * np.asarray(topic.subtopic_vectors)), 12).tolist()
        == wanted.tolist()
    )
    check_ranker(ranker, [topic, drawn(4, n=3)])
    for part, message in (("query_vector", "has no query vector"), ("subtopic_vectors", "has no subtopic vectors")):
        refused(lambda part=part: ranker.rank(replace(topic, **{part: None}), 3), message)
    for vectors in (topic.subtopic_vectors, None):
        rated = replace(topic, subtopic_vectors=vectors, subtopic_scores=np.ones((60, 4)))
        refused(lambda rated=rated: ranker.rank(rated, 3), "has subtopic scores, .* leave subtopic_scores out")


@needs_data
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize(("collection", "least"), [
    ("ambient", {"safe": 0.80}), ("key-points", {"safe": 0.50, "xquad": 0.50}),
])  # fmt: skip
def test_real_texts_gain_by_the_subtopics_that_judges_wrote(
    collection: str, least: dict[str, float], name: str
) -> None:
    root = Path(os.environ["SRD_DATA_DIR"])
    folder = root / collection if collection == "ambient" else root / "texts" / collection
    load: Any = load_ambient if collection == "ambient" else load_texts
    topics = load(folder, vectors=folder / "minilm-384.npz")
    found = value_of(topics, make_ranker(name).rank_batch(topics, 10))
    before = value_of(topics, [np.arange(10)] * len(topics))
    assert found > max(before + 0.05, least.get(name, 0.0))
