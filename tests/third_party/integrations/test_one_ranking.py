"""A weight means one thing: every way to rank gives one ranking, and LangChain's word for it LangChain's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters import ADAPTERS
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from numpy.typing import NDArray

from srd_agents import diversify, make_ranker
from srd_gym.data import load_ambient

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("SRD_DATA_DIR" not in os.environ, reason="SRD_DATA_DIR names no folder of data sets"),
]
K = 10
Query = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Of a query its vector [F], the documents' [N, F], and their cosines [N]."""


@pytest.fixture(scope="module")
def queries() -> list[Query]:
    folder = Path(os.environ["SRD_DATA_DIR"]) / "ambient"
    given: list[Query] = []
    for topic in load_ambient(folder, vectors=folder / "minilm-384.npz"):
        query, vectors = np.asarray(topic.query_vector), np.asarray(topic.doc_vectors)
        given.append((query, vectors, vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)))
    return given


@pytest.fixture(scope="module")
def wanted(queries: list[Query]) -> list[list[int]]:
    return [diversify(query, vectors, K, "mmr", diversity=0.5).indices.tolist() for query, vectors, _ in queries]


@pytest.mark.parametrize("ranker", ["mmr", None])
def test_cosines_given_as_scores_and_any_scores_of_their_shape(queries: Any, wanted: Any, ranker: Any) -> None:
    for (query, vectors, scores), expected in zip(queries, wanted, strict=True):
        assert diversify(query, vectors, K, ranker, scores, diversity=0.5).indices.tolist() == expected
        if not is_tied(scores):
            for s in (40 * scores, 7 + scores / 2):
                assert diversify(query, vectors, K, ranker, s, diversity=0.5).indices.tolist() == expected
        wide = scores.astype(float)
        every = (wide, 40 * wide, 7 + wide / 2)
        unknown = [diversify(None, vectors, K, ranker, s, diversity=0.5).indices.tolist() for s in every]
        assert unknown[0] == unknown[1] == unknown[2], "without the query's vector nothing tells that they are cosines"


@pytest.mark.parametrize(("adapter", "called"), ADAPTERS.values(), ids=ADAPTERS)
def test_adapters(queries: Any, wanted: Any, adapter: Any, called: Any) -> None:
    assert [adapter(*given, K, called(0.5)) for given in queries] == wanted


@pytest.mark.parametrize("lambda_mult", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_langchains_own_marginal_relevance(queries: Any, lambda_mult: float) -> None:
    """Where a document is the query itself, documents near it tie at 0.5: LangChain's rounding decides, no rule of it.

    Their relevance is then their similarity to it. There its own lists change with the floats' width or the documents'
    order, so that no list is LangChain's; ours takes the more relevant one.
    """
    differ = 0
    for query, vectors, scores in queries:
        own = maximal_marginal_relevance(query, list(vectors), lambda_mult, K)
        ours = diversify(query, vectors, K, "mmr", scores, diversity=1 - lambda_mult).indices.tolist()
        assert ADAPTERS["langchain"][0](query, vectors, scores, K, lambda_mult) == ours
        if ours != own:
            differ += 1
            assert lambda_mult == 0.5
            assert is_tied(scores)
            assert any(other != own for other in langchains_others(query, vectors, lambda_mult))
            np.testing.assert_allclose(values(ours, vectors, scores), values(own, vectors, scores), atol=1e-6)
    assert differ <= 4  # of 44


def with_a_copy(seed: int, weighed: float = 0.0) -> Query:
    """Random documents, one of which is duplicated, in the order of their cosines with the query."""
    rng = np.random.default_rng(seed)
    query, vectors = rng.normal(size=8) + weighed, rng.normal(size=(12, 8)) + weighed
    vectors[rng.integers(6, 12)] = vectors[rng.integers(6)]
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    order = np.argsort(-cosines, kind="stable")
    return query, vectors[order], cosines[order]


@pytest.mark.parametrize("lambda_mult", [0.2, 0.5, 0.8])
def test_langchains_own_holds_with_copies_where_near_duplicates_stay(lambda_mult: float) -> None:
    """200 sets with a document that is duplicated: a copy may come last, or as LangChain's own list has it."""
    moved = 0
    for query, vectors, scores in map(with_a_copy, range(200)):
        own = maximal_marginal_relevance(query, list(vectors), lambda_mult, K)
        assert ADAPTERS["langchain"][0](query, vectors, scores, K, lambda_mult, near_duplicates=None) == own
        moved += ADAPTERS["langchain"][0](query, vectors, scores, K, lambda_mult) != own
    assert moved > 0


@pytest.mark.parametrize("lambda_mult", [0.2, 0.5, 0.8])
@pytest.mark.parametrize(("norm_rel", "relevance"), [(False, "scores"), (True, "minmax")])
@pytest.mark.parametrize("weighed", [0.0, 0.5])
def test_pyterrier_drs_mmr_scorer_takes_cosines_below_0_as_0(
    lambda_mult: float, norm_rel: bool, relevance: str, weighed: float
) -> None:
    for seed in range(40):
        query, vectors, cosines = with_a_copy(seed, weighed)
        scores = 10 * cosines + 0.01 * np.arange(12, 0, -1)
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        value = (scores - scores.min()) / np.ptp(scores) if norm_rel else scores
        nearest, own = np.zeros(12), list[int]()
        for _ in range(K):
            own.append(int(np.where(np.isin(range(12), own), -np.inf, lambda_mult * value - nearest).argmax()))
            nearest = np.maximum(nearest, (1 - lambda_mult) * units @ units[own[-1]])
        options: dict[str, Any] = {"relevance": relevance, "near_duplicates": None}
        clipped = make_ranker("mmr", clip=True)
        assert ADAPTERS["pyterrier"][0](query, vectors, scores, K, lambda_mult, clipped, **options) == own


def langchains_others(query: NDArray[Any], vectors: NDArray[Any], lambda_mult: float) -> list[list[int]]:
    """LangChain's own lists of the same documents in float64, and in other orders."""
    lists = [maximal_marginal_relevance(query.astype(float), list(vectors.astype(float)), lambda_mult, K)]
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(vectors))
        found = maximal_marginal_relevance(query, list(vectors[order]), lambda_mult, K)
        lists.append(order[found].tolist())
    return lists


@pytest.mark.parametrize("mmr_threshold", [0.3, 0.5, 0.7])
def test_llamaindexs_own_compares_with_the_last_pick_only(queries: Any, mmr_threshold: float) -> None:
    """So the first two documents are ours, and later ones may differ."""
    differ = 0
    for query, vectors, scores in queries:
        own = get_top_k_mmr_embeddings(query, list(vectors), similarity_top_k=K, mmr_threshold=mmr_threshold)[1]
        ours = diversify(query, vectors, K, "mmr", scores, diversity=1 - mmr_threshold).indices.tolist()
        differ += ours != own
        if not is_tied(scores):
            assert ours[:2] == own[:2]
    assert differ > len(queries) / 2
    for query, vectors, scores in map(with_a_copy, range(100)):
        own = get_top_k_mmr_embeddings(query, list(vectors), similarity_top_k=2, mmr_threshold=mmr_threshold)[1]
        assert ADAPTERS["llama_index"][0](query, vectors, scores, 2, mmr_threshold, near_duplicates=None) == own


def is_tied(scores: NDArray[Any]) -> bool:
    """Whether a document is the query itself: relevance and similarity to it are then one."""
    return float(scores.max()) > 1 - 1e-6


def values(ranking: list[int], vectors: NDArray[Any], scores: NDArray[Any]) -> list[float]:
    """Marginal relevance of each document at weight 0.5, when it is chosen."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    nearest = [max([float(units[d] @ units[s]) for s in ranking[:rank]], default=0) for rank, d in enumerate(ranking)]
    return [0.5 * (float(scores[d]) - near) for d, near in zip(ranking, nearest, strict=True)]
