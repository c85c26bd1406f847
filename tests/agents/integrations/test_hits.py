"""Answers of search engines in their documented forms go in, and come out with the hits to show."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from small_topics import refused

from srd_agents import diversify
from srd_agents.integrations.hits import diversify_hits

VECTORS = [[1.0, 0.0, 0.1], [1.0, 0.05, 0.1], [0.0, 1.0, 0.2], [0.1, 0.1, 1.0]]
SCORES = [0.9, 0.8, 0.6, 0.3]
SITES = ["a.org", "a.org", "a.org", "b.org"]
NAMES = [0, 1, 2, 3]


Hit = Callable[[int, list[float], float, str], Any]
FORMS: dict[str, tuple[Callable[[Any], Any], Hit]] = {
    "elasticsearch": (
        lambda hits: {"took": 3, "timed_out": False, "hits": {"total": {"value": 4, "relation": "eq"}, "hits": hits}},
        lambda n, vector, score, site: {
            "_index": "pages", "_id": str(n), "_score": score, "_source": {"title": "t", "emb": vector, "site": site},
        },
    ),
    "elasticsearch, fields": (
        lambda hits: {"hits": {"hits": hits}},
        lambda n, vector, score, site: {
            "_index": "pages", "_id": str(n), "_score": score, "fields": {"emb": vector, "site": [site]},
        },
    ),
    "qdrant": (
        lambda hits: {"result": {"points": hits}, "status": "ok", "time": 0.001},
        lambda n, vector, score, site: {
            "id": n, "version": 1, "score": score, "payload": {"site": site}, "vector": vector,
        },
    ),
    "qdrant, named": (
        lambda hits: {"result": hits, "status": "ok"},
        lambda n, vector, score, site: {"id": n, "score": score, "payload": {"site": site}, "vector": {"emb": vector}},
    ),
    "weaviate": (
        lambda hits: {"data": {"Get": {"Page": hits}}},
        lambda n, vector, score, site: {
            "site": site, "_additional": {"id": f"u{n}", "distance": 1 - score, "vector": vector},
        },
    ),
    "weaviate, hybrid": (
        lambda hits: {"data": {"Get": {"Page": hits}}},
        lambda n, vector, score, site: {
            "site": site, "_additional": {"id": f"u{n}", "score": str(score), "vector": vector},
        },
    ),
    "solr": (
        lambda hits: {"responseHeader": {"status": 0}, "response": {"numFound": 4, "start": 0, "docs": hits}},
        lambda n, vector, score, site: {"id": str(n), "score": score, "site": site, "emb": vector},
    ),
    "vespa": (
        lambda hits: {"root": {"id": "toplevel", "fields": {"totalCount": 4}, "children": hits}},
        lambda n, vector, score, site: {
            "id": f"id:page:page::{n}", "relevance": score, "source": "pages",
            "fields": {"site": site, "emb": {"type": "tensor<float>(x[3])", "values": vector}},
        },
    ),
    "pgvector": (
        lambda hits: hits,
        lambda n, vector, score, site: {
            "id": n, "distance": 1 - score, "site": site, "emb": str(vector).replace(" ", ""),
        },
    ),
}  # fmt: skip
"""For each engine: an answer around its hits, and one hit."""


def shown_by(form: str, places: Sequence[int] = (0, 1, 2, 3)) -> Any:
    """An answer with the hits of these documents."""
    answer, hit = FORMS[form]
    return answer([hit(n, VECTORS[n], SCORES[n], SITES[n]) for n in places])


def elasticsearch() -> Any:
    return shown_by("elasticsearch")


@pytest.mark.parametrize("form", FORMS)
def test_hits_come_in_the_order_of_diversify(form: str) -> None:
    answer = shown_by(form)
    before = copy.deepcopy(answer)
    shown = diversify_hits(answer, 3, diversity=0.5)
    expected = diversify(None, np.array(VECTORS), 3, scores=SCORES, ranker="mmr", diversity=0.5).indices.tolist()
    assert expected != [0, 1, 2]
    assert shown == shown_by(form, expected)
    assert answer == before


@pytest.mark.parametrize("form", FORMS)
def test_groups_are_found_by_the_name_of_their_field(form: str) -> None:
    assert diversify_hits(shown_by(form), 2, group="site", max_per_group=1) == shown_by(form, (0, 3))


@pytest.mark.parametrize("options", [
    {"group": ["site"], "max_per_group": {"site": 1}}, {"group": ("site", "id"), "max_per_group": {"site": 1}},
    {"group": ["site"], "max_per_group": 1, "min_per_group": {"site": 1}},
])  # fmt: skip
def test_several_fields_are_groups_of_several_kinds(options: Any) -> None:
    answer = elasticsearch()
    for place, hit in enumerate(answer["hits"]["hits"]):
        hit["_source"]["id"] = place
    assert [hit["_id"] for hit in diversify_hits(answer, 2, **options)["hits"]["hits"]] == ["0", "3"]
    answer["hits"]["hits"][1]["_source"]["place"] = 0
    assert [hit["_id"] for hit in diversify_hits(answer, 2, pinned_key="place")["hits"]["hits"]] == ["1", "0"]
    answer["hits"]["hits"][2]["_source"]["place"] = 0
    with pytest.raises(ValueError, match="two documents are pinned in place 0; give one of them another"):
        diversify_hits(answer, 2, pinned_key="place")


def test_a_path_names_a_field_too() -> None:
    shown = diversify_hits(elasticsearch(), 2, vector="_source.emb", group="_source.site", max_per_group=1)
    assert [hit["_id"] for hit in shown["hits"]["hits"]] == ["0", "3"]


def test_without_scores_the_order_of_the_engine_counts() -> None:
    answer = elasticsearch()
    for hit in answer["hits"]["hits"]:
        hit["_score"] = None
    assert diversify_hits(answer, 4)["hits"]["hits"] == answer["hits"]["hits"]


def test_scores_may_rise_and_be_named() -> None:
    rows = [{"id": n, "rating": score, "emb": vector} for n, vector, score in zip(NAMES, VECTORS, SCORES, strict=True)][
        ::-1
    ]
    assert [row["id"] for row in diversify_hits(rows, 4, score="rating")] == NAMES
    refused(lambda: diversify_hits(rows, score="stars"), "no hit has a score in 'stars'")
    refused(lambda: diversify_hits(rows, text="titel"), "no hit has a text in 'titel'")


def test_a_hit_without_a_vector_comes_by_its_score() -> None:
    answer = elasticsearch()
    del answer["hits"]["hits"][2]["_source"]["emb"]
    with pytest.warns(UserWarning, match="1"):
        shown = diversify_hits(answer, 4)
    assert [hit["_id"] for hit in shown["hits"]["hits"]] == ["0", "1", "2", "3"]


def test_texts_stand_in_for_vectors() -> None:
    pytest.importorskip("sklearn")
    words = ["red car sale", "red car sale now", "blue boat trip", "green tree house"]
    rows = [{"id": n, "score": score, "body": text} for n, score, text in zip(NAMES, SCORES, words, strict=True)]
    assert [row["id"] for row in diversify_hits(rows, 2, text="body", diversity=0.7)] == [0, 2]
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [VECTORS[words.index(text)] for text in texts]

    assert [row["id"] for row in diversify_hits(rows, 2, text="body", embed=embed, diversity=0.5)] == [0, 2]
    assert asked == [words]


@pytest.mark.parametrize("source", [
    {"subtopics": lambda query: ["last", "third"]}, {"namer": lambda prompt: '["last", "third"]'},
    {"subtopics": lambda query: [VECTORS[3], VECTORS[2]], "embed": None},
])  # fmt: skip
def test_subtopics_are_named_without_texts(source: Any) -> None:
    """The document of the first subtopic comes first, then that of the second."""
    vectors = {"q": [1, 1, 1], "q: last": VECTORS[3], "q: third": VECTORS[2]}
    asked = {"query_text": "q", "embed": lambda texts: [vectors[text] for text in texts]} | source
    rows = [{"id": n, "score": 1.0, "emb": VECTORS[n]} for n in NAMES]
    assert [row["id"] for row in diversify_hits(rows, 2, **asked)] == [3, 2]
    if "subtopics" in source:
        asked["subtopics"] = lambda query, texts: texts
        refused(lambda: diversify_hits(rows, **asked), "needs the documents' texts.*diversify_hits: text=")


def _ids(hits: Any) -> list[Any]:
    return [hit.get("id", hit.get("_id")) for hit in hits]


def test_fields_of_documents_are_not_taken_for_those_of_the_engine() -> None:
    eye = np.eye(4).tolist()
    points = [{"id": n, "score": 1 - n / 9, "payload": {"_id": "same"}, "vector": eye[n]} for n in NAMES]
    assert _ids(diversify_hits({"result": points})["result"]) == NAMES
    rows = [{"id": n, "_id": "same", "score": 1 - n / 9, "emb": eye[n], "metadata": {"score": n}} for n in NAMES]
    assert _ids(diversify_hits({"response": {"docs": rows}})["response"]["docs"]) == NAMES
    children = [{"id": n, "relevance": 1 - n / 9, "fields": {"score": n, "emb": eye[n]}} for n in NAMES]
    assert _ids(diversify_hits({"root": {"children": children}})["root"]["children"]) == NAMES
    objects = [{"score": n, "_additional": {"id": n, "distance": n / 9, "vector": eye[n]}} for n in NAMES]
    found = diversify_hits({"data": {"Get": {"Page": objects}}})["data"]["Get"]["Page"]
    assert [hit["_additional"]["id"] for hit in found] == NAMES
    by_date = [{"_id": n, "_score": None, "_source": {"score": n, "emb": eye[n]}} for n in NAMES]
    assert _ids(diversify_hits({"hits": {"hits": by_date}})["hits"]["hits"]) == NAMES


def test_places_and_what_hits_are_sorted_by_are_no_vectors() -> None:
    pytest.importorskip("sklearn")
    texts = ["red car fast", "red car fast new", "blue sea water", "green tree"]
    plain = [{"_id": n, "_score": 4 - n / 9, "_source": {"body": text}} for n, text in enumerate(texts)]
    wanted = _ids(diversify_hits({"hits": {"hits": plain}}, text="body", diversity=0.6)["hits"]["hits"])
    sorts = [{**hit, "sort": [hit["_score"], 5.0]} for hit in plain]
    places = [{**hit, "_source": {**hit["_source"], "location": [13.4, 52.5]}} for hit in plain]
    for hits in (sorts, places):
        assert _ids(diversify_hits({"hits": {"hits": hits}}, text="body", diversity=0.6)["hits"]["hits"]) == wanted


def test_ids_of_several_indices_are_different_documents() -> None:
    answer = elasticsearch()
    for place, hit in enumerate(answer["hits"]["hits"]):
        hit["_id"], hit["_index"] = "same", f"index-{place}"
    assert len(diversify_hits(answer, 4)["hits"]["hits"]) == 4
    for hit in answer["hits"]["hits"]:
        hit["_index"] = "one"
    assert len(diversify_hits(answer, 4)["hits"]["hits"]) == 1


def by_formula(query: Any, vectors: Any, k: int, relevance: float, difference: float, start: float) -> list[int]:
    """MMR as an engine publishes it: weights of the two parts, and similarities (start + cosine) / (start + 1)."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = (start + units @ (query / np.linalg.norm(query))) / (start + 1)
    likeness = (start + units @ units.T) / (start + 1)
    chosen: list[int] = []
    while len(chosen) < k:
        scores = relevance * near - (difference * likeness[:, chosen].max(axis=1) if chosen else 0)
        scores[chosen] = -np.inf
        chosen.append(int(scores.argmax()))
    return chosen


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.8])
def test_weights_of_engines_mean_what_the_page_says(weight: float) -> None:
    """OpenSearch's similarities are (1 + cosine) / 2, Elasticsearch's and Qdrant's are compared as they are."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        query, vectors = rng.normal(size=16), rng.normal(size=(40, 16))
        rows = [{"id": n, "v": row.tolist()} for n, row in enumerate(vectors)]
        for diversity, formula in (
            (1 - weight, (weight, 1 - weight, 0.0)),  # Elasticsearch: lambda
            (weight, (1 - weight, weight, 1.0)),  # OpenSearch: diversity
            (weight, (1 - weight, weight, 0.0)),  # Qdrant: diversity
        ):
            shown = diversify_hits(rows, 10, query_vector=query, diversity=diversity, relevance="cosine")
            assert [row["id"] for row in shown] == by_formula(query, vectors, 10, *formula)


def test_no_hits_stay_none_and_many_are_ranked() -> None:
    empty = {"hits": {"hits": []}}
    assert diversify_hits(empty) == empty
    rng = np.random.default_rng(0)
    many = [{"id": n, "score": -n, "v": row.tolist()} for n, row in enumerate(rng.normal(size=(10_000, 8)))]
    assert len(diversify_hits(many, 20, diversity=0.3)) == 20


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"hits": {"total": 0}}, "expected the parsed JSON of a search"),
        ("hits", "expected the parsed JSON of a search"),
        ({"data": {"Get": {"A": [], "B": []}}}, "expected the parsed JSON"),
        ([("id", 1)], "hit 0 must be a dict, got tuple"),
        ([{"id": 1, "score": "high", "v": [0.1, 0.2]}], "score must hold a number"),
    ],
)
def test_other_answers_are_refused(answer: Any, message: str) -> None:
    refused(lambda: diversify_hits(answer), message, TypeError)


def test_vectors_must_be_found_and_fit() -> None:
    refused(lambda: diversify_hits([{"id": 1, "score": 1.0}]), "hit 0 has no vector")
    refused(
        lambda: diversify_hits([{"id": 1, "u": [0.1, 0.2], "v": [0.1, 0.2]}]), "name the one to compare: vector='u'"
    )
    refused(lambda: diversify_hits([{"v": [0.1, 0.2]}, {"v": [0.1, 0.2, 0.3]}]), "vector")
    refused(lambda: diversify_hits([{"v": "0.1 0.2"}], vector="v"), "'v' must hold a vector, got", TypeError)


@pytest.mark.parametrize(("options", "message", "error"), [
    ({"group": "site"}, "^group and max_per_group belong together", ValueError),
    ({"group": "site", "max_per_group": 1, "strict": True}, "has no group: group='site' is not in", ValueError),
    ({"fill": True}, "give group and max_per_group", ValueError),
    ({"group_key": "site", "max_per_group": 1}, "as group=, got group_key=", TypeError),
])  # fmt: skip
def test_errors_name_the_options_that_there_are(options: Any, message: str, error: type[Exception]) -> None:
    refused(lambda: diversify_hits([{"v": [0.1, 0.2]}], **options), message, error)


def test_solr_has_one_score_and_scores_of_qdrant_may_be_distances() -> None:
    eye = np.eye(4).tolist()
    rows = [{"id": n, "emb": eye[n], "distance": 9 - n, "relevance": n} for n in NAMES]
    assert _ids(diversify_hits({"response": {"docs": rows}})["response"]["docs"]) == NAMES, "without a score"
    points = [{"id": n, "score": 1.0 + n, "vector": eye[n]} for n in NAMES]
    assert _ids(diversify_hits({"result": points})["result"]) == NAMES
