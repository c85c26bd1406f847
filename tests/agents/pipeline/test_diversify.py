"""`diversify`: the same rankings as the rankers', from whatever holds vectors, and errors for what does not."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_topics import Own, refused

from srd_agents import Diversified, diversify, load_ranker, make_ranker
from srd_agents.pipeline.request import DEFAULT_RANKER
from srd_gym.data import generate
from srd_gym.topic import Topic


def vectors(n: int = 9, width: int = 4, seed: int = 0) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(seed)
    return generator.normal(size=width), generator.normal(size=(n, width)), generator.normal(size=n)


def topic(query: Any, documents: Any, scores: Any = None) -> Topic:
    ids = tuple(f"d{i}" for i in range(len(documents)))
    return Topic(query_id="0", doc_ids=ids, query_vector=query, doc_vectors=documents, retrieval_scores=scores)


def test_what_comes_back() -> None:
    query, documents, _ = vectors()
    found = diversify(query, documents, 5)
    assert isinstance(found, Diversified)
    assert found.topics() == [found]
    assert repr(found) == f"Diversified(indices={found.indices.tolist()}, note={found.note!r})"
    many = diversify(query, np.tile(documents, (20, 1)), 200)
    assert len(repr(many)) - len(many.note) < 120
    assert found.indices.dtype == np.int64
    own = diversify(query, documents, 5, Own(lambda topic, k: np.arange(k)))  # of which nobody knows its scores
    np.testing.assert_array_equal(own.scores, [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    indices, scores = found
    assert indices is found.indices
    assert scores is found.scores
    scores[0] = 7  # one's own: the next result does not see it
    assert diversify(query, documents, 5).scores[0] != 7
    assert diversify(None, documents, 3, scores=[4, 9, 2, 7, 1, 1, 1, 1, 1]).scores.tolist() == [9, 7, 4]


@pytest.mark.parametrize("name", ["mmr", "relational-pretrained", DEFAULT_RANKER])
@given(n=st.integers(1, 30), k=st.integers(1, 35), seed=st.integers(0, 10_000), scored=st.booleans())
def test_it_is_the_ranker_and_scores_may_come_in_any_order(name: str, n: int, k: int, seed: int, scored: bool) -> None:
    query, documents, scores = vectors(n, seed=seed)
    order = np.argsort(-scores) if scored else np.arange(n)
    scores = scores if scored else None
    given_ = topic(query, documents[order], None if scores is None else scores[order])
    options = {"relevance": "matched"} if name == "mmr" else {}
    wanted = order[make_ranker(name, **options).rank(given_, k)]
    copies = 0.9999 if name == DEFAULT_RANKER else None
    found = diversify(query, documents, k, name, scores=scores, near_duplicates=copies)
    assert found.indices.tolist() == wanted.tolist()
    assert len(found.indices) == min(k, n)
    assert sorted(set(found.indices.tolist())) == sorted(found.indices.tolist())


SENSES = {"cat": [1.0, 0, 0, 0], "car": [0, 1.0, 0, 0], "system": [0, 0, 1.0, 0]}
PARTS = [vectors(n, seed=n) for n in (3, 9, 5, 9, 1)]
QUERIES, DOCUMENTS, SCORES = (list(column) for column in zip(*PARTS, strict=True))


def embed(texts: list[str]) -> list[list[float]]:
    """A model of three words; it takes nothing but lists of text."""
    assert type(texts) is list
    return [SENSES[text] for text in texts]


NAN = np.nan
RATINGS = np.where((ratings := np.random.default_rng(0).integers(-1, 6, (9, 2))) < 0, NAN, ratings)
"""A language model's, from 0 to 5."""


@pytest.mark.parametrize("given", [
    {},
    {"scores": SCORES},
    {"scores": [SCORES[0], None, None, SCORES[3], None], "ranker": None},
    {"scores": SCORES, "ranker": None, "subtopics": [np.eye(4)[:2], None, [], np.eye(4)[:2], None]},
    {"ranker": "pm2", "subtopics": [np.eye(4)[:2]] * 5, "subtopic_weights": [[1, 9], None, [2, 2], None, None]},
    {"scores": SCORES, "ranker": None, "subtopics": [["car"], None, [], np.eye(4)[:2], ("cat", "system")]},
    {"scores": SCORES, "ranker": None, "subtopic_scores": [np.eye(3), None, RATINGS[:5], [[NAN] * 2] * 9, [[1.0]]]},
    {"ranker": "pm2", "subtopics": [["a"], None, ["b", "c"], None, ["a"]], "embed": None,
     "subtopic_scores": [[[1], [2], [NAN]], RATINGS, RATINGS[:5], RATINGS, [[0]]]},
    {"scores": SCORES, "diversity": 0.5, "groups": [[0, 0, 0], None, ["a", "b", "a", "a", "a"], None, None]},
    {"costs": [[1, 2, 3], None, None, range(9), None], "already_shown": [[0], None, [], [3, 4], None]},
])  # fmt: skip
def test_a_batch_is_its_topics_one_by_one(given: dict[str, Any]) -> None:
    shared: dict[str, Any] = {"ranker": "mmr", "embed": embed, "diversity": None}
    shared |= {name: value for name, value in given.items() if name in shared}
    each = {name: value for name, value in given.items() if name not in shared}
    pairs = {"groups": {"max_per_group": 2}, "costs": {"budget": 3.0}}
    limits = {name: limit for of, pair in pairs.items() if of in each for name, limit in pair.items()}
    found = diversify(QUERIES, DOCUMENTS, 6, **each, **shared, **limits)
    assert found.indices.shape == found.scores.shape
    assert (found.scores[found.indices < 0] == 0).all()
    for b, row in enumerate(found.topics()):
        own = {name: values[b] for name, values in each.items() if values[b] is not None}
        limits = {name: limit for of, pair in pairs.items() if of in own for name, limit in pair.items()}
        alone = diversify(QUERIES[b], DOCUMENTS[b], 6, **own, **shared, **limits)
        np.testing.assert_array_equal(row.indices, alone.indices)
        np.testing.assert_array_equal(row.scores, alone.scores)
        assert (found.indices[b, len(row.indices) :] == -1).all()


def test_a_batch_as_arrays() -> None:
    generator = np.random.default_rng(1)
    queries, documents, scores = (generator.normal(size=shape) for shape in [(3, 4), (3, 7, 4), (3, 7)])
    found = diversify(queries, documents, 10, scores=scores)
    assert found.indices.shape == (3, 7)
    for given_batch in (documents.tolist(), list(documents), torch.from_numpy(documents)):
        np.testing.assert_array_equal(
            diversify(queries.tolist(), given_batch, 10, scores=scores).indices, found.indices
        )


def test_subtopics_are_covered_in_turn() -> None:
    query, documents, scores = vectors(30)
    subtopics = np.random.default_rng(1).normal(size=(3, 4))
    order = np.argsort(-scores)
    named = replace(
        topic(query, documents[order], scores[order]), subtopic_ids=("a", "b", "c"), subtopic_vectors=subtopics
    )
    found = diversify(query, documents, 6, scores=scores, subtopics=subtopics)
    assert found.indices.tolist() == order[make_ranker("safe").rank(named, 6)].tolist()
    assert found.indices.tolist() != diversify(query, documents, 6, scores=scores).indices.tolist()
    for ranker in ("pm2", "xquad"):
        alone = diversify(query, documents, 6, ranker, scores=scores, subtopics=subtopics.tolist())
        assert alone.indices.tolist() == order[make_ranker(ranker).rank(named, 6)].tolist()


def test_subtopics_go_to_rankers_of_others_that_use_them() -> None:
    theirs: Any = Own(lambda topic, k: np.arange(topic.n_subtopics))
    theirs.uses_subtopics = True
    assert diversify(None, np.eye(4), 2, theirs, subtopics=np.eye(4)[:2]).indices.tolist() == [0, 1]


def test_subtopics_may_be_texts() -> None:
    query, documents, scores = vectors(30)
    wanted = diversify(query, documents, 6, scores=scores, subtopics=list(SENSES.values())).indices.tolist()
    for texts in (list(SENSES), tuple(SENSES), np.array(list(SENSES))):
        found = diversify(query, documents, 6, scores=scores, subtopics=texts, embed=embed)
        assert found.indices.tolist() == wanted
    asked: list[list[str]] = []

    def counted(texts: list[str]) -> Any:
        asked.append(texts)
        return torch.tensor(embed(texts))

    named: list[Any] = [["car"], None, [], np.eye(4)[:2], ("cat", "system")]
    diversify(None, [documents] * 5, 6, subtopics=named, embed=counted)
    assert asked == [["car", "cat", "system"]]


def test_subtopics_may_weigh() -> None:
    senses = np.eye(4)[:2]
    documents = np.eye(4)[[0, 1, 0, 1, 0, 1, 3]] + 0.1 * np.random.default_rng(0).random((7, 4))
    given: dict[str, Any] = {"k": 3, "ranker": "pm2", "near_duplicates": None, "scores": [1] * 7}
    heavy = diversify(None, documents, **given, subtopics=senses, subtopic_weights=[9, 1]).indices.tolist()
    assert sorted(heavy) == [0, 2, 4]
    alike = diversify(None, documents, **given, subtopics=senses, subtopic_weights=[1, 1]).indices
    np.testing.assert_array_equal(alike, diversify(None, documents, **given, subtopics=senses).indices)
    both: dict[str, Any] = {**given, "subtopics": {"cat": 9, "car": 1}, "embed": embed}
    assert diversify(None, documents, **both).indices.tolist() == heavy
    both |= {"subtopics": [{"cat": 9, "car": 1}, ["cat", "car"]], "scores": [[1] * 7] * 2}
    assert diversify(None, [documents] * 2, **both).indices.tolist() == [heavy, alike.tolist()]


@pytest.mark.parametrize("ranker", ["safe", "pm2", "xquad"])
def test_subtopics_may_come_with_scores_of_the_documents(ranker: str) -> None:
    query, documents, scores = vectors()
    order, senses = np.argsort(-scores), np.eye(4)[:2]
    rated = replace(
        topic(query, documents[order], scores[order]), subtopic_ids=("a", "b"), subtopic_scores=RATINGS[order]
    )
    asked: dict[str, Any] = {
        "k": 6,
        "ranker": ranker,
        "scores": scores,
        "near_duplicates": 0.9999 if ranker == "safe" else None,
    }
    wanted = order[make_ranker(ranker).rank(rated, 6)].tolist()
    for named in ({}, {"subtopics": []}, {"subtopics": ["cat", "car"]}):
        found = diversify(query, documents, **asked, **named, subtopic_scores=RATINGS.tolist())
        assert found.indices.tolist() == wanted
    both = order[make_ranker(ranker).rank(replace(rated, subtopic_vectors=senses), 6)].tolist()
    assert diversify(query, documents, **asked, subtopics=senses, subtopic_scores=RATINGS).indices.tolist() == both
    named = {"subtopics": ["cat", "car"], "embed": embed}
    assert diversify(query, documents, **asked, **named, subtopic_scores=RATINGS).indices.tolist() == both


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"subtopic_scores": RATINGS[:5]}, ValueError, r"expected \(9, S\): a row"),
    ({"subtopic_scores": RATINGS, "subtopics": np.eye(4)}, ValueError, r"scores has shape \(9, 2\)"),
    ({"subtopic_scores": np.where(RATINGS > 4, np.inf, 1)}, ValueError, "subtopic_scores holds infinity"),
    ({"subtopic_scores": [["5"]] * 9}, TypeError, "subtopic_scores must hold numbers"),
    ({"subtopic_scores": RATINGS, "ranker": "mmr"}, ValueError, "'mmr' cannot use .*subtopic_scores= out"),
    ({"subtopics": ["cat", "car"]}, ValueError, "subtopics are texts .*: give embed="),
    ({"subtopics": "cat", "embed": embed}, TypeError, "must be a list of texts .*got one text"),
    ({"subtopics": ["cat", None], "embed": embed}, TypeError, r"got both: None \(NoneType\) beside texts"),
    ({"subtopics": {"cat", "car"}, "embed": embed}, TypeError, r"must hold texts, .*\(set\); give a list"),
    ({"subtopics": {"cat": 1}, "subtopic_weights": [1], "embed": embed}, ValueError, "hold their weights"),
    ({"subtopics": ["cat"], "embed": lambda texts: [1, 2]}, ValueError, r"asked for 1 vectors .*shape \(2,\)"),
    ({"subtopics": ["cat"], "embed": embed, "ranker": "mmr"}, ValueError, "'mmr' cannot use subtopics; .*: xquad"),
    ({"subtopics": ["cat"], "embed": embed, "query_text": 7}, TypeError, r"query_text must be text, got 7 \(int\)"),
])  # fmt: skip
def test_odd_subtopics_are_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    query, documents, scores = vectors()
    refused(lambda: diversify(query, documents, 4, scores=scores, **arguments), message, error)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int64, np.uint8])
def test_any_numbers(dtype: Any) -> None:
    generator = np.random.default_rng(2)
    query, documents = generator.integers(0, 9, 5), generator.integers(0, 9, (8, 5))
    wanted = diversify(query.astype(np.float32), documents.astype(np.float32), 8).indices.tolist()
    assert diversify(query.astype(dtype), documents.astype(dtype), np.int64(8)).indices.tolist() == wanted
    assert diversify(query.tolist(), [tuple(row) for row in documents.tolist()], 8).indices.tolist() == wanted
    assert diversify(query, np.asfortranarray(documents.astype(dtype)), 8).indices.tolist() == wanted
    held = [torch.from_numpy(part.astype(dtype)) for part in (query, documents)]
    assert diversify(*held, 8).indices.tolist() == wanted
    assert diversify(held[0], list(held[1]), 8).indices.tolist() == wanted


def test_columns_of_lists_are_vectors() -> None:
    query, documents, scores = vectors()
    wanted = diversify(query, documents, 5, scores=scores).indices.tolist()
    for row in (list, np.array, tuple):
        column = np.empty(len(documents), object)
        column[:] = [row(each) for each in documents.tolist()]
        assert diversify(query, column, 5, scores=scores).indices.tolist() == wanted
        np.testing.assert_array_equal(topic(query, column).doc_vectors, np.float32(documents))
    for missing in (None, math.nan):
        column[3] = missing
        with pytest.warns(UserWarning, match="1 of 9 documents have no vector"):
            gap = diversify(query, column, 9, scores=scores).indices.tolist()
        with pytest.warns(UserWarning, match="1 of 9 documents have no vector"):
            assert diversify(query, [*documents[:3], None, *documents[4:]], 9, scores=scores).indices.tolist() == gap


def test_tensors_of_bfloat16_are_numbers() -> None:
    query, documents, scores = (torch.tensor(part).bfloat16() for part in vectors())
    wanted = diversify(query.float(), documents.float(), 5, scores=scores.float()).indices.tolist()
    for of_documents in (documents, list(documents)):
        assert diversify(query, of_documents, 5, scores=scores).indices.tolist() == wanted
    np.testing.assert_array_equal(topic(query, documents).doc_vectors, documents.float())


def test_whole_numbers_of_any_size_are_scores() -> None:
    documents = np.eye(4)
    assert diversify(None, documents, 4, scores=[1, 10**30, 3, 10**29]).indices.tolist() == [1, 3, 2, 0]
    refused(lambda: diversify(None, documents, 4, scores=[1, 10**400, 3, 2]), "scores cannot be read .*too large")


@pytest.mark.parametrize("scored", [False, True])
def test_no_python_runs_for_each_document(scored: bool) -> None:
    def calls(n: int) -> int:
        query, documents, scores = vectors(n)
        counted = 0

        def count(frame: Any, event: str, argument: Any) -> None:
            nonlocal counted
            counted += event == "call"

        diversify(query, documents, 5, scores=scores if scored else None)  # ids are made once
        sys.setprofile(count)
        try:
            diversify(query, documents, 5, scores=scores if scored else None)
        finally:
            sys.setprofile(None)
        return counted

    # A few calls may differ, such as those of weak references that end meanwhile; one a document would be 1,980 more.
    assert calls(2000) < calls(20) + 100


def test_what_is_given_is_left_alone() -> None:
    parts = vectors()
    copies = [part.copy() for part in parts]
    diversify(parts[0], parts[1], 4, scores=parts[2])
    for part, copy in zip(parts, copies, strict=True):
        np.testing.assert_array_equal(part, copy)
        assert part.flags.writeable


def test_rankers_by_name_folder_and_object(tmp_path: Path) -> None:
    topics = generate("tiny", n_topics=4)
    learner: Any = make_ranker("listmle", epochs=1)
    learner.fit(topics, seed=0, out=tmp_path / "model")
    query, documents = topics[0].query_vector, topics[0].doc_vectors
    wanted = learner.rank(replace(topics[0], retrieval_scores=None), 5).tolist()
    for ranker in (learner, tmp_path / "model", str(tmp_path / "model"), load_ranker(tmp_path / "model")):
        assert diversify(query, documents, 5, ranker).indices.tolist() == wanted
    refused(lambda: diversify(None, np.eye(3), 5, learner), r"vectors of width \d+.*3")


def test_a_ranker_made_once_is_that_of_its_name_and_weight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query, documents, _ = vectors()
    asked = [diversify(query, documents, 9, name, diversity=d) for d in (0.2, 1.0) for name in ("mmr", "dpp", "mmr")]
    lists = [found.indices.tolist() for found in asked]
    assert lists[0] == lists[2] != lists[3] == lists[5]
    refused(lambda: diversify(query, documents, 9, "mmr", diversity=True), "must be a number", TypeError)
    refused(lambda: diversify(query, documents, 9, "mmr", diversity=[1.0]), "must be a number", TypeError)
    refused(lambda: diversify(query, documents, 9, "mmr", diversity=0.2, relevance=["cosine"]), "unknown relevance")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mmr").mkdir()  # a folder goes before a name, made once or not
    refused(lambda: diversify(query, documents, 9, "mmr", diversity=0.2), "mmr", FileNotFoundError)


@pytest.mark.parametrize("nothing", [[], (), np.empty(0), np.empty((0, 4)), torch.empty(0, 4)], ids=repr)
@pytest.mark.parametrize("given", [
    {"scores": []},
    {"ranker": "mmr"},
    {"subtopics": ["cat"], "embed": embed, "costs": [], "budget": 1.0},
    {"subtopics": lambda query: 1 / 0, "query_text": "jaguar", "texts": []},
])  # fmt: skip
def test_nothing_retrieved_shows_nothing_and_others_are_ranked(nothing: Any, given: dict[str, Any]) -> None:
    query, documents, scores = vectors()
    found = diversify(query, nothing, 3, **given)
    assert (found.indices.shape, found.indices.dtype, found.scores.shape) == ((0,), np.int64, (0,))
    assert found.note == "nothing was retrieved"
    alone = diversify(query, documents, 3, "mmr", scores)
    for place in (0, 1):
        queries, batch, rated = [query], [documents], [scores]
        for row, empty in ((queries, query), (batch, nothing), (rated, None)):
            row.insert(place, empty)
        batched = diversify(queries, batch, 3, "mmr", rated)
        assert batched.indices[place].tolist() == [-1] * 3
        assert batched.topics()[1 - place].indices.tolist() == alone.indices.tolist()
        assert [each.note for each in batched.topics()][place] == "nothing was retrieved"
    assert diversify(None, [nothing, nothing], 3).indices.shape == (2, 0)


def test_a_query_vector_may_be_a_row() -> None:
    query, documents, _ = vectors()
    wanted = diversify(query, documents, 5, "mmr").indices.tolist()
    for row in (query[None], query[None].tolist(), torch.from_numpy(query[None])):
        assert diversify(row, documents, 5, "mmr").indices.tolist() == wanted
        assert diversify([query, row], [documents] * 2, 5, "mmr").indices.tolist() == [wanted] * 2


def test_the_default_says_that_it_kept_the_order_and_what_changes_it() -> None:
    query, documents, scores = vectors()
    found = diversify(query, documents, 5, scores=scores)
    assert found.indices.tolist() == np.argsort(-scores)[:5].tolist()
    assert found.note.startswith("kept the order of the scores")
    assert found.note.endswith("; naming subtopics or setting a diversity changes it")
    assert "kept" not in diversify(query, documents, 5, scores=scores, diversity=0.5).note


def test_the_kind_of_relevance_is_that_of_the_order_that_is_kept() -> None:
    query, documents, scores = vectors()
    found = diversify(query, documents, 5, scores=scores, relevance="cosine")
    assert found.indices.tolist() == diversify(query, documents, 5, diversity=0).indices.tolist()
    assert found.indices.tolist() != diversify(query, documents, 5, scores=scores).indices.tolist()
    assert found.note.startswith("kept the order of relevance (cosine), near-duplicates last")
    documents *= np.arange(1, 10)[:, None]
    by_product = diversify(query, documents, 5, scores=scores, relevance="cosine", metric="dot").indices.tolist()
    assert by_product == np.argsort(-(documents @ query))[:5].tolist()
    assert by_product != found.indices.tolist()


def test_lists_with_subtopics_do_not_depend_on_the_scale_of_scores() -> None:
    generator = np.random.default_rng(18)
    vectors, query, names = generator.normal(size=(8, 4)), generator.normal(size=4), generator.normal(size=(3, 4))
    scores = generator.random(8)
    for ranker in ("safe", "pm2"):
        lists = [diversify(query, vectors, 8, ranker, scores * f, subtopics=names).indices for f in (1, 1e-25, 1e20)]
        assert all(np.array_equal(lists[0], other) for other in lists)


def test_a_missing_score_changes_no_order_of_large_whole_numbers() -> None:
    times = [1_700_000_000_000_000_001, None, 1_700_000_000_000_000_003, 1_700_000_000_000_000_002]
    with pytest.warns(UserWarning, match="without a score"):
        assert diversify(None, np.eye(4), 4, scores=times).indices.tolist() == [2, 3, 0, 1]  # type: ignore[arg-type]


def test_rankers_of_others_see_all_columns_of_sparse_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    widths = []

    def rank(topic: Topic, k: int) -> Any:
        widths.append(topic.vector_width)
        return np.arange(topic.n_candidates)[:k]

    rows = sparse.csr_array(np.eye(3, 5))
    assert diversify(None, rows, 3, Own(rank), scores=[3, 2, 1]).indices.tolist() == [0, 1, 2]
    assert widths == [5]


def test_subtopics_of_a_function_see_all_columns_of_sparse_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows, query, names = np.eye(3, 6), np.eye(6)[0], np.eye(6)[2:5]
    wanted = diversify(query, rows, 3, scores=[3, 2, 1], subtopics=names).indices.tolist()
    told: dict[str, Any] = {"subtopics": lambda text: names, "query_text": "jaguar"}
    assert diversify(query, sparse.csr_array(rows), 3, scores=[3, 2, 1], **told).indices.tolist() == wanted


def test_nothing_retrieved_may_have_no_groups_of_several_kinds() -> None:
    assert not len(diversify(None, [], 3, groups={"site": []}, max_per_group={"site": 1}).indices)
