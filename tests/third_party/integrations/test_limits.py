"""Limits in every adapter: groups, budgets and documents shown before, from keys; and models that are awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from adapters import SHOWS, Known, Retrieved
from haystack import Document as HaystackDocument
from haystack import Pipeline, component
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode

from srd_agents import diversify
from srd_agents.integrations.haystack import DiverseRanker
from srd_agents.integrations.langchain import DiverseCompressor
from srd_agents.integrations.llama_index import DiversePostprocessor

N, K = 12, 8
GENERATOR = np.random.default_rng(0)
QUERY, VECTORS = GENERATOR.normal(size=4), GENERATOR.normal(size=(N, 4))
SCORES = np.arange(N, 0, -1.0)
META: list[dict[str, Any]] = [{"site": "abc"[i % 3], "tokens": i % 4 + 1, "seen": i == 2} for i in range(N)]
GROUPS = {"group_key": "site", "max_per_group": 1}
COSTS = {"cost_key": "tokens", "budget": 9}
SEEN = {"shown_key": "seen"}
LIMITS = [
    {},
    GROUPS | COSTS | SEEN,
    GROUPS | COSTS | {"fill": True},
    COSTS | {"per_cost": True},
    {"relevance": "cosine"},
]
EVERY = [(show, later) for show in SHOWS for later in (False, True)][:-1]


@pytest.mark.parametrize(("adapter", "later"), EVERY)
@pytest.mark.parametrize("limits", LIMITS)
def test_limits_are_those_of_diversify(adapter: str, later: bool, limits: Any) -> None:
    values = {
        "group_key": ("groups", [each["site"] for each in META]),
        "cost_key": ("costs", [each["tokens"] for each in META]),
        "shown_key": ("already_shown", [2]),
    }
    given = dict(values.get(name, (name, value)) for name, value in limits.items())
    ranker = None if "per_cost" in limits else "mmr"
    wanted = diversify(QUERY, VECTORS, K, ranker, SCORES, diversity=0.5, **given)
    more = {"later": True} if later else {}
    shown = SHOWS[adapter](Retrieved(SCORES, VECTORS, QUERY, metadata=META), K, 0.5, **limits, **more)
    assert shown == list(zip(wanted.indices.tolist(), wanted.filled.tolist(), strict=True))
    assert wanted.filled.any() == ("fill" in limits)


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
