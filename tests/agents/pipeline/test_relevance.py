"""Relevance as `diversity` weighs it: one scale for cosines, scores and ranks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_topics import Own, adapted, refused

from srd_agents import diversify, make_ranker
from srd_agents.heuristic.relevance import matched
from srd_agents.integrations.ranking import Adapter
from srd_agents.pipeline.capabilities import rankers_with
from srd_gym.topic import FloatArray, Topic
from srd_train.serving.json_lines import content_of, topic_of


def case(seed: int = 0, n: int = 12, width: int = 5) -> tuple[Any, Any, Any]:
    """A query [F], documents [N, F] and their cosines [N]."""
    generator = np.random.default_rng(seed)
    query, vectors = generator.normal(size=width), generator.normal(size=(n, width))
    return query, vectors, vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)


def ranked(*arguments: Any, **options: Any) -> list[int]:
    return diversify(*arguments, **options).indices.tolist()


@pytest.mark.parametrize("ranker", ["mmr", "msd", "dpp"])
@pytest.mark.parametrize("diversity", [0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), copied=st.booleans())
def test_cosines_as_scores_are_the_cosines_computed(ranker: str, diversity: float, seed: int, copied: bool) -> None:
    query, vectors, cosines = case(seed, width=9)  # more than ranks, beyond which all tie for dpp
    if copied:
        vectors[3], cosines[3] = vectors[7], cosines[7]
    wanted = ranked(query, vectors, 8, ranker, diversity=diversity)
    for scores in (cosines, cosines.astype(np.float32), cosines.tolist()):
        assert ranked(query, vectors, 8, ranker, scores, diversity=diversity) == wanted
    if diversity < 1:  # at 1 all tie for the first rank, which goes to the highest score
        assert ranked(query, vectors, 8, ranker, -cosines, diversity=diversity, relevance="cosine") == wanted


def first_stages(rng: np.random.Generator, cosines: Any) -> dict[str, Any]:
    """Scores [N] as first stages of six kinds give them."""
    n = len(cosines)
    likely = np.exp(3 * (cosines + 0.1 * rng.normal(size=n)))
    return {
        "reciprocal ranks": 1 / (60 + rng.permutation(n)),
        "cosines": cosines,
        "cosines * 100": 100 * cosines,
        "log probabilities": np.log(likely / likely.sum()),
        "BM25": rng.gamma(2.0, 3.0, size=n),
        "votes": rng.integers(0, 12, size=n),
    }


AFFINE = ((1e4, 0.0), (1e-4, 0.0), (1.0, -7.3), (0.02, 1e3), (30.0, -1e5))
EXPLICIT, COVERING = ("xquad", "pm2", "vrisker"), ("cover", "facility-location")
TAKE_DIVERSITY, TAKE_RELEVANCE = rankers_with("with_diversity"), rankers_with("with_relevance")


@pytest.mark.parametrize("ranker", [*TAKE_DIVERSITY, *COVERING, "per_cost"])
def test_an_affine_change_of_scores_changes_no_list(ranker: str) -> None:
    """Random sets of each kind of scores, with a query's vector and without; one of the changes each."""
    for seed in range(60 if ranker in TAKE_RELEVANCE else 20):
        rng = np.random.default_rng(seed)
        query, vectors, cosines = case(seed, n=int(rng.integers(5, 60)), width=int(rng.integers(4, 40)))
        more: dict[str, Any] = {} if ranker in COVERING else {"diversity": float(rng.choice([0.1, 0.3, 0.5, 0.7]))}
        if ranker in EXPLICIT:
            more["subtopics"] = rng.normal(size=(3, vectors.shape[1]))
        elif ranker == "per_cost":
            more |= {"per_cost": True, "costs": rng.integers(1, 9, size=len(vectors)), "budget": 20}
        named, (a, b) = None if ranker == "per_cost" else ranker, AFFINE[seed % len(AFFINE)]
        for kind, scores in first_stages(rng, cosines).items():
            for known in (query, None):
                wanted = ranked(known, vectors, 10, named, scores, **more)
                assert ranked(known, vectors, 10, named, a * scores + b, **more) == wanted, (seed, kind)


def test_scores_of_any_range_count() -> None:
    """At a diversity of 0.1 nothing far down the list comes first, whatever the scores; nor does a word's BM25."""
    _, vectors, cosines = case(n=100, width=16)
    for kind, scores in first_stages(np.random.default_rng(0), cosines).items():
        ranks = np.argsort(np.argsort(-scores, kind="stable"))
        assert ranks[ranked(None, vectors, 5, "mmr", scores, diversity=0.1)].max() < 25, kind
    words = ["cat", "car", "river", "forest", "engine", "price"]
    texts = [f"jaguar {words[i % 6]} {words[i * 5 % 6]} {words[i * i % 6]} page {i}" for i in range(200)]
    shown = diversify(texts=texts, query_text="jaguar", k=10, scores=np.arange(200, 0, -1.0), diversity=0.1)
    assert shown.indices.max() < 25


@pytest.mark.parametrize("relevance", ["cosine", "scores", "minmax", "matched", "rank"])
@pytest.mark.parametrize("name", ["mmr", "msd", "dpp"])
def test_a_kind_of_relevance_is_the_rankers_option(name: str, relevance: Any) -> None:
    query, vectors, _ = case()
    scores = np.random.default_rng(1).normal(size=12)
    own = make_ranker(name, lambda_=0.5, relevance=relevance)
    wanted = ranked(query, vectors, 8, own, scores)
    assert ranked(query, vectors, 8, name, scores, diversity=0.5, relevance=relevance) == wanted
    assert ranked(query, vectors, 8, make_ranker(name, lambda_=0.1), scores, diversity=0.5, relevance=relevance) == (
        wanted
    )
    if name == "mmr":
        assert ranked(query, vectors, 8, None, scores, diversity=0.5, relevance=relevance) == wanted


def test_a_ranker_that_is_an_object_ranks_as_it_was_made_unless_it_is_given_a_diversity() -> None:
    query, vectors, cosines = case()
    scores = cosines * 9
    made = make_ranker("mmr", lambda_=0.5)
    assert ranked(query, vectors, 8, made, scores) == ranked(query, vectors, 8, "mmr", scores, relevance="minmax")
    assert ranked(query, vectors, 8, "mmr", scores) == ranked(query, vectors, 8, made, scores, diversity=0.5)
    assert ranked(query, vectors, 8, "mmr", scores) != ranked(query, vectors, 8, made, scores)


@pytest.mark.parametrize(("scores", "cosines", "wanted"), [
    ([3, 1, 2], [0.3, 0.1, 0.2], [0.3, 0.1, 0.2]),
    ([0.31, 0.09, 0.2], [0.31, 0.09, 0.2004], [0.31, 0.09, 0.2004]),
    ([0.4, 0.2, 0.3], [0.3, 0.1, 0.2], [0.3, 0.1, 0.2]),
    ([0.01, 0.02, 0.03], [0.3, 0.2, 0.1], [0.1, 0.2, 0.3]),
    ([0.8001, 0.8003, 0.8002], [0.8003, 0.8001, 0.8002], [0.8001, 0.8003, 0.8002]),
    ([0.9, 0.2], None, [1, 0]),
    ([9, 2, 5.5], None, [1, 0, 0.5]),
    ([9, 2, 5.5], [0.1, 0.1, 0.1], [1, 0, 0.5]),
    ([0.5, 0.5], [0.1, 0.3], [1, 1]),
    ([7, 7], [0.1, 0.3], [1, 1]),
    ([7], [0.1], [1]),
])  # fmt: skip
def test_scores_on_the_scale_of_cosines(scores: Any, cosines: Any, wanted: Any) -> None:
    def array(values: Any) -> FloatArray:
        return np.array(values, np.float32)

    found = matched(array(scores), None if cosines is None else array(cosines))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_odd_kinds_and_rankers_that_take_none_are_named() -> None:
    query, vectors, cosines = case()
    taking = ", ".join(TAKE_RELEVANCE)
    for ranker in ("random", Own(lambda topic, k: np.arange(k))):
        refused(lambda ranker=ranker: ranked(query, vectors, 3, ranker, relevance="scores"), rf"that does: {taking}")
    for ranker in TAKE_RELEVANCE:
        refused(
            lambda ranker=ranker: ranked(query, vectors, 3, ranker, cosines, relevance="scord"),
            "relevance 'scord'. Did you mean scores",
        )
    refused(lambda: ranked(query, vectors, 3, "mmr", relevance="scores"), "no retrieval scores.*relevance='cosine'")
    refused(lambda: ranked(None, vectors, 3, "mmr", cosines, relevance="cosine"), "no query vector.*='minmax'")


# Scores are sorted as they are given

RISING: tuple[Any, ...] = (
    1.7e9 + np.arange(5),
    (2**60 + np.arange(5)).tolist(),
    2**60 + np.arange(5),
    np.array([2**64 - 9, 2**64 - 8, 2**64 - 7, 2**64 - 6, 2**64 - 5], np.uint64),
    np.array([0, 1e300, 2e300, 1e307, 1e308]),
    1e-300 * np.arange(5),
    np.array([-128, 1, 2, 3, 4], np.int8),
    np.arange(5, dtype=np.longdouble) * np.longdouble("1e400"),
)


def by_adapter(scores: Any) -> list[int]:
    return adapted(Adapter(ranker="mmr").request(0), 5, np.eye(5), scores=list(scores))[0]


def by_line(scores: Any) -> list[int]:
    plain = scores if isinstance(scores, list) else [float(score) for score in scores]
    line = json.dumps({"query_id": "1", "doc_ids": list("01234"), "retrieval_scores": plain})
    return [int(name) for name in topic_of(content_of(line))[0].doc_ids]


@pytest.mark.parametrize("way", [
    lambda scores: diversify(None, np.eye(5), 5, scores=scores, diversity=0).indices.tolist(),
    lambda scores: diversify(None, [np.eye(5)], 5, scores=[scores], diversity=0).indices[0].tolist(),
    by_adapter,
    by_line,
], ids=["one", "batch", "adapters", "line"])  # fmt: skip
def test_scores_are_sorted_in_the_callers_own_type(way: Any) -> None:
    exact = [scores for scores in RISING if way is not by_line or isinstance(scores, list)]
    for scores in exact:
        assert way(scores) == [4, 3, 2, 1, 0], scores
        assert way(scores[::-1]) == [0, 1, 2, 3, 4], scores
        assert way([scores[i] for i in (2, 4, 2, 0, 4)]) == [1, 4, 0, 2, 3], "equal ones keep their order"


@pytest.mark.parametrize("scores", RISING, ids=str)
@pytest.mark.parametrize("ranker", ["safe", "mmr", "msd", "dpp"])
def test_rankers_see_scores_of_any_size_in_their_order(ranker: str, scores: Any) -> None:
    seen: list[Any] = []

    class Watched(Own):
        def rank_batch(self, topics: Any, k: int) -> list[Any]:
            seen.extend(topics)
            return make_ranker(ranker).rank_batch(topics, k)

    watched = Watched(make_ranker(ranker).rank)
    found = diversify(np.ones(5), np.eye(5), 5, watched, scores=scores)
    assert sorted(found.indices.tolist()) == [0, 1, 2, 3, 4]
    row = seen[0].retrieval_scores
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    assert (np.diff(row) <= 0).all()
    assert row[0] > 0


def scored_topic(scores: Any) -> Topic:
    return Topic(query_id="0", doc_ids=("a", "b", "c"), doc_vectors=np.eye(3), retrieval_scores=scores)


@pytest.mark.parametrize(("scores", "same"), [
    ([3e38, 1.0, -3e38], [3e38, 1.0, -3e38]),
    ([2.0**130, 2.0**129, -(2.0**130)], [0.5, 0.25, -0.5]),
    ([2.0**-200, 2.0**-201, 0], [0.5, 0.25, 0]),
])  # fmt: skip
def test_scores_that_float32_cannot_hold_are_scaled_together(scores: list[float], same: list[float]) -> None:
    held = scored_topic(scores).retrieval_scores
    np.testing.assert_array_equal(held, np.array(same, np.float32))
    refused(lambda: scored_topic(1.7e9 + np.arange(3)), "retrieval_scores rise from candidate 0")
