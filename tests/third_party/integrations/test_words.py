"""Adapters without an embedding model: documents and what is named are compared by their words."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from haystack import Document as HaystackDocument
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode

from srd_agents import diversify
from srd_agents.integrations.haystack import DiverseRanker
from srd_agents.integrations.langchain import DiverseCompressor
from srd_agents.integrations.llama_index import DiversePostprocessor
from srd_agents.integrations.pyterrier import DiverseReranker

TEXTS = [
    "the big cat of the forest",
    "big cat pictures of the forest",
    "used car prices",
    "a new electric car",
    "the operating system of apple",
    "apple pictures",
]
SCORES = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
QUERY, K = "pictures of the big cat", 4


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Notices of adapters that expect embeddings are tested elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no document has an embedding")
        yield


def langchain(diversity: Any, **options: Any) -> list[str]:
    given = [Document(text, metadata={"score": score}) for text, score in zip(TEXTS, SCORES, strict=True)]
    weight = None if diversity is None else 1 - diversity
    made = DiverseCompressor(k=K, lambda_mult=weight, score_key="score", **options)
    found = made.compress_documents(given, QUERY)
    assert asyncio.run(made.acompress_documents(given, QUERY)) == found
    return [each.page_content for each in found]


def haystack(diversity: Any, **options: Any) -> list[str]:
    given = [HaystackDocument(content=text, score=score) for text, score in zip(TEXTS, SCORES, strict=True)]
    made = DiverseRanker(K, diversity=diversity, **options)
    found = made.run(given, query=QUERY)
    assert asyncio.run(made.run_async(given, query=QUERY)) == found
    return [str(each.content) for each in found["documents"]]


def llama_index(diversity: Any, **options: Any) -> list[str]:
    given = [NodeWithScore(node=TextNode(text=text), score=score) for text, score in zip(TEXTS, SCORES, strict=True)]
    made = DiversePostprocessor(top_n=K, mmr_threshold=None if diversity is None else 1 - diversity, **options)
    found = made.postprocess_nodes(given, query_str=QUERY)
    assert asyncio.run(made.apostprocess_nodes(given, query_str=QUERY)) == found
    return [each.node.get_content() for each in found]


def pyterrier(diversity: Any, **options: Any) -> list[str]:
    docnos = [str(i) for i in range(len(TEXTS))]
    given = pd.DataFrame({"qid": "1", "query": QUERY, "docno": docnos, "text": TEXTS, "score": SCORES})
    weight = None if diversity is None else 1 - diversity
    found = DiverseReranker(k=K, Lambda=weight, doc_vectors=None, **options).transform(given)
    return [str(text) for text in found["text"]]


@pytest.mark.parametrize("adapter", [langchain, haystack, llama_index, pyterrier])
@pytest.mark.parametrize("diversity", [None, 0.0, 0.3, 0.7])
@pytest.mark.parametrize("subtopics", [None, lambda query: ["electric car", "operating system"]])
def test_texts_are_ranked_as_diversify_ranks_them(adapter: Any, diversity: Any, subtopics: Any) -> None:
    ranker = "mmr" if diversity is not None and subtopics is None else None
    told = {} if subtopics is None else {"subtopics": subtopics}
    wanted = diversify(
        texts=TEXTS, query_text=QUERY, k=K, ranker=ranker, scores=SCORES, diversity=diversity, **told
    ).indices
    assert adapter(diversity, **told) == [TEXTS[i] for i in wanted]


def test_frames_take_the_most_value_per_cost() -> None:
    generator = np.random.default_rng(0)
    vectors, tokens = generator.normal(size=(9, 4)), generator.integers(1, 9, size=9)
    given = pd.DataFrame({"qid": "1", "docno": list("abcdefghi"), "score": np.arange(9.0, 0, -1), "tokens": tokens})
    given["doc_vec"] = list(vectors)
    options: dict[str, Any] = {"budget": 12, "per_cost": True}
    wanted = diversify(None, vectors, 5, scores=given["score"], costs=tokens, **options).indices
    found = DiverseReranker(k=5, cost_key="tokens", **options).transform(given)
    assert found["docno"].tolist() == ["abcdefghi"[i] for i in wanted]
    with pytest.raises(ValueError, match="per_cost chooses by itself, got a ranker"):
        DiverseReranker("mmr", cost_key="tokens", **options)
    with pytest.raises(ValueError, match="per_cost divides by costs=, got none"):
        DiverseReranker(per_cost=True)
