"""What all adapters share, without their libraries (tests/third_party/integrations holds it with them)."""

from __future__ import annotations

import asyncio
import importlib
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_topics import adapted, refused

from srd_agents import diversify, make_ranker
from srd_agents.heuristic.config import MMRConfig
from srd_agents.integrations.ranking import (
    Adapter,
    Model,
    Retrieved,
    Subtopics,
    at_once,
    chosen,
    marked,
)
from srd_agents.pipeline.documents import each_once
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.naming import Namer
from srd_agents.pipeline.safe import Safe

NAN = float("nan")
VECTORS = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
QUERY = np.random.default_rng(1).normal(size=4).astype(np.float32)


def test_mmr_ranks_where_only_a_weight_is_given_and_without_it_the_default() -> None:
    own = make_ranker("mmr", lambda_=0.1)
    assert Adapter(ranker=own).request().made is own
    assert type(Adapter().request().made).__name__ == "Safe"
    for weight in ({"diversity": 0.25}, {"lambda_": 0.75}):
        made: Any = Adapter().request(**weight).made
        assert made.config == MMRConfig(lambda_=0.75, relevance="matched")
    for weight in ({"diversity": 1.5}, {"lambda_": 1.5}):
        refused(lambda weight=weight: Adapter().request(**weight, called="Lambda"), "Lambda must be .* 1, got 1.5")


def test_relevance_without_scores() -> None:
    cosines = VECTORS @ QUERY / np.linalg.norm(VECTORS, axis=1)
    by_cosine = np.argsort(-cosines, kind="stable")
    weighing, other = Adapter(ranker="mmr").request(0.5), Adapter().request()
    expected = diversify(QUERY, VECTORS[by_cosine], 5, make_ranker("mmr")).indices
    assert adapted(weighing, 5, VECTORS, query_vector=QUERY)[0] == by_cosine[expected].tolist()
    assert adapted(other, 9, VECTORS, query_vector=QUERY, scores=[None] * 9)[0] == list(range(9))
    by_rank = Adapter(ranker="mmr", relevance="rank").request()
    ordered = adapted(by_rank, 5, VECTORS, query_vector=QUERY)[0]
    assert ordered == diversify(None, VECTORS, 5, "mmr", np.arange(9, 0, -1), relevance="rank").indices.tolist()
    scaled = adapted(weighing, 5, VECTORS)[0]
    assert scaled == diversify(None, VECTORS, 5, "mmr", np.arange(9, 0, -1), diversity=0.5).indices.tolist()


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
    (None, Namer(lambda prompt: "- cat\n- car", max_subtopics=1), ["cat"]),
])  # fmt: skip
def test_subtopics_are_found_or_named(subtopics: Any, namer: Any, named: Any, asynchronous: bool) -> None:
    source = Subtopics(subtopics, namer, "")
    asked = ("jaguar", ["first", None, "", "last"], META)
    found = asyncio.run(source.of(*asked, later=True)) if asynchronous else at_once(source.of(*asked))
    assert found == named
    assert source.given == (subtopics is not None or namer is not None)


def test_subtopics_are_embedded_about_the_query_and_count() -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> Any:
        asked.extend(texts)
        return [SENSES[text.rpartition(" ")[2]] for text in texts]

    known = Given("jaguar", None, QUERY, list(VECTORS), range(9, 0, -1), query_text="jaguar", doc_texts=[""] * 9)
    held = Retrieved(known, list(range(9)), [""] * 9, [{"about": ["cat", "jaguar car"]}] * 9)
    ready = at_once(Subtopics("about", None, "").prepared(held, Model(embed, len)))
    assert asked == ["jaguar: cat", "jaguar car"]
    request = Adapter(subtopics="about").request()
    found = [place for place, _ in chosen(request, 5, held, ready)]
    wanted = diversify(QUERY, VECTORS, 5, scores=range(9, 0, -1), subtopics=list(SENSES.values())).indices.tolist()
    assert found == wanted != diversify(QUERY, VECTORS, 5, scores=range(9, 0, -1)).indices.tolist()
    refused(lambda: at_once(Subtopics("about", None, "do this").prepared(held, None)), r"\('cat', ...\): do this")


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"subtopics": "about", "namer": str}, ValueError, "subtopics and namer were both given"),
    ({"subtopics": 7}, TypeError, "must be a key of the documents' metadata"),
])  # fmt: skip
def test_odd_sources_of_subtopics_are_named(options: Any, error: type[Exception], message: str) -> None:
    refused(lambda: Subtopics(**({"subtopics": None, "namer": None, "remedy": ""} | options)), message, error)


def test_subtopics_need_a_ranker_that_uses_them_and_a_weight_alone_is_no_mmr_then() -> None:
    assert isinstance(Adapter(subtopics="about").request(0.5).made, Safe)
    refused(
        lambda: Adapter(ranker="mmr", namer=len).request(0.5),
        "'mmr' cannot use subtopics; .*: xquad",
    )
    for held in (7, [7], {"cat": 1}):
        refused(
            lambda held=held: at_once(Subtopics("about", None, "").of("", [""], [{"about": held}])),
            "must hold a t",
            TypeError,
        )


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"vectors": [[1, 2], None]}, ValueError, "document 1 has no embedding; do this"),
    ({"vectors": [[1, 2], [1, 2, 3]]}, ValueError, "rows of one length, got 2 .*3 in row 1"),
    ({"scores": [1, None], "keys": Adapter(strict=True)}, ValueError, "document 1 has no score, and others have"),
    ({"scores": [1, "2"]}, TypeError, "'jaguar': scores must hold numbers"),
    ({"scores": [1, float("inf")]}, ValueError, "'jaguar': scores holds NaN or infinity"),
    ({"vectors": [[1, 2], [1, float("nan")]]}, ValueError, "'jaguar': doc_vectors holds NaN"),
    ({"vectors": [3, 4]}, ValueError, r"'jaguar': doc_vectors has shape \(2,\)"),
    ({"query_vector": [1]}, ValueError, "'jaguar': query_vector has shape"),
])  # fmt: skip
@pytest.mark.parametrize("ranker", ["mmr", "safe"])
def test_odd_documents_are_told_of_the_query(given: Any, error: type[Exception], message: str, ranker: str) -> None:
    asked: dict[str, Any] = {"vectors": [[1, 2], [2, 1]], "query_vector": [1, 2], "ids": ["a", None]} | given
    request = replace(asked.get("keys", Adapter()), ranker=ranker).request()
    refused(lambda: adapted(request, 2, **asked, remedy="do this"), message, error)


LIMITS = {"group_key": "site", "max_per_group": 1, "cost_key": "tokens", "budget": 3, "shown_key": "seen", "fill": True}
PLACES = [{"site": "ab"[i % 2], "tokens": 1, "seen": i == 0} for i in range(9)]


@pytest.mark.parametrize("scores", [None, range(9, 0, -1)])
@pytest.mark.parametrize("ranker", ["mmr", None])
def test_limits_come_from_the_metadata(ranker: Any, scores: Any) -> None:
    """Also where documents without scores are sorted by their cosine first."""
    keys = Adapter(**LIMITS, ranker=ranker)
    chooser = keys.request()
    places, filled = adapted(chooser, 4, VECTORS, query_vector=QUERY, scores=scores, keys=keys, metadata=PLACES)
    relevance = VECTORS @ QUERY / np.linalg.norm(VECTORS, axis=1) if ranker and scores is None else range(9, 0, -1)
    given: dict[str, Any] = {"groups": ["a", "b"] * 4 + ["a"], "max_per_group": 1, "costs": [1] * 9, "budget": 3}
    wanted = diversify(QUERY, VECTORS, 4, ranker, relevance, **given, already_shown=[0], fill=True)
    assert (places, filled) == (wanted.indices.tolist(), wanted.filled.tolist())
    assert filled == [False, True, True]
    assert marked(PLACES[0]) == {**PLACES[0], "filled": True}
    assert "filled" not in PLACES[0]


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"group_key": "site"}, ValueError, "group_key and max_per_group belong"),
    ({"budget": 3}, ValueError, "cost_key and budget belong together"),
    ({"fill": True}, ValueError, "give group_key and max_per_group"),
    ({"group_key": "author", "max_per_group": 1, "strict": True}, ValueError, "document 0 has no group: group_key='a"),
    ({"cost_key": "words", "budget": 1}, ValueError, "document 0 has no cost"),
    ({"shown_key": "site"}, TypeError, "metadata of document 0 must hold True"),
    ({"groups": "site"}, TypeError, "unexpected keyword argument 'groups'"),
])  # fmt: skip
def test_odd_limits_are_named(options: Any, error: type[Exception], message: str) -> None:
    def limit() -> None:
        keys = Adapter(**options)
        adapted(keys.request(), 4, VECTORS, scores=range(9), keys=keys, metadata=PLACES)

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
    known = Given("jaguar", None, None, [None, [7.0, 1.0], None], query_text="jaguar", doc_texts=TEXTS)
    given = Retrieved(known, TEXTS, TEXTS, META[:3])
    steps = source.prepared(given, model, later=later)
    ready = asyncio.run(steps) if later else at_once(steps)
    assert asked == [["big cat", "new car"], ["jaguar: cat", "jaguar: car"], ["jaguar"]]
    assert [list(map(float, vector)) for vector in ready.doc_vectors] == [[7, 1], [7, 1], [7, 1]]
    assert (ready.query_vector, ready.subtopics.shape) == ([[6, 1]], (2, 2))
    if later:
        refused(lambda: at_once(source.prepared(given, model)), "asynchronous.* await it", TypeError)
    refused(lambda: at_once(source.prepared(given, None)), r"\('cat', ...\): do this")
    refused(lambda: at_once(source.prepared(given, model._replace(documents=lambda texts: None))), "for 2 vectors and")


def test_without_a_model_documents_are_compared_by_their_words() -> None:
    pytest.importorskip("sklearn")
    for scores in (None, [1.0, 3.0, 2.0]):
        given = Given("car", (None,) * 3, None, [None] * 3, scores or [None] * 3, query_text="car", doc_texts=TEXTS)
        of = Adapter().each_once("document", range(3), given, [{}] * 3)
        ready = at_once(Subtopics(None, None, "").prepared(of, None))
        wanted = diversify(None, None, 3, "mmr", scores, texts=TEXTS, query_text="car", diversity=0.5).indices.tolist()
        assert [place for place, _ in chosen(Adapter().request(0.5), 3, of, ready)] == wanted


def test_the_librarys_vector_of_the_query_is_not_compared_with_words() -> None:
    pytest.importorskip("sklearn")
    texts = ["apple tree", "banana", "apple pie", "cherry"]
    found = []
    for vector in (None, [1.0, 0, 0]):
        given = Given("q", None, vector, [None] * 4, query_text="apple", doc_texts=texts)
        ready = at_once(Subtopics(None, None, "").prepared(Retrieved(given, texts, texts, [{}] * 4), None))
        found.append(ready.query_vector)
    np.testing.assert_array_equal(*found)


def test_an_id_has_the_best_score_whatever_holds_it() -> None:
    scores = [np.array(2.0), 3.0, np.float32(9.0)]
    one, places = each_once(Given("q", ("a", "b", "a"), doc_vectors=[[1.0], [2.0], [3.0]], scores=scores))
    assert (one.scores, places) == ([9.0, 3.0], [2, 1])


def test_a_document_without_a_vector_is_ranked_by_its_score() -> None:
    vectors = [None if i == 2 else vector for i, vector in enumerate(VECTORS.tolist())]
    with pytest.warns(UserWarning, match="'jaguar': 1 of 9 documents have no vector and are ranked by their scores"):
        assert adapted(Adapter().request(), 9, vectors, scores=range(9, 0, -1))[0] == list(range(9))


@pytest.mark.parametrize("lost", [None, NAN, np.float32("nan")])
def test_what_a_document_lacks_ends_no_request(lost: Any) -> None:
    keys = Adapter(group_key="site", max_per_group=2, cost_key="tokens", budget=40)
    metadata = [{"site": "ab"[i % 2], "tokens": i + 1} for i in range(9)]
    metadata[3] = {"site": lost, "tokens": lost} | ({} if lost is None else {"other": 1})
    scores = [9.0, 8, lost, 6, 5, 4, 3, 2, 1]
    with pytest.warns(UserWarning, match="out a score, .*: 1; .*cost, .*: 1; .*group, .*: 1; strict=True") as told:
        places, _ = adapted(keys.request(), 9, VECTORS, scores=scores, keys=keys, metadata=metadata)
    assert len(told) == 1
    assert places == [0, 1, 3, 4, 5]  # 1 + 2 + 9 + 5 + 6, as the largest cost is 9
    strict = Adapter(group_key="site", max_per_group=2, strict=True)
    refused(
        lambda: adapted(strict.request(), 9, VECTORS, keys=strict, metadata=metadata),
        "document 3 has no group",
    )


def test_an_id_is_one_document_with_the_best_score_and_what_some_of_it_have() -> None:
    """As hybrid retrieval gives them: one part of the results has vectors, both have scores."""
    vectors = [None, *VECTORS[1:5], VECTORS[0], None]
    ids: tuple[Any, ...] = ("a", "b", "c", None, None, "a", None)
    scores = [0.2, 0.8, 0.7, 0.6, 0.5, 0.9, 0.1]
    keys = Adapter(cost_key="tokens", budget=9, shown_key="seen")
    metadata: Any = [{"tokens": 4}, {"tokens": 1}, {"tokens": 1, "seen": True}, *[{"tokens": 1}] * 2, {}, {"tokens": 1}]
    given = Given("jaguar", ids, doc_vectors=vectors, scores=scores)
    of = keys.each_once("document", range(7), given, metadata)
    assert of.items == [5, 1, 2, 3, 4, 6]
    assert of.given.scores == [0.9, 0.8, 0.7, 0.6, 0.5, 0.1]
    assert of.given.costs == [4, 1, 1, 1, 1, 1]
    assert of.given.already_shown == [False, False, True, False, False, False]
    with pytest.warns(UserWarning, match="1 of 6 documents have no vector"):
        shown = [place for place, _ in chosen(keys.request(), 9, of, of.given)]
    assert shown == [5, 1, 3, 4, 6]
    strict = Adapter(strict=True)
    message = r"document 5 \(id 'a'\) is duplicated"
    refused(lambda: strict.each_once("document", range(7), given, metadata), message)


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
