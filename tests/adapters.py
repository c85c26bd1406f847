"""Every adapter of `srd_agents.integrations` behind one call, so that one test can hold what all of them promise.

Runs where the five libraries are: `make test-third-party-integrations`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from haystack import Document as HaystackDocument
from haystack import Pipeline
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from numpy.typing import NDArray

from srd_agents.integrations.haystack import DiverseRanker
from srd_agents.integrations.langchain import DiverseCompressor
from srd_agents.integrations.llama_index import DiversePostprocessor
from srd_agents.integrations.pyterrier import DiverseReranker
from srd_agents.integrations.sklearn import DiverseNeighbors

Vectors = NDArray[Any]
Adapter = Callable[..., list[int]]
"""(query [F], vectors [N, F], scores [N], k, the library's weight or None, ranker=..., its options) -> places."""


class Model(Embeddings):
    """A model that embeds each text alone."""

    def __init__(self, embed: Callable[[str], list[float]]) -> None:
        self.embed = embed

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed(text)


class Known(Model):
    """A model that has the vectors: documents' texts are their places."""

    def __init__(self, query: Vectors, vectors: Vectors) -> None:
        super().__init__(lambda text: vectors[int(text)].tolist())
        self.query = query

    def embed_query(self, text: str) -> list[float]:
        found: list[float] = self.query.tolist()
        return found


class KnownToLlamaIndex(BaseEmbedding):
    """The same for LlamaIndex."""

    known: Any

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(self.known.embed_documents([text])[0])

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(self.known.embed_query(query))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


@dataclass(frozen=True)
class Retrieved:
    """Documents retrieved for a query: their texts are their places unless others are given."""

    scores: Any
    vectors: Any = None
    query: Any = None
    text: str | None = "jaguar"
    texts: Sequence[str] = ()
    metadata: Sequence[dict[str, Any]] = ()
    model: Any = None
    """A model of texts, in place of one that has the vectors."""

    def rows(self) -> list[tuple[str, Any, float, dict[str, Any]]]:
        """Text, vector, score and metadata of each document."""
        n = len(self.scores)
        texts, metadata = self.texts or [str(i) for i in range(n)], self.metadata or [{}] * n
        vectors = [None] * n if self.vectors is None else [vector.tolist() for vector in self.vectors]
        return list(zip(texts, vectors, map(float, self.scores), metadata, strict=True))

    def places(self, shown: Sequence[tuple[Any, Any]]) -> Shown:
        """The places of the documents that were shown, found by their texts."""
        known = [text for text, *_ in self.rows()]
        return [(known.index(text), bool(mark)) for text, mark in shown]

    @property
    def embeds(self) -> Model:
        """A model of these documents and of the query."""
        return self.model or Known(self.query, self.vectors)

    @property
    def embedding(self) -> Any:
        """The query's vector as a list, or None."""
        return None if self.query is None else self.query.tolist()


Shown = list[tuple[int, bool]]
"""Places of documents, and whether they are marked as filled up."""


def langchain(
    given: Retrieved, k: int, weight: Any, runnable: bool = False, later: bool = False, **options: Any
) -> Shown:
    if given.vectors is not None:
        options = {"embeddings": given.embeds} | options
    compressor = DiverseCompressor(k=k, lambda_mult=weight, score_key="relevance_score", **options)
    documents = [Document(text, metadata={"relevance_score": score, **meta}) for text, _, score, meta in given.rows()]
    before = [document.model_copy(deep=True) for document in documents]
    if runnable:
        found = compressor.as_runnable().invoke({"query": given.text, "documents": documents})
    elif later:
        found = asyncio.run(compressor.acompress_documents(documents, given.text))
    else:
        found = compressor.compress_documents(documents, given.text)
    assert documents == before
    return given.places([(each.page_content, each.metadata.get("filled")) for each in found])


def haystack(given: Retrieved, k: int, weight: Any, later: bool = False, **options: Any) -> Shown:
    documents = [
        HaystackDocument(id=str(i), content=text, embedding=vector, score=score, meta=meta)
        for i, (text, vector, score, meta) in enumerate(given.rows())
    ]
    if given.model is not None:
        options = {"embedder": given.model.embed_documents} | options
    component = DiverseRanker(top_k=k, diversity=weight, **options)
    asked = {"documents": documents, "query": given.text, "query_embedding": given.embedding}
    if later:
        pipeline = Pipeline()
        pipeline.add_component("ranker", component)
        found = asyncio.run(pipeline.run_async(asked))["ranker"]["documents"]
    else:
        found = component.run(**asked)["documents"]
    assert [document.meta for document in documents] == [meta for *_, meta in given.rows()]
    return given.places([(each.content, each.meta.get("filled")) for each in found])


def llama_index(given: Retrieved, k: int, weight: Any, later: bool = False, **options: Any) -> Shown:
    nodes = [
        NodeWithScore(node=TextNode(id_=str(i), text=text, embedding=vector, metadata=meta), score=score)
        for i, (text, vector, score, meta) in enumerate(given.rows())
    ]
    if given.vectors is not None:
        options = {"embed_model": KnownToLlamaIndex(known=given.embeds)} | options
    postprocessor = DiversePostprocessor(top_n=k, mmr_threshold=weight, **options)
    query = None if given.text is None else QueryBundle(given.text, embedding=given.embedding)
    if later:
        found = asyncio.run(postprocessor.apostprocess_nodes(nodes, query))
    else:
        found = postprocessor.postprocess_nodes(nodes, query)
    assert [each.node.metadata for each in nodes] == [meta for *_, meta in given.rows()]
    return given.places([(each.text, each.node.metadata.get("filled")) for each in found])


def pyterrier(given: Retrieved, k: int, weight: Any, ranker: Any = None, **options: Any) -> Shown:
    texts, _, scores, metadata = zip(*given.rows(), strict=True)
    docnos = [str(i) for i in range(len(texts))]
    found = pd.DataFrame({"qid": "1", "query": given.text, "docno": docnos, "text": texts, "score": scores})
    found = found.join(pd.DataFrame(metadata))
    options["doc_vectors"] = None if given.vectors is None else "doc_vec"
    if given.vectors is not None:
        found["doc_vec"], found["query_vec"] = list(given.vectors), [given.query] * len(texts)
        options["query_vectors"] = "query_vec"
    if given.model is not None:
        options = {"embed": given.model.embed_documents} | options
    shown = DiverseReranker(ranker, k, Lambda=weight, **options).transform(found)
    marks = shown["filled"] if "filled" in shown else [False] * len(shown)
    return given.places(list(zip(shown["text"], marks, strict=True)))


SHOWS: dict[str, Callable[..., Shown]] = {
    "langchain": langchain,
    "haystack": haystack,
    "llama_index": llama_index,
    "pyterrier": pyterrier,
}
"""Each library that takes documents with texts and metadata; all but the last may be awaited (`later=True`)."""


def places(show: Callable[..., Shown]) -> Adapter:
    """An adapter by vectors alone."""

    def adapter(query: Any, vectors: Any, scores: Any, k: int, weight: Any, ranker: Any = None, **options: Any) -> Any:
        return [place for place, _ in show(Retrieved(scores, vectors, query), k, weight, ranker=ranker, **options)]

    return adapter


def sklearn(
    query: Vectors, vectors: Vectors, scores: Vectors, k: int, weight: Any, ranker: Any = None, **options: Any
) -> list[int]:
    search = DiverseNeighbors(k, n_candidates=len(vectors), diversity=weight, ranker=ranker, **options).fit(vectors)
    return [int(place) for place in search.predict([query])[0]]


ADAPTERS: dict[str, tuple[Adapter, Callable[[float], float]]] = {
    "langchain": (places(langchain), lambda diversity: 1 - diversity),
    "langchain runnable": (places(partial(langchain, runnable=True)), lambda diversity: 1 - diversity),
    "haystack": (places(haystack), lambda diversity: diversity),
    "llama_index": (places(llama_index), lambda diversity: 1 - diversity),
    "pyterrier": (places(pyterrier), lambda diversity: 1 - diversity),
    "sklearn": (sklearn, lambda diversity: diversity),
}
"""Each adapter, and what a weight of diversity is called in its library."""
