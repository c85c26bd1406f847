"""What all adapters share, without their libraries (tests/third_party/integrations holds it with them)."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

from srd_agents import diversify, make_ranker
from srd_agents.heuristic.config import MMRConfig
from srd_agents.integrations.ranking import (
    best_first,
    diversity_of,
    embeddings_of,
    named,
    ranker_of,
    scores_of,
    speaking_of_queries,
)

VECTORS = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
QUERY = np.random.default_rng(1).normal(size=4).astype(np.float32)


def test_mmr_ranks_where_only_diversity_is_given_and_without_both_the_default() -> None:
    ranked = make_ranker("mmr", lambda_=0.1)
    assert ranker_of(ranked, None) is ranked
    assert type(ranker_of(None, None)).__name__ == "Cautious"
    made: Any = ranker_of(None, 0.25)
    assert made.config == MMRConfig(lambda_=0.75)
    assert diversity_of(None) is None
    assert diversity_of(0) == 1
    assert diversity_of(1) == 0
    with pytest.raises(ValueError, match=r"Lambda must be between 0 and 1, got 1.5"):
        ranker_of(None, 1.5, option="Lambda")


def test_relevance_without_scores() -> None:
    cosines = VECTORS @ QUERY / np.linalg.norm(VECTORS, axis=1)
    by_cosine = np.argsort(-cosines, kind="stable")
    weighing, other = ranker_of("mmr", 0.5), ranker_of(None, None)
    found = best_first(weighing, 5, VECTORS, query="the query", query_vector=QUERY).indices
    expected = diversify(QUERY, VECTORS[by_cosine], 5, make_ranker("mmr")).indices
    assert found.tolist() == by_cosine[expected].tolist()
    assert best_first(other, 9, VECTORS, query="the query", query_vector=QUERY).indices.tolist() == list(range(9))
    ordered = best_first(weighing, 5, VECTORS, query="the query").indices
    by_rank = make_ranker("mmr", relevance="rank")
    assert best_first(by_rank, 5, VECTORS, query="the query", query_vector=QUERY).indices.tolist() == ordered.tolist()
    assert diversify(None, VECTORS, 5, by_rank, np.arange(9, 0, -1)).indices.tolist() == ordered.tolist()


def test_embeddings_and_scores() -> None:
    names = named("document", ["a", None])
    assert names == ["document 0 (id 'a')", "document 1"]
    assert embeddings_of([[1, 2], [3, 4]], names, "") == [[1, 2], [3, 4]]
    assert scores_of([1, np.float32(0.5)], names) == [1.0, 0.5]
    assert scores_of([None, None], names) is None


@pytest.mark.parametrize(("vector", "error", "message"), [
    (None, ValueError, "document 1 has no embedding; do this"),
    ([1, 2, 3], ValueError, r"document 1 .*of width 3, document 0 .*of width 2.*one model"),
])  # fmt: skip
def test_documents_without_good_vectors_are_named(vector: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        embeddings_of([[1, 2], vector], named("document", ["a", None]), "do this")


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"scores": [1, "2"]}, TypeError, "query 'jaguar': scores must hold numbers"),
    ({"scores": [1, float("inf")]}, ValueError, r"query 'jaguar': scores holds NaN or infinity \(first at row 1\)"),
    ({"vectors": [[1, 2], [1, float("nan")]]}, ValueError, r"query 'jaguar': doc_vectors holds NaN .*at row 1\)"),
    ({"vectors": [[1, 2], ["a", "b"]]}, TypeError, "query 'jaguar': doc_vectors must hold numbers"),
    ({"vectors": [[1, 2], [[1], [2]]]}, ValueError, "query 'jaguar': doc_vectors cannot be read as an array"),
    ({"query_vector": [1]}, ValueError, "query 'jaguar': query_vector has shape"),
])  # fmt: skip
@pytest.mark.parametrize("ranker", ["mmr", "cautious"])
def test_odd_numbers_are_told_of_the_query(
    given: dict[str, Any], error: type[Exception], message: str, ranker: str
) -> None:
    rest = {"vectors": [[1, 2], [2, 1]], "query_vector": [1, 2]}
    with pytest.raises(error, match=message):
        best_first(make_ranker(ranker), 2, **{**rest, **given}, query="query 'jaguar'")


def test_a_score_of_some_documents_only_is_named() -> None:
    with pytest.raises(ValueError, match="document 1 has no score, and others have"):
        scores_of([1, None], named("document", ["a", None]))


def test_errors_speak_of_queries() -> None:
    with (
        pytest.raises(ValueError, match=r"^query 'jaguar' has none, as query 'jaguar' has"),
        speaking_of_queries("query 'jaguar'"),
    ):
        raise ValueError("topic '0' has none, as topic \"it's\" has")
    with pytest.raises(TypeError, match=r"^query 'q1' has none"), speaking_of_queries():
        raise TypeError("topic 'q1' has none")
    with pytest.raises(KeyError, match="topic 'q1'"), speaking_of_queries():
        raise KeyError("topic 'q1'")
    with pytest.raises(ValueError, match=r"query 'jaguar' has no query vector.*relevance by cosine"):
        best_first(make_ranker("mmr", relevance="cosine"), 2, VECTORS, query="query 'jaguar'")


@pytest.mark.parametrize(("name", "module", "distribution"), [
    ("langchain", "langchain_core", "langchain-core"),
    ("haystack", "haystack", "haystack-ai"),
    ("llama_index", "llama_index", "llama-index-core"),
    ("pyterrier", "pyterrier", "python-terrier"),
    ("sklearn", "sklearn", "scikit-learn"),
])  # fmt: skip
def test_a_missing_library_is_named(name: str, module: str, distribution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"srd_agents.integrations.{name}", raising=False)
    with pytest.raises(ImportError, match=f"needs {module}: pip install {distribution}$"):
        importlib.import_module(f"srd_agents.integrations.{name}")
