"""What every adapter promises of its weight, whatever its library calls it and from which end it counts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from adapters import ADAPTERS, Adapter
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from srd_agents import diversify, make_ranker

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
EVERY = pytest.mark.parametrize(("adapter", "called"), ADAPTERS.values(), ids=ADAPTERS)
Case = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A query, documents with copies among them, and their cosines with it as scores."""
    n, generator = draw(st.integers(3, 12)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    query, vectors = generator.normal(size=4), generator.normal(size=(n, 4))
    for _ in range(draw(st.integers(0, 3))):
        vectors[generator.integers(n)] = vectors[generator.integers(n)]
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    return query.astype(np.float32), vectors.astype(np.float32), cosines


def cosine(first: NDArray[Any], second: NDArray[Any]) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


@EVERY
@settings(max_examples=25, deadline=None)
@given(case=cases(), k=st.integers(1, 12))
def test_no_diversity_is_the_order_of_relevance(adapter: Adapter, called: Any, case: Case, k: int) -> None:
    shown = adapter(*case, k, called(0.0))
    scores = case[2]
    np.testing.assert_allclose(scores[shown], np.sort(scores)[::-1][:k], atol=1e-6)  # copies stay where they were
    assert len(set(shown)) == len(shown) == min(k, len(scores))


@EVERY
@settings(max_examples=25, deadline=None)
@given(case=cases())
def test_more_diversity_never_shows_a_second_document_closer_to_the_first(
    adapter: Adapter, called: Any, case: Case
) -> None:
    first_two = [adapter(*case, 2, called(weight)) for weight in WEIGHTS]
    close = [cosine(case[1][first], case[1][second]) for first, second in first_two]
    assert all(later <= earlier + 1e-5 for earlier, later in pairwise(close))
    farthest = min(cosine(case[1][first_two[0][0]], vector) for vector in case[1])
    assert close[-1] <= farthest + 1e-5


@EVERY
@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_weight_is_mmrs_lambda_and_0_is_a_weight(adapter: Adapter, called: Any, weight: float) -> None:
    generator = np.random.default_rng(3)
    query, vectors = generator.normal(size=4).astype(np.float32), generator.normal(size=(9, 4)).astype(np.float32)
    scores = np.array([cosine(query, vector) for vector in vectors])
    expected = diversify(
        query, vectors, 5, make_ranker("mmr", lambda_=1 - weight, relevance="matched"), scores=scores
    ).indices.tolist()
    assert adapter(query, vectors, scores, 5, called(weight)) == expected
    assert adapter(query, vectors, scores, 5, int(called(weight))) == expected or weight not in (0, 1)


@EVERY
@pytest.mark.parametrize("ranker", ["mmr", "msd", "dpp"])
def test_both_ends_differ_for_every_ranker_that_takes_a_weight(adapter: Adapter, called: Any, ranker: str) -> None:
    query = np.array([1.0, 0.0, 0.0], dtype=np.float32)
    vectors = np.array([[1.0, 0.1, 0.0], [1.0, 0.11, 0.0], [0.8, 0.0, 0.6], [0.2, 0.9, 0.4]], dtype=np.float32)
    scores = np.array([cosine(query, vector) for vector in vectors])
    assert adapter(query, vectors, scores, 2, called(0.0), ranker) == [0, 1]
    assert adapter(query, vectors, scores, 2, called(1.0), ranker) == [0, 3]


@EVERY
def test_no_weight_keeps_the_order_and_shows_copies_last(adapter: Adapter, called: Any) -> None:
    query = np.array([1.0, 0.0, 0.0], dtype=np.float32)
    vectors = np.array([[1.0, 0.1, 0.0], [1.0, 0.1, 0.0], [0.9, 0.0, 0.4], [0.2, 0.9, 0.4]], dtype=np.float32)
    scores = np.array([cosine(query, vector) for vector in vectors])
    assert adapter(query, vectors, scores, 4, None) == [0, 2, 3, 1]


@EVERY
@settings(max_examples=25, deadline=None)
@given(case=cases())
def test_near_duplicates_come_where_the_caller_says(adapter: Adapter, called: Any, case: Case) -> None:
    query, vectors, scores = case
    for near in (None, 0.5, 0.9999):
        wanted = diversify(query, vectors, len(vectors), "mmr", scores=scores, diversity=0.4, near_duplicates=near)
        assert adapter(*case, len(vectors), called(0.4), near_duplicates=near) == wanted.indices.tolist()
    with pytest.raises(ValueError, match="near_duplicates must be"):
        adapter(*case, 2, called(0.4), near_duplicates=2)


@EVERY
@pytest.mark.parametrize(("diversity", "ranker", "message"), [
    *((weight, None, "lambda_mult|diversity|mmr_threshold|Lambda") for weight in (-0.1, 1.1, float("nan"))),
    (0.5, "random", r"ranker 'random' does not: leave \w+ out, or take one that does: mmr, msd"),
    (None, "mrm", "unknown ranker 'mrm'. Did you mean mmr"),
])  # fmt: skip
def test_bad_input_is_named(adapter: Adapter, called: Any, diversity: Any, ranker: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        adapter(np.ones(3), np.eye(3), np.ones(3), 2, diversity and called(diversity), ranker)
