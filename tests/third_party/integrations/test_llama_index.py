"""LlamaIndex: behind its retriever and in its query engine."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import numpy as np
import pytest
from adapters import Known, KnownToLlamaIndex
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import PrevNextNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from small_topics import refused

from srd_agents import diversify
from srd_agents.integrations.llama_index import DiversePostprocessor

GENERATOR = np.random.default_rng(0)
QUERY, VECTORS = GENERATOR.normal(size=4), GENERATOR.normal(size=(12, 4))


MODEL = KnownToLlamaIndex(known=Known(QUERY, VECTORS))


def retrieved(embedded: bool = True, scored: bool = True) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(id_=str(i), text=str(i), embedding=vector.tolist() if embedded else None),
            score=float(12 - i) if scored else None,
        )
        for i, vector in enumerate(VECTORS)
    ]


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [node.node_id for node in nodes]


@pytest.mark.parametrize("mmr_threshold", [0.0, 0.5, 1.0])
def test_behind_a_retriever_and_in_a_query_engine(mmr_threshold: float) -> None:
    index = VectorStoreIndex([TextNode(id_=str(i), text=str(i)) for i in range(12)], embed_model=MODEL)
    retriever = index.as_retriever(similarity_top_k=10)
    postprocessor = DiversePostprocessor(top_n=4, mmr_threshold=mmr_threshold, embed_model=MODEL)
    found = retriever.retrieve("jaguar")
    shown = postprocessor.postprocess_nodes(found, query_str="jaguar")
    places = [int(node.node_id) for node in found]
    scores = [node.score for node in found]
    expected = diversify(QUERY, VECTORS[places], 4, "mmr", scores=scores, diversity=1 - mmr_threshold).indices
    assert ids(shown) == [str(places[i]) for i in expected]
    assert [node.score for node in shown] == [1, 1 / 2, 1 / 3, 1 / 4]
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM(), node_postprocessors=[postprocessor])
    assert ids(engine.query("jaguar").source_nodes) == ids(shown)
    assert ids(asyncio.run(postprocessor.apostprocess_nodes(found, query_str="jaguar"))) == ids(shown)


def test_nodes_bring_their_own_embeddings() -> None:
    postprocessor = DiversePostprocessor(top_n=4, mmr_threshold=0.5)
    expected = DiversePostprocessor(top_n=4, mmr_threshold=0.5, embed_model=MODEL)
    assert ids(postprocessor.postprocess_nodes(retrieved())) == ids(expected.postprocess_nodes(retrieved(False)))
    given = retrieved()
    postprocessor.postprocess_nodes(given)
    assert given == retrieved()
    assert postprocessor.postprocess_nodes([]) == []


def test_nodes_that_llamaindex_itself_adds_without_a_score_come_last() -> None:
    nodes = retrieved()
    for node, following in pairwise(nodes):
        node.node.relationships[NodeRelationship.NEXT] = following.node.as_related_node_info()
    store = SimpleDocumentStore()
    store.add_documents([node.node for node in nodes])
    found = PrevNextNodePostprocessor(docstore=store, num_nodes=2, mode="next").postprocess_nodes(nodes[:3])
    lost = [node.node_id for node in found if node.score is None]
    assert lost
    with pytest.warns(UserWarning, match="documents without a score, which come last"):
        shown = DiversePostprocessor(top_n=9).postprocess_nodes(found)
    assert [node.node_id for node in shown][-len(lost) :] == lost
    assert len(shown) == len(found)
    refused(lambda: DiversePostprocessor(strict=True).postprocess_nodes(found), "has no score, and others have")


def test_without_scores_it_is_the_cosine_or_the_order() -> None:
    cosines = VECTORS @ QUERY / np.linalg.norm(VECTORS, axis=1)
    given, all_of_them = retrieved(scored=False), DiversePostprocessor(top_n=12, mmr_threshold=1)
    by_cosine = all_of_them.postprocess_nodes(given, QueryBundle("jaguar", embedding=QUERY.tolist()))
    assert ids(by_cosine) == [str(i) for i in np.argsort(-cosines)]
    assert ids(all_of_them.postprocess_nodes(given)) == [str(i) for i in range(12)]
    assert ids(DiversePostprocessor(top_n=12).postprocess_nodes(given)) == [str(i) for i in range(12)]


def test_through_a_dictionary() -> None:
    made = DiversePostprocessor(top_n=3, mmr_threshold=0, ranker="dpp", group_key="site", max_per_group=1, fill=True)
    again = DiversePostprocessor.from_dict(made.to_dict())
    assert made.to_dict() == again.to_dict()
    assert made.to_dict()["class_name"] == "DiversePostprocessor"
    assert ids(again.postprocess_nodes(retrieved())) == ids(made.postprocess_nodes(retrieved()))


def test_nodes_without_embeddings_and_bad_options_are_named() -> None:
    some = [*retrieved(False, scored=False)[:1], *retrieved(scored=False)[1:]]
    message = "has no embedding; give embed_model="
    refused(lambda: DiversePostprocessor().postprocess_nodes(some), message)
    refused(lambda: DiversePostprocessor(top_n=0), "greater than or equal to 1")
    refused(lambda: DiversePostprocessor(top_k=3), "Extra inputs are not permitted")
