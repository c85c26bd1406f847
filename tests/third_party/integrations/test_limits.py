"""Limits in every adapter: groups, budgets and documents shown before, from keys; and models that are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from adapters import Known
from haystack import Document as HaystackDocument
from haystack import Pipeline, component
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from small_topics import refused

from srd_agents import diversify
from srd_agents.integrations.haystack import DiverseRanker
from srd_agents.integrations.langchain import DiverseCompressor
from srd_agents.integrations.llama_index import DiversePostprocessor
from srd_agents.integrations.pyterrier import DiverseReranker

N, K = 12, 8
GENERATOR = np.random.default_rng(0)
QUERY, VECTORS = GENERATOR.normal(size=4), GENERATOR.normal(size=(N, 4))
SCORES = np.arange(N, 0, -1.0)
META: list[dict[str, Any]] = [{"site": "abc"[i % 3], "tokens": i % 4 + 1, "seen": i == 2} for i in range(N)]
GROUPS = {"group_key": "site", "max_per_group": 1}
COSTS = {"cost_key": "tokens", "budget": 9}
SEEN = {"shown_key": "seen"}
Shown = list[tuple[int, bool]]
"""Places of documents, and whether they are marked as filled up."""


def langchain(limits: Any) -> Shown:
    given = [Document(str(i), metadata={**META[i], "score": SCORES[i]}) for i in range(N)]
    compressor = DiverseCompressor(embeddings=Known(QUERY, VECTORS), k=K, score_key="score", lambda_mult=0.5, **limits)
    found = compressor.compress_documents(given, "jaguar")
    assert asyncio.run(compressor.acompress_documents(given, "jaguar")) == found
    assert [each.metadata for each in given] == [{**META[i], "score": SCORES[i]} for i in range(N)]
    return [(int(each.page_content), each.metadata.get("filled", False)) for each in found]


def haystack(limits: Any) -> Shown:
    given = [
        HaystackDocument(id=str(i), content=str(i), embedding=VECTORS[i].tolist(), score=SCORES[i], meta=META[i])
        for i in range(N)
    ]
    pipeline = Pipeline()
    pipeline.add_component("ranker", DiverseRanker(K, diversity=0.5, **limits))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["srd_agents.integrations.haystack"])
    asked = {"documents": given, "query_embedding": QUERY.tolist()}
    found = again.run(asked)["ranker"]["documents"]
    assert asyncio.run(pipeline.run_async(asked))["ranker"]["documents"] == found
    assert [each.meta for each in given] == META
    return [(int(each.id), each.meta.get("filled", False)) for each in found]


def llama_index(limits: Any) -> Shown:
    given = [
        NodeWithScore(
            node=TextNode(id_=str(i), text=str(i), embedding=VECTORS[i].tolist(), metadata=META[i]), score=SCORES[i]
        )
        for i in range(N)
    ]
    made = DiversePostprocessor(top_n=K, mmr_threshold=0.5, **limits)
    query = QueryBundle("jaguar", embedding=QUERY.tolist())
    found = DiversePostprocessor.from_dict(made.to_dict()).postprocess_nodes(given, query)
    assert asyncio.run(made.apostprocess_nodes(given, query)) == found
    assert [each.node.metadata for each in given] == META
    return [(int(each.node_id), each.node.metadata.get("filled", False)) for each in found]


def pyterrier(limits: Any) -> Shown:
    given = pd.DataFrame({"qid": "1", "docno": [str(i) for i in range(N)], "score": SCORES, "doc_vec": list(VECTORS)})
    given["query_vec"] = [QUERY] * N
    reranker = DiverseReranker(k=K, Lambda=0.5, query_vectors="query_vec", **limits)
    found = reranker.transform(given.join(pd.DataFrame(META)))
    marks = found["filled"] if "fill" in limits else [False] * len(found)
    return [(int(docno), bool(mark)) for docno, mark in zip(found["docno"], marks, strict=True)]


ADAPTERS: dict[str, Callable[[Any], Shown]] = {
    "langchain": langchain,
    "haystack": haystack,
    "llama_index": llama_index,
    "pyterrier": pyterrier,
}


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(
    "limits",
    [
        {},
        GROUPS,
        COSTS,
        SEEN,
        GROUPS | COSTS | SEEN,
        GROUPS | {"fill": True},
        GROUPS | COSTS | {"fill": True},
        COSTS | {"per_cost": True},
        {"relevance": "cosine"},
    ],
)
def test_limits_are_those_of_diversify(adapter: str, limits: Any) -> None:
    values = {
        "group_key": ("groups", [each["site"] for each in META]),
        "cost_key": ("costs", [each["tokens"] for each in META]),
        "shown_key": ("already_shown", [2]),
    }
    given = dict(values.get(name, (name, value)) for name, value in limits.items())
    ranker = None if "per_cost" in limits else "mmr"
    wanted = diversify(QUERY, VECTORS, K, ranker, SCORES, diversity=0.5, **given)
    assert ADAPTERS[adapter](limits) == list(zip(wanted.indices.tolist(), wanted.filled.tolist(), strict=True))
    assert wanted.filled.any() == ("fill" in limits)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_odd_limits_are_named(adapter: str) -> None:
    refused(lambda: ADAPTERS[adapter]({"group_key": "site"}), "group_key and max_per_group belong")
    refused(lambda: ADAPTERS[adapter]({"fill": True}), "give group_key and max_per_group")
    with pytest.raises(Exception, match=r"has no cost: cost_key='words'|missing_columns=\['words'\]"):
        ADAPTERS[adapter]({"cost_key": "words", "budget": 3})


class Awaited(Embeddings):
    """A model that can only be awaited."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("asynchronous code waits for the model")

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("asynchronous code waits for the model")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [VECTORS[int(text) if text.isdigit() else 0].tolist() for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return list(QUERY)


@pytest.mark.parametrize("subtopics", [None, lambda query: ["jaguar cat"]])
def test_langchains_retriever_waits_for_the_embeddings(subtopics: Any) -> None:
    store = InMemoryVectorStore.from_texts([str(i) for i in range(N)], Known(QUERY, VECTORS))
    found = store.as_retriever(search_kwargs={"k": N})
    store.embedding = Awaited()
    compressor = DiverseCompressor(embeddings=Awaited(), k=3, subtopics=subtopics)
    retriever = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=found)
    assert len(asyncio.run(retriever.ainvoke("jaguar"))) == 3


class AwaitedByLlamaIndex(BaseEmbedding):
    """A model whose texts can only be awaited."""

    def _get_text_embedding(self, text: str) -> list[float]:
        raise AssertionError("asynchronous code waits for the model")

    _get_query_embedding = _get_text_embedding

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return list(VECTORS[int(text) if text.isdigit() else 0])

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return list(QUERY)


@pytest.mark.parametrize("subtopics", [None, lambda query: ["jaguar cat"]])
def test_llama_indexs_query_engine_waits_for_the_embeddings(subtopics: Any) -> None:
    nodes = [TextNode(id_=str(i), text=str(i), embedding=vector.tolist()) for i, vector in enumerate(VECTORS)]
    model = AwaitedByLlamaIndex()
    diverse = DiversePostprocessor(top_n=3, embed_model=model, subtopics=subtopics)
    index = VectorStoreIndex(nodes, embed_model=model)
    engine = index.as_query_engine(similarity_top_k=N, node_postprocessors=[diverse], llm=MockLLM())
    assert len(asyncio.run(engine.aquery("jaguar")).source_nodes) == 3


@component
class AwaitedByHaystack:
    """An embedder that can only be awaited."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        raise AssertionError("asynchronous code waits for the model")

    @component.output_types(embedding=list[float])
    async def run_async(self, text: str) -> dict[str, Any]:
        return {"embedding": QUERY.tolist()}


def test_haystacks_pipeline_waits_for_the_embedder() -> None:
    given = [HaystackDocument(content=str(i), embedding=VECTORS[i].tolist(), score=SCORES[i]) for i in range(N)]
    pipeline = Pipeline()
    ranker = DiverseRanker(3, embedder=AwaitedByHaystack(), subtopics=lambda query: ["jaguar cat", "jaguar car"])
    pipeline.add_component("ranker", ranker)
    found = asyncio.run(pipeline.run_async({"documents": given, "query": "jaguar"}))
    assert len(found["ranker"]["documents"]) == 3
