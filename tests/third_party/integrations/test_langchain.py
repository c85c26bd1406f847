"""LangChain: behind its retrievers, in its chains, and the same as its own search by marginal relevance."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from adapters import Known
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

from srd_agents.integrations.langchain import DiverseCompressor

GENERATOR = np.random.default_rng(0)
QUERY, VECTORS = GENERATOR.normal(size=4), GENERATOR.normal(size=(12, 4))
MODEL = Known(QUERY, VECTORS)
TEXTS = [str(i) for i in range(12)]


def texts(documents: Any) -> list[str]:
    return [document.page_content for document in documents]


@pytest.mark.parametrize("lambda_mult", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("k", [1, 4, 12])
def test_it_shows_what_langchains_own_marginal_relevance_shows(lambda_mult: float, k: int) -> None:
    store = InMemoryVectorStore.from_texts(TEXTS, MODEL)
    own = store.max_marginal_relevance_search("jaguar", k=k, fetch_k=12, lambda_mult=lambda_mult)
    compressor = DiverseCompressor(embeddings=MODEL, k=k, lambda_mult=lambda_mult)
    assert texts(compressor.compress_documents([Document(text) for text in TEXTS], "jaguar")) == texts(own)


def test_in_a_chain_behind_a_retriever() -> None:
    store = InMemoryVectorStore.from_texts(TEXTS, MODEL)
    retriever = store.as_retriever(search_kwargs={"k": 8})
    compressor = DiverseCompressor(embeddings=MODEL, k=3, lambda_mult=0.5)
    chain = {"query": RunnablePassthrough(), "documents": retriever} | compressor.as_runnable()
    expected = texts(compressor.compress_documents(retriever.invoke("jaguar"), "jaguar"))
    assert texts(chain.invoke("jaguar")) == expected
    assert texts(asyncio.run(chain.ainvoke("jaguar"))) == expected
    assert [texts(one) for one in chain.batch(["jaguar", "jaguar"])] == [expected, expected]


def test_in_the_retriever_that_langchain_makes_for_compressors() -> None:
    store = InMemoryVectorStore.from_texts(TEXTS, MODEL)
    first = DiverseCompressor(embeddings=MODEL, k=8)  # no weight: the first 8
    both = DocumentCompressorPipeline(transformers=[first, DiverseCompressor(embeddings=MODEL, k=3, lambda_mult=0.3)])
    found = store.as_retriever(search_kwargs={"k": 12})
    retriever = ContextualCompressionRetriever(base_compressor=both, base_retriever=found)
    own = store.max_marginal_relevance_search("jaguar", k=3, fetch_k=8, lambda_mult=0.3)
    assert texts(retriever.invoke("jaguar")) == texts(own)
    assert texts(asyncio.run(retriever.ainvoke("jaguar"))) == texts(own)


def test_documents_come_out_as_they_went_in() -> None:
    given = [Document(text, id=f"id {text}", metadata={"page": text}) for text in TEXTS]
    shown = DiverseCompressor(embeddings=MODEL, k=20).compress_documents(given, "jaguar")
    assert shown == given  # the retriever's order, no copies among them
    assert DiverseCompressor(embeddings=MODEL).compress_documents([], "jaguar") == []


def test_vectors_and_scores_out_of_the_metadata() -> None:
    given = [
        Document("", metadata={"vector": vector.tolist(), "relevance_score": float(score)})
        for vector, score in zip(VECTORS, range(12), strict=True)
    ]
    compressor = DiverseCompressor(vector_key="vector", score_key="relevance_score", k=3)
    assert compressor.compress_documents(given, "jaguar") == given[:-4:-1]


def test_a_missing_score_ranks_last_and_an_id_is_one_document() -> None:
    given = [Document(str(i), id=f"id {i % 3}", metadata={"score": (3, None, 1, 9, 2, None)[i]}) for i in range(6)]
    compressor = DiverseCompressor(embeddings=MODEL, k=9, score_key="score")
    assert texts(compressor.compress_documents(given, "jaguar")) == ["3", "4", "2"]
    bare = [Document(one.page_content, metadata=one.metadata) for one in given]
    with pytest.warns(UserWarning, match="documents without a score, which come last: 2; strict=True"):
        assert texts(compressor.compress_documents(bare, "jaguar")) == ["3", "0", "4", "2", "1", "5"]


def test_a_weight_set_later_counts() -> None:
    given = [Document(text) for text in TEXTS]
    compressor = DiverseCompressor(embeddings=MODEL, lambda_mult=1)
    compressor.lambda_mult = 0
    expected = DiverseCompressor(embeddings=MODEL, lambda_mult=0).compress_documents(given, "jaguar")
    assert compressor.compress_documents(given, "jaguar") == expected


def test_documents_without_vectors_or_scores_and_models_that_give_too_few_are_refused() -> None:
    bare = [Document("0", id="d0", metadata={"vec": [1, 2]}), Document("1", id="d1")]
    with pytest.raises(ValueError, match=r"document 1 \(id 'd1'\) has no embedding; .*metadata\['vec'\]"):
        DiverseCompressor(vector_key="vec").compress_documents(bare, "jaguar")
    with pytest.raises(ValueError, match=r"document 0.* has no score: score_key='score' is not in its metadata"):
        DiverseCompressor(embeddings=MODEL, score_key="score", strict=True).compress_documents(bare, "jaguar")
    with pytest.warns(UserWarning, match="no document has a score, so none counts: document 0 .*leave score_key out"):
        assert DiverseCompressor(embeddings=MODEL, score_key="score").compress_documents(bare, "jaguar") == bare

    class Short(Known):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts[1:])

    with pytest.raises(ValueError, match="for 2 vectors and gave"):
        DiverseCompressor(embeddings=Short(QUERY, VECTORS)).compress_documents([Document("1"), Document("2")], "jaguar")


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"ranker": "mmr", "relevance": "scord"}, ValueError, "unknown relevance 'scord'. Did you mean scores"),
    ({"embeddings": MODEL, "k": 0}, ValueError, "greater than or equal to 1"),
    ({"embeddings": MODEL, "lambda": 0.5}, ValueError, "Extra inputs are not permitted"),
    ({"embeddings": MODEL, "ranker": 7}, TypeError, "ranker must be a name"),
])  # fmt: skip
def test_bad_options_are_named(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        DiverseCompressor(**options)
