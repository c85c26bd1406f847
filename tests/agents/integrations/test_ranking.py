"""What all adapters share, without their libraries (tests/third_party/integrations holds it with them)."""

from __future__ import annotations

import asyncio
import importlib
import sys
from typing import Any

import numpy as np
import pytest
from small_topics import refused

from srd_agents import diversify, make_ranker
from srd_agents.heuristic.config import MMRConfig
from srd_agents.integrations.ranking import (
    LimitKeys,
    Model,
    Subtopics,
    at_once,
    best_first,
    chooser_of,
    marked,
    named,
)
from srd_agents.pipeline.naming import Namer
from srd_agents.pipeline.safe import Safe

VECTORS = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
QUERY = np.random.default_rng(1).normal(size=4).astype(np.float32)
ALL: dict[str, Any] = {"vectors": VECTORS, "names": named("document", range(9)), "query": "jaguar"}


def test_mmr_ranks_where_only_a_weight_is_given_and_without_it_the_default() -> None:
    ranked = make_ranker("mmr", lambda_=0.1)
    assert chooser_of(ranked).ranker is ranked
    assert type(chooser_of(None).ranker).__name__ == "Safe"
    for weight in ({"diversity": 0.25}, {"lambda_": 0.75}):
        made: Any = chooser_of(None, **weight).ranker
        assert made.config == MMRConfig(lambda_=0.75, relevance="matched")
    for weight in ({"diversity": 1.5}, {"lambda_": 1.5}):
        refused(
            lambda weight=weight: chooser_of(None, **weight, option="Lambda"), "Lambda must be between 0 and 1, got 1.5"
        )


def test_relevance_without_scores() -> None:
    cosines = VECTORS @ QUERY / np.linalg.norm(VECTORS, axis=1)
    by_cosine = np.argsort(-cosines, kind="stable")
    weighing, other = chooser_of("mmr", 0.5), chooser_of(None, None)
    expected = diversify(QUERY, VECTORS[by_cosine], 5, make_ranker("mmr")).indices
    assert best_first(weighing, 5, **ALL, query_vector=QUERY)[0].tolist() == by_cosine[expected].tolist()
    assert best_first(other, 9, **ALL, query_vector=QUERY, scores=[None] * 9)[0].tolist() == list(range(9))
    ordered = best_first(weighing, 5, **ALL)[0].tolist()
    by_rank = make_ranker("mmr", relevance="rank")
    assert best_first(chooser_of(by_rank), 5, **ALL, query_vector=QUERY)[0].tolist() == ordered
    assert diversify(None, VECTORS, 5, by_rank, np.arange(9, 0, -1)).indices.tolist() == ordered


SENSES = {"cat": [1.0, 0, 0, 0], "car": [0, 1.0, 0, 0]}
META = [{"about": "cat"}, {"about": ["car", "Cat"]}, {"about": None}, {}]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("subtopics", "namer", "named"), [
    (None, None, None),
    ("about", None, ["cat", "car"]),
    ("absent", None, None),
    (lambda query: [f"{query} cat"], None, ["jaguar cat"]),
    (lambda query, texts: [f"{query} {texts[0]}"], None, ["jaguar first"]),
    (None, lambda prompt: '["cat", "cat"]', ["cat"]),
    (None, Namer(lambda prompt: "- cat\n- car", limit=1), ["cat"]),
])  # fmt: skip
def test_subtopics_are_found_or_named(subtopics: Any, namer: Any, named: Any, asynchronous: bool) -> None:
    source = Subtopics(subtopics, namer, "")
    asked = ("jaguar", ["first", None, "", "last"], META)
    assert (asyncio.run(source.later(*asked)) if asynchronous else source.of(*asked)) == named
    assert source.given == (subtopics is not None or namer is not None)


def test_subtopics_are_embedded_about_the_query_and_count() -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> Any:
        asked.extend(texts)
        return [SENSES[text.rpartition(" ")[2]] for text in texts]

    vectors = Subtopics("about", None, "").vectors(["cat", "jaguar car"], "jaguar", embed)
    assert asked == ["jaguar: cat", "jaguar car"]
    chooser = chooser_of(None, None, named=True)
    found = best_first(chooser, 5, **ALL, scores=range(9, 0, -1), subtopics=vectors)[0].tolist()
    assert found == diversify(None, VECTORS, 5, scores=range(9, 0, -1), subtopics=vectors).indices.tolist()
    assert found != best_first(chooser, 5, **ALL, scores=range(9, 0, -1))[0].tolist()
    refused(lambda: Subtopics("about", None, "do this").vectors(["cat"], "jaguar", None), r"\('cat', ...\): do this")


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"subtopics": "about", "namer": str}, ValueError, "subtopics and namer were both given; give one"),
    ({"subtopics": 7}, TypeError, "must be a key of the documents' metadata or a function .*got int; .*namer="),
    ({"namer": 7}, TypeError, "llm must be a LangChain chat model"),
])  # fmt: skip
def test_odd_sources_of_subtopics_are_named(options: Any, error: type[Exception], message: str) -> None:
    refused(lambda: Subtopics(**({"subtopics": None, "namer": None, "remedy": ""} | options)), message, error)


def test_subtopics_need_a_ranker_that_uses_them_and_a_weight_alone_is_no_mmr_then() -> None:
    assert isinstance(chooser_of(None, 0.5, named=True).ranker, Safe)
    refused(lambda: chooser_of("mmr", 0.5, named=True), "'mmr' cannot use subtopics; .*: xquad, pm2, vrisker, safe")
    for held in (7, [7], {"cat": 1}):
        refused(
            lambda held=held: Subtopics("about", None, "").of("", [""], [{"about": held}]), "must hold a t", TypeError
        )


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"vectors": [[1, 2], None]}, ValueError, "document 1 has no embedding; do this"),
    ({"vectors": [[1, 2], [1, 2, 3]]}, ValueError, r"document 1 .*of width 3, document 0 \(id 'a'\) .*of width 2"),
    ({"scores": [1, None]}, ValueError, "document 1 has no score, and others have"),
    ({"scores": [1, "2"]}, TypeError, "'jaguar': scores must hold numbers"),
    ({"scores": [1, float("inf")]}, ValueError, r"'jaguar': scores holds NaN or infinity \(first at row 1\)"),
    ({"vectors": [[1, 2], [1, float("nan")]]}, ValueError, r"'jaguar': doc_vectors holds NaN .*at row 1\)"),
    ({"vectors": [[1, 2], ["a", "b"]]}, TypeError, "'jaguar': doc_vectors must hold numbers"),
    ({"vectors": [[1, 2], [[1], [2]]]}, ValueError, "'jaguar': doc_vectors cannot be read as an array"),
    ({"vectors": [3, 4]}, TypeError, r"document 0 \(id 'a'\) has an embedding that is no list of .*got 3; do this"),
    ({"query_vector": [1]}, ValueError, "'jaguar': query_vector has shape"),
])  # fmt: skip
@pytest.mark.parametrize("ranker", ["mmr", "safe"])
def test_odd_documents_are_told_of_the_query(given: Any, error: type[Exception], message: str, ranker: str) -> None:
    rest = {"vectors": [[1, 2], [2, 1]], "query_vector": [1, 2], "names": named("document", ["a", None])}
    asked: dict[str, Any] = {**rest, **given, "query": "jaguar", "remedy": "do this"}
    refused(lambda: best_first(chooser_of(ranker), 2, **asked), message, error)


LIMITS = {"group_key": "site", "max_per_group": 1, "cost_key": "tokens", "budget": 3, "shown_key": "seen", "fill": True}
PLACES = [{"site": "ab"[i % 2], "tokens": 1, "seen": i == 0} for i in range(9)]


@pytest.mark.parametrize("scores", [None, range(9, 0, -1)])
@pytest.mark.parametrize("ranker", ["mmr", None])
def test_limits_come_from_the_metadata(ranker: Any, scores: Any) -> None:
    """Also where documents without scores are sorted by their cosine first."""
    keys = LimitKeys(**LIMITS)
    chooser = chooser_of(ranker, keys=keys)
    places, filled = best_first(
        chooser, 4, **ALL, query_vector=QUERY, scores=scores, limited=keys.limited(PLACES, ALL["names"])
    )
    relevance = VECTORS @ QUERY / np.linalg.norm(VECTORS, axis=1) if ranker and scores is None else range(9, 0, -1)
    given: dict[str, Any] = {"groups": ["a", "b"] * 4 + ["a"], "max_per_group": 1, "costs": [1] * 9, "budget": 3}
    wanted = diversify(QUERY, VECTORS, 4, ranker, relevance, **given, already_shown=[0], fill=True)
    assert (places.tolist(), filled.tolist()) == (wanted.indices.tolist(), wanted.filled.tolist())
    assert filled.tolist() == [False, True, True]
    assert LimitKeys(**keys.limit_options()).limits() == keys.limits()
    assert marked(PLACES[0]) == {**PLACES[0], "filled": True}
    assert "filled" not in PLACES[0]


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"group_key": "site"}, ValueError, "group_key and max_per_group belong together"),
    ({"budget": 3}, ValueError, "cost_key and budget belong together"),
    ({"fill": True}, ValueError, "give group_key and max_per_group, or leave fill out"),
    ({"group_key": "author", "max_per_group": 1}, ValueError, "document 0 .*has no group: group_key='author' is"),
    ({"cost_key": "words", "budget": 1}, ValueError, "document 0 .*has no cost: cost_key='words' is not in its meta"),
    ({"shown_key": "site"}, TypeError, "'site' in the metadata of document 0 .*must hold True or False, got 'a'"),
    ({"groups": "site"}, TypeError, "unexpected keyword argument 'groups'"),
])  # fmt: skip
def test_odd_limits_are_named(options: Any, error: type[Exception], message: str) -> None:
    def limit() -> None:
        keys = LimitKeys(**options)
        keys.limits()
        keys.limited(PLACES, ALL["names"])

    refused(limit, message, error)


TEXTS = ["big cat", "used car", "new car"]


@pytest.mark.parametrize("later", [False, True])
def test_what_has_no_vector_is_embedded_by_the_model(later: bool) -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> Any:
        asked.append(texts)
        return [[float(len(text)), 1.0] for text in texts]

    async def embed_later(texts: list[str]) -> Any:
        await asyncio.sleep(0)
        return embed(texts)

    def of_query(text: str) -> Any:
        return embed_later([text]) if later else embed([text])

    model = Model(embed_later if later else embed, of_query)
    source = Subtopics("about", None, "do this")
    given: Any = ("jaguar", TEXTS, META[:3], [None, [7.0, 1.0], None])
    steps = source.prepared(*given, model, later=later)
    ready = asyncio.run(steps) if later else at_once(steps)
    assert asked == [["big cat", "new car"], ["jaguar: cat", "jaguar: car"], ["jaguar"]]
    assert [list(map(float, vector)) for vector in ready.vectors] == [[7, 1], [7, 1], [7, 1]]
    assert (ready.query_vector, ready.subtopics.shape) == ([[6, 1]], (2, 2))
    if later:
        refused(lambda: at_once(source.prepared(*given, model)), "asynchronous.* await it", TypeError)
    refused(lambda: at_once(source.prepared(*given, None)), r"\('cat', ...\): do this")
    refused(lambda: at_once(source.prepared(*given, model._replace(documents=lambda texts: None))), "for 2 vectors and")


def test_without_a_model_documents_are_compared_by_their_words() -> None:
    pytest.importorskip("sklearn")
    ready = at_once(Subtopics(None, None, "").prepared("car", TEXTS, [{}] * 3, [None] * 3, None))
    wanted = diversify(texts=TEXTS, query_text="car", k=3, diversity=0.5, ranker="mmr").indices.tolist()
    asked: dict[str, Any] = {"names": named("document", range(3)), "query": "car", "query_vector": ready.query_vector}
    assert best_first(chooser_of(None, 0.5), 3, ready.vectors, **asked)[0].tolist() == wanted


def test_a_document_without_a_vector_is_ranked_by_its_score() -> None:
    vectors = [None if i == 2 else vector for i, vector in enumerate(VECTORS.tolist())]
    with pytest.warns(UserWarning, match="'jaguar': 1 of 9 documents have no vector and are ranked by their scores"):
        found = best_first(chooser_of(None), 9, **{**ALL, "vectors": vectors}, scores=range(9, 0, -1))[0]
    assert found.tolist() == list(range(9))


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
