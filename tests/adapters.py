"""Every adapter of `srd_agents.integrations` behind one call, so that one test can hold what all of them promise.

Runs where the five libraries are: `make test-third-party-integrations`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import pyterrier as pt
from haystack import Document as HaystackDocument
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


class Known(Embeddings):
    """A model that has the vectors: documents' texts are their places."""

    def __init__(self, query: Vectors, vectors: Vectors) -> None:
        self.query, self.vectors = query, vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vectors[int(text)].tolist() for text in texts]

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


def langchain(
    query: Vectors,
    vectors: Vectors,
    scores: Vectors,
    k: int,
    weight: Any,
    ranker: Any = None,
    runnable: bool = False,
    **options: Any,
) -> list[int]:
    compressor = DiverseCompressor(
        embeddings=Known(query, vectors), k=k, lambda_mult=weight, ranker=ranker, score_key="relevance_score", **options
    )
    documents = [Document(str(i), metadata={"relevance_score": float(score)}) for i, score in enumerate(scores)]
    if runnable:
        shown = compressor.as_runnable().invoke({"query": "jaguar", "documents": documents})
    else:
        shown = compressor.compress_documents(documents, "jaguar")
    return [int(one.page_content) for one in shown]


def haystack(
    query: Vectors, vectors: Vectors, scores: Vectors, k: int, weight: Any, ranker: Any = None, **options: Any
) -> list[int]:
    documents = [
        HaystackDocument(id=str(i), content=str(i), embedding=vector.tolist(), score=float(score))
        for i, (vector, score) in enumerate(zip(vectors, scores, strict=True))
    ]
    component = DiverseRanker(top_k=k, diversity=weight, ranker=ranker, **options)
    found = component.run(documents=documents, query_embedding=query.tolist())
    return [int(one.id) for one in found["documents"]]


def llama_index(
    query: Vectors, vectors: Vectors, scores: Vectors, k: int, weight: Any, ranker: Any = None, **options: Any
) -> list[int]:
    nodes = [
        NodeWithScore(node=TextNode(id_=str(i), text=str(i), embedding=vector.tolist()), score=float(score))
        for i, (vector, score) in enumerate(zip(vectors, scores, strict=True))
    ]
    postprocessor = DiversePostprocessor(
        top_n=k,
        mmr_threshold=weight,
        ranker=ranker,
        embed_model=KnownToLlamaIndex(known=Known(query, vectors)),
        **options,
    )
    shown = postprocessor.postprocess_nodes(nodes, QueryBundle("jaguar", embedding=query.tolist()))
    return [int(one.node_id) for one in shown]


def pyterrier(
    query: Vectors, vectors: Vectors, scores: Vectors, k: int, weight: Any, ranker: Any = None, **options: Any
) -> list[int]:
    found = pd.DataFrame({"qid": "1", "docno": [str(i) for i in range(len(vectors))], "score": scores})
    found["doc_vec"], found["query_vec"] = list(vectors), [query] * len(vectors)
    reranker = DiverseReranker(ranker, k, Lambda=weight, query_vectors="query_vec", **options)
    pipeline = pt.Transformer.from_df(found) >> reranker
    return [int(docno) for docno in pipeline.search("jaguar").sort_values("rank")["docno"]]


def sklearn(
    query: Vectors, vectors: Vectors, scores: Vectors, k: int, weight: Any, ranker: Any = None, **options: Any
) -> list[int]:
    search = DiverseNeighbors(k, n_candidates=len(vectors), diversity=weight, ranker=ranker, **options).fit(vectors)
    return [int(place) for place in search.predict([query])[0]]


ADAPTERS: dict[str, tuple[Adapter, Callable[[float], float]]] = {
    "langchain": (langchain, lambda diversity: 1 - diversity),
    "langchain runnable": (partial(langchain, runnable=True), lambda diversity: 1 - diversity),
    "haystack": (haystack, lambda diversity: diversity),
    "llama_index": (llama_index, lambda diversity: 1 - diversity),
    "pyterrier": (pyterrier, lambda diversity: 1 - diversity),
    "sklearn": (sklearn, lambda diversity: diversity),
}
"""Each adapter, and what a weight of diversity is called in its library."""
