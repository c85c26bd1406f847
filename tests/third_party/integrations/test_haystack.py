"""Haystack: behind its retriever in a pipeline, and through a pipeline's YAML."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from small_topics import refused

from srd_agents import diversify, make_ranker
from srd_agents.integrations.haystack import DiverseRanker
from srd_agents.training.files import CONFIG_FILE, SCHEMA_VERSION, write_json

GENERATOR = np.random.default_rng(0)
QUERY, VECTORS = GENERATOR.normal(size=4), GENERATOR.normal(size=(12, 4))
MODULE = "srd_agents.integrations.haystack"


def retrieved(scores: Any = range(12, 0, -1)) -> list[Document]:
    return [
        Document(id=str(i), content=str(i), embedding=vector.tolist(), score=None if score is None else float(score))
        for i, (vector, score) in enumerate(zip(VECTORS, scores, strict=True))
    ]


def pipeline(**options: Any) -> Pipeline:
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(retrieved([None] * 12))
    made = Pipeline()
    made.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=10, return_embedding=True))
    made.add_component("ranker", DiverseRanker(**options))
    made.connect("retriever", "ranker")
    return made


def ids(found: dict[str, Any]) -> list[str]:
    return [document.id for document in found["documents"]]


def test_behind_a_retriever() -> None:
    cosines = VECTORS @ QUERY / np.linalg.norm(VECTORS, axis=1) / np.linalg.norm(QUERY)
    order = np.argsort(-cosines)[:10]
    for diversity in (0.0, 0.5, 1.0):
        asked = {"query_embedding": QUERY.tolist()}
        found = pipeline(top_k=4, diversity=diversity).run({"retriever": asked, "ranker": asked})
        expected = diversify(QUERY, VECTORS[order], 4, "mmr", scores=cosines[order], diversity=diversity).indices
        assert ids(found["ranker"]) == [str(order[i]) for i in expected]
        assert [document.score for document in found["ranker"]["documents"]] == [1, 1 / 2, 1 / 3, 1 / 4]


def test_hybrid_retrieval_gives_a_document_once_and_some_of_it_without_an_embedding() -> None:
    both = [*retrieved(), *[replace(each, embedding=None, score=0.5 * (each.score or 0)) for each in retrieved()]]
    assert ids(DiverseRanker().run(both)) == ids(DiverseRanker().run(retrieved()))
    assert ids(DiverseRanker().run(both[::-1])) == ids(DiverseRanker().run(retrieved()))
    assert ids(asyncio.run(DiverseRanker(diversity=0.4).run_async(both))) == ids(
        DiverseRanker(diversity=0.4).run(retrieved())
    )
    with pytest.raises(ValueError, match=r"document 12 \(id '0'\) is duplicated; keep one document of an id"):
        DiverseRanker(strict=True).run(both)


def test_what_a_run_says_goes_before_what_the_component_says() -> None:
    component, given = DiverseRanker(top_k=4, diversity=0.5), retrieved()
    assert ids(component.run(given, top_k=2, diversity=0)) == ["0", "1"]
    assert given == retrieved(), "documents stay as they are"
    assert ids(component.run(retrieved(), diversity=0)) == ["0", "1", "2", "3"]
    assert ids(component.run(retrieved())) == ids(DiverseRanker(4, diversity=0.5).run(retrieved()))
    assert ids(DiverseRanker().run(retrieved())) == [str(i) for i in range(12)]
    assert DiverseRanker().run([]) == {"documents": []}


def test_without_scores_it_is_the_cosine_or_the_order() -> None:
    given = retrieved([None] * 12)
    cosines = VECTORS @ QUERY / np.linalg.norm(VECTORS, axis=1)
    by_cosine = DiverseRanker(diversity=0.0).run(given, query_embedding=QUERY.tolist())
    assert ids(by_cosine) == [str(i) for i in np.argsort(-cosines)]
    for ranker in (DiverseRanker(diversity=0.0), DiverseRanker()):
        assert ids(ranker.run(given)) == [str(i) for i in range(12)]


LIMITS = {"group_key": "site", "max_per_group": 1, "fill": True}


@pytest.mark.parametrize("options", [{}, {"top_k": 3, "diversity": 0.0}, {"diversity": 0.4, "ranker": "dpp"}, LIMITS])
def test_through_a_dictionary_and_yaml(options: Any) -> None:
    made = DiverseRanker(**options)
    written = made.to_dict()
    assert written["type"] == f"{MODULE}.DiverseRanker"
    again = DiverseRanker.from_dict(written)
    assert again.to_dict() == written
    assert ids(again.run(retrieved())) == ids(made.run(retrieved()))
    whole = Pipeline()
    whole.add_component("ranker", made)
    loaded = Pipeline.loads(whole.dumps(), allowed_modules=[MODULE])
    assert loaded.to_dict() == whole.to_dict()
    assert ids(loaded.run({"documents": retrieved()})["ranker"]) == ids(made.run(retrieved()))


def test_a_folder_is_written_down_and_an_object_is_not(tmp_path: Path) -> None:
    config = {"schema_version": SCHEMA_VERSION, "ranker": "mmr", "config": {"lambda_": 0.3}}
    write_json(tmp_path / CONFIG_FILE, config | {"vector_width": None, "seed": 0, "metadata": {}, "history": None})
    made = DiverseRanker(ranker=tmp_path)
    assert DiverseRanker.from_dict(made.to_dict()).to_dict()["init_parameters"]["ranker"] == str(tmp_path)
    by_object = DiverseRanker(ranker=make_ranker("mmr", lambda_=0.3))
    assert ids(by_object.run(retrieved())) == ids(made.run(retrieved()))
    refused(by_object.to_dict, "PathLike object, not MMR", TypeError)


def test_bad_options_are_named() -> None:
    refused(lambda: DiverseRanker(top_k=0), "top_k must be at least 1, got 0")
    refused(lambda: DiverseRanker(top_k=3).run(retrieved(), top_k=0), "^top_k must be at least 1, got 0")
    refused(lambda: DiverseRanker(embedder="minilm"), r"or a function .*got 'minilm' \(str\)", TypeError)


def test_documents_without_embeddings_are_compared_by_their_words_with_a_notice() -> None:
    texts = ["the big cat", "a big cat", "a used car", "apple"]
    given = [Document(content=text, score=1 / (i + 1)) for i, text in enumerate(texts)]
    with pytest.warns(UserWarning, match="compared by their words; have the retriever return embeddings, or give emb"):
        found = DiverseRanker(top_k=3, diversity=0.5).run(given, query="big cat")["documents"]
    scores = [document.score for document in given]
    wanted = diversify(texts=texts, query_text="big cat", k=3, scores=scores, diversity=0.5).indices
    assert [document.content for document in found] == [texts[i] for i in wanted]
    some = [replace(given[0], embedding=[1.0, 0.0], score=None), replace(given[1], score=None)]
    with pytest.raises(ValueError, match=r"document 1 .*has no embedding; have the retriever return embeddings"):
        DiverseRanker().run(some)
