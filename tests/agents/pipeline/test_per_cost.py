"""The choice by value per cost: against the best of all sets on small cases, and against the budget as a filter."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from srd_agents import diversify

HALF = (1 - 1 / np.e) / 2


def value_of(chosen: Any, vectors: Any, scores: Any, diversity: float) -> float:
    """As the docstring writes it, in float64."""
    units = np.asarray(vectors, float) / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = np.clip(units @ units.T, 0, 1)
    relevance = (np.asarray(scores, float) - min(scores)) / (max(scores) - min(scores))
    chosen = list(chosen)
    standing = cosines[:, chosen].max(axis=1, initial=0.0)
    return float((1 - diversity) * relevance[chosen].sum() + diversity * relevance @ standing)


def affordable(costs: Any, budget: float) -> Iterator[tuple[int, ...]]:
    for size in range(len(costs) + 1):
        for chosen in combinations(range(len(costs)), size):
            if sum(costs[i] for i in chosen) <= budget:
                yield chosen


@pytest.mark.parametrize(("diversity", "least"), [(0.0, 0.5), (0.25, HALF), (0.5, HALF), (None, HALF), (1.0, HALF)])
def test_the_value_is_near_the_optimum(diversity: float | None, least: float) -> None:
    shares = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        vectors, scores = generator.normal(size=(8, 3)), generator.uniform(size=8)
        costs = np.ceil(np.exp(generator.normal(scale=1.5, size=8)) * 10)  # a few are dear
        budget = float(generator.uniform(costs.min(), costs.sum()))
        given: dict[str, Any] = {"scores": scores, "costs": costs, "budget": budget, "near_duplicates": None}
        found = diversify(None, vectors, 8, diversity=diversity, per_cost=True, **given).indices
        assert costs[found].sum() <= budget
        weight = 0.5 if diversity is None else diversity
        best = max(value_of(chosen, vectors, scores, weight) for chosen in affordable(costs, budget))
        shares.append(value_of(found, vectors, scores, weight) / best if best else 1.0)
    assert min(shares) >= least
    assert np.mean(shares) > 0.95


def test_small_documents_that_are_worth_more_together_come_before_a_large_one() -> None:
    scores, costs = [1.0, 0.9, 0.8, 0.7, 0.0], [90, 30, 30, 30, 1]
    given: dict[str, Any] = {"scores": scores, "costs": costs, "budget": 90, "diversity": 0}
    assert diversify(None, np.eye(5), 5, **given).indices.tolist() == [0], "the budget as a filter"
    assert diversify(None, np.eye(5), 5, per_cost=True, **given).indices.tolist() == [1, 2, 3]


def test_a_large_document_that_is_worth_more_comes_before_a_small_dense_one() -> None:
    given: dict[str, Any] = {"scores": [1.0, 0.02, 0.0], "costs": [100, 1, 500], "budget": 100, "diversity": 0}
    assert diversify(None, np.eye(3), 3, per_cost=True, **given).indices.tolist() == [0]


def test_one_of_like_documents_stands_for_the_others() -> None:
    vectors = [[1, 0, 0.3], [1, 0, 0.2], [1, 0, 0.1], [0, 1, 0], [0, 0, 1]]
    given: dict[str, Any] = {"scores": [5, 4.9, 4.8, 4, 0], "costs": [10] * 5, "budget": 20, "near_duplicates": None}
    assert sorted(diversify(None, vectors, 5, per_cost=True, diversity=0, **given).indices.tolist()) == [0, 1]
    assert 3 in diversify(None, vectors, 5, per_cost=True, diversity=0.9, **given).indices


def test_subtopics_are_covered_for_their_cost() -> None:
    vectors = np.eye(3)[[0, 0, 1, 1, 2]]
    given: dict[str, Any] = {
        "scores": [5, 4, 3, 2, 1],
        "costs": [60, 20, 60, 20, 20],
        "budget": 60,
        "near_duplicates": None,
    }
    found = diversify(None, vectors, 5, subtopics=np.eye(3), per_cost=True, diversity=0.9, **given).indices
    assert set(found.tolist()) == {1, 3, 4}, "the cheaper document of each subtopic"


@pytest.mark.parametrize("relevance", ["cosine", "minmax", "scores", "rank", "matched"])
def test_subtopics_leave_the_kind_of_relevance(relevance: str) -> None:
    vectors = np.eye(4) + 0.1
    given: dict[str, Any] = {"scores": [9, 5, 2, 1], "relevance": relevance, "diversity": 0.01}
    rest: dict[str, Any] = {"subtopics": vectors[:2], "costs": [1] * 4, "budget": 2, "per_cost": True}
    found = diversify(vectors[3], vectors, 4, **given, **rest).indices
    assert found.tolist() == ([3, 0] if relevance == "cosine" else [0, 1])


@pytest.mark.parametrize("subtopics", [None, np.eye(4)[3:]])
def test_relevance_below_0_lowers_no_value(subtopics: Any) -> None:
    """As logits have it; the best document alone costs as much as the others together."""
    given: dict[str, Any] = {"costs": [3, 1, 1, 1], "budget": 3, "subtopics": subtopics, "diversity": 0.01}
    scores = [-1, -1.1, -1.2, -5]
    found = diversify(None, np.eye(4), 4, scores=scores, relevance="scores", per_cost=True, **given).indices
    assert found.tolist() == [1, 2, 3]
    assert value_of(found, np.eye(4), scores, 0) > value_of([0], np.eye(4), scores, 0)


@pytest.mark.parametrize("named", [False, True])
def test_diversity_0_is_the_order_of_relevance(named: bool) -> None:
    generator = np.random.default_rng(0)
    for _ in range(30):
        vectors, query, subtopics = (generator.normal(size=(n, 6)) for n in (8, 1, 3))
        cosines = vectors @ query[0] / np.linalg.norm(vectors, axis=1)
        given: dict[str, Any] = {"costs": np.ones(8), "budget": 3, "subtopics": subtopics if named else None}
        found = diversify(query, vectors, 8, diversity=0, per_cost=True, **given).indices
        assert found.tolist() == np.argsort(-cosines)[:3].tolist()


def test_what_fills_up_comes_after_the_choice_within_the_limits() -> None:
    given: dict[str, Any] = {"costs": [5, 3, 9], "budget": 16, "groups": [1, 1, 1], "max_per_group": 1}
    found = diversify(None, np.eye(3), 3, scores=[1, 3, 6], per_cost=True, fill=True, **given)
    assert found.indices.tolist() == [2, 1], "the third document alone is worth most"
    assert found.filled.tolist() == [False, True]


def test_other_limits_and_batches_hold() -> None:
    generator = np.random.default_rng(0)
    vectors, scores, costs = generator.normal(size=(30, 8)), generator.uniform(size=30), generator.integers(1, 9, 30)
    given: dict[str, Any] = {"max_per_group": 2, "budget": 20, "per_cost": True}
    parts: dict[str, Any] = {"scores": scores, "costs": costs, "groups": np.arange(30) % 4, "already_shown": [3, 7]}
    found = diversify(None, vectors, 6, **given, **parts).indices
    assert costs[found].sum() <= 20
    assert not {3, 7} & set(found.tolist())
    assert np.bincount(np.append(found, [3, 7]) % 4).max() <= 2
    batch = diversify(None, [vectors, vectors], 6, **given, **{name: [part, part] for name, part in parts.items()})
    assert all(np.array_equal(row.indices, found) for row in batch.topics())
    order = generator.permutation(30)
    moved = diversify(None, vectors[order], 6, scores=scores[order], costs=costs[order], budget=20, per_cost=True)
    assert set(order[moved.indices]) == set(
        diversify(None, vectors, 6, scores=scores, costs=costs, budget=20, per_cost=True).indices
    )
    free = diversify(None, vectors, 5, scores=scores, costs=np.zeros(30), budget=0, per_cost=True)
    assert len(free.indices) == 5
    copies = np.repeat(vectors[:2], 2, axis=0)
    assert diversify(None, copies, 3, costs=[1] * 4, budget=3, per_cost=True).indices[:2].tolist() in ([0, 2], [2, 0])


@pytest.mark.parametrize(("given", "said"), [
    ({}, "per_cost divides by costs="),
    ({"costs": [1, 2]}, "costs and budget belong together"),
    ({"costs": [1, 2], "budget": 2, "ranker": "mmr"}, "per_cost chooses by itself"),
    ({"costs": [1, 2], "budget": 2, "diversity": 2}, "diversity must be between 0 and 1"),
])  # fmt: skip
def test_what_does_not_go_together_is_told(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        diversify(None, np.eye(2), 2, per_cost=True, **given)


def test_no_truth_value_is_refused() -> None:
    with pytest.raises(TypeError, match="per_cost must be True or False, got 'no'"):
        diversify(None, np.eye(2), 2, costs=[1, 1], budget=1, per_cost="no")  # type: ignore[arg-type]


def test_memory_is_bounded_and_nothing_is_compared_without_diversity() -> None:
    """1,000 times N float32 would be 160 MB; measured: 50 MB, and 4 MB at diversity 0."""
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(40_000, 4)).astype(np.float32)
    given: dict[str, Any] = {"scores": generator.uniform(size=40_000), "costs": np.ones(40_000), "budget": 3}
    for diversity, most in ((0.5, 80e6), (0, 16e6)):
        tracemalloc.start()
        try:
            found = diversify(None, vectors, 3, per_cost=True, diversity=diversity, **given).indices
            assert tracemalloc.get_traced_memory()[1] < most
        finally:
            tracemalloc.stop()
        assert len(found) == 3
