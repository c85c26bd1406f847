from __future__ import annotations

import gzip
import json
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import refused

from srd_gym.data import DataNotice, load_nuggets, read_qrels, read_run, write_qrels
from srd_gym.measures import evaluate_run


def lines(path: Path, *entries: Any) -> Path:
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in entries))
    return path


def passage(doc_id: str, *assignments: tuple[str, str, str], qid: Any = "2024-1", **more: Any) -> dict[str, Any]:
    nuggets = [{"text": t, "importance": i, "assignment": a} for t, i, a in assignments]
    values: dict[str, Any] = {"text": "why is the sky blue", "qid": qid, "candidate_text": f"text of {doc_id}"}
    return values | {"docid": doc_id, "nuggets": nuggets} | more


RAG = (
    passage("a", ("rayleigh", "vital", "support"), ("ozone", "okay", "partial_support")),
    passage("b", ("rayleigh", "vital", "not_support"), ("ozone", "okay", "support"), ("dusk", "vital", "failed")),
    passage("c", ("dusk", "vital", "partial_support")),
    passage("z", qid=7, text="another"),
)
FRESH = {
    "query_id": "12", "query_title": "Agents", "query_text": "how do agents stream?", "answer_text": "so",
    "nuggets": [
        {"_id": "12_0", "text": "astream", "relevant_corpus_ids": ["a", "b"], "non_relevant_corpus_ids": ["c"]},
        {"_id": "12_1", "text": "events", "relevant_corpus_ids": ["c"], "non_relevant_corpus_ids": []},
    ],
}  # fmt: skip
CRUX = (
    {"id": "d1", "request": "Write on storms."},
    {"id": "d1", "subquestions": ["what", "when"]},
    {"id": "d1", "docid": "p", "rating": [5, -1]},
    {"example_id": "d1", "query_id": "not this", "pid": "q", "rating": [2, 3]},
    {"id": "d1", "docid": "d1:report", "rating": [5, 5]},
)


def table(topics: Any, query_id: str) -> dict[str, list[int]]:
    topic = topics[query_id]
    return dict(zip(topic.pool_ids, topic.pool.tolist(), strict=True))


@pytest.mark.parametrize(("threshold", "importance", "expected"), [
    (None, "all", {"a": [2, 0, 0], "b": [0, 2, 0], "c": [0, 0, 0]}),
    (1, "all", {"a": [2, 1, 0], "b": [0, 2, 0], "c": [0, 0, 1]}),
    (1, "vital", {"a": [2, 0], "b": [0, 0], "c": [0, 1]}),
])  # fmt: skip
def test_passages_of_nuggetizer(tmp_path: Path, threshold: Any, importance: Any, expected: Any) -> None:
    with pytest.warns(DataNotice, match="1 assignments failed and count as no support, of: 'b'"):
        topics = load_nuggets(lines(tmp_path / "r", *RAG), threshold=threshold, importance=importance)
    assert topics.query_ids == ("2024-1", "7")
    topic = topics["2024-1"]
    assert table(topics, "2024-1") == expected
    assert topic.query_text == "why is the sky blue"
    assert topic.subtopic_texts == (("rayleigh", "ozone", "dusk") if importance == "all" else ("rayleigh", "dusk"))
    assert topic.doc_texts == tuple(f"text of {doc_id}" for doc_id in topic.doc_ids)
    assert sorted(topic.doc_ids) == ["a", "b", "c"]
    assert not topics["7"].trainable  # judged, and nothing supported


@pytest.mark.filterwarnings("ignore::srd_gym.data.DataNotice")
def test_queries_of_freshstack(tmp_path: Path) -> None:
    topics = load_nuggets(lines(tmp_path / "f", FRESH, "", FRESH | {"query_id": "1", "nuggets": []}))
    assert topics.query_ids == ("12",)
    assert table(topics, "12") == {"c": [0, 1], "a": [1, 0], "b": [1, 0]}
    assert topics["12"].query_text == "Agents\nhow do agents stream?"
    assert topics["12"].subtopic_ids == ("12_0", "12_1")


@pytest.mark.parametrize(("threshold", "expected"), [
    (None, {"p": [5, 0], "q": [0, 3]}), (2, {"p": [5, 0], "q": [2, 3]}), (4, {"p": [5, 0], "q": [0, 0]}),
])  # fmt: skip
@pytest.mark.parametrize("order", [1, -1])
def test_ratings_of_crux_in_files_of_any_order(tmp_path: Path, threshold: Any, expected: Any, order: int) -> None:
    parts = [lines(tmp_path / str(number), entry) for number, entry in enumerate(CRUX)]
    with pytest.warns(DataNotice, match="report itself|could not be read"):
        topics = load_nuggets(parts[::order], threshold=threshold)
    assert {doc: table(topics, "d1")[doc] for doc in "pq"} == expected
    assert topics["d1"].subtopic_texts == ("what", "when")


@pytest.mark.filterwarnings("ignore::srd_gym.data.DataNotice")
def test_a_run_scores_by_qrels_of_nuggets_what_hand_gives(tmp_path: Path) -> None:
    packed = tmp_path / "r.gz"
    packed.write_bytes(gzip.compress(lines(tmp_path / "r", *RAG[:3]).read_bytes()))
    run = tmp_path / "run"
    run.write_text("2024-1 Q0 c 1 3 t\n2024-1 Q0 a 2 2 t\n2024-1 Q0 b 3 1 t\n2024-1 Q0 new 4 0 t\n")
    topics = load_nuggets(packed, run=run)
    topic = topics["2024-1"]
    assert topic.doc_ids == ("c", "a", "b", "new")
    np.testing.assert_array_equal(topic.judgments, [[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 0]])
    write_qrels(tmp_path / "qrels", topics)
    found = evaluate_run(read_qrels(tmp_path / "qrels"), read_run(run), ["alpha_nDCG@10", "StRecall@2"])
    # Two nuggets are supported at all: "rayleigh" at rank 2, "ozone" at rank 3; ideally at 1 and 2.
    assert found.measures["alpha_nDCG@10"] == pytest.approx((1 / log2(3) + 1 / log2(4)) / (1 + 1 / log2(3)))
    assert found.measures["StRecall@2"] == 0.5


def test_documents_have_texts_of_a_corpus(tmp_path: Path) -> None:
    corpus = lines(tmp_path / "c", *({"_id": doc_id, "text": f"corpus {doc_id}"} for doc_id in "abc"))
    topic = load_nuggets(lines(tmp_path / "f", FRESH), texts=corpus)["12"]
    assert topic.doc_texts == tuple(f"corpus {doc_id}" for doc_id in topic.doc_ids)


def fresh(**nugget: Any) -> dict[str, Any]:
    return FRESH | {"nuggets": [FRESH["nuggets"][0] | nugget]}  # type: ignore[index, operator]


ANSWER = {"qid": "1", "run_id": "r", "answer_text": "x", "nuggets": []}


@pytest.mark.parametrize(("entries", "line", "message"), [
    (["{"], 1, "not JSON .*expected one object per line"),
    (["[]"], 1, r"expected a JSON object \{\.\.\.\}, got"),
    ([{"a": 1}], 1, "nuggetizer .*, got an object with a$"),
    ([RAG[2], ANSWER], 2, 'answer, not passages .*no "docid"'),
    ([{"query": "x", "qid": "1", "nuggets": []}], 1, "judges no passage"),
    ([passage("")], 1, "expected text under 'docid', got ''"),
    ([passage("a", ("n", "vital", "yes"))], 1, 'expected "assignment" .*got .yes.'),
    ([passage("a", ("n", "vital", []))], 1, r'"assignment" to be .*got \[\]'),  # type: ignore[arg-type]
    ([passage("a", ("n", "high", "support"))], 1, '"importance" to be .*got .high.'),
    ([passage("a", *[("n", "vital", "support")] * 2)], 1, "nugget 2: expected each nugget"),
    ([RAG[0], RAG[0]], 2, "expected each passage of query '2024-1'"),
    ([RAG[0], passage("c", text="other")], 2, "query's text as before"),
    ([FRESH, FRESH], 2, "expected each query once, got '12'"),
    ([fresh(relevant_corpus_ids="a")], 1, "texts under 'relevant_corpus_ids'"),
    ([fresh(non_relevant_corpus_ids=["a"])], 1, "to be relevant or non-relevant"),
    ([*CRUX[:2], {"id": "d1", "docid": "p", "rating": [6, 0]}], 3, "ratings from 0 to 5, or -1 .* got 6"),
    ([*CRUX[:2], {"id": "d1", "docid": "p", "rating": [1.5, 0]}], 3, "list of whole numbers under 'rating'"),
    ([*CRUX[:3], {"id": "d1", "docid": "q", "rating": [1]}], 4, "expected 2 ratings"),
    ([CRUX[1], CRUX[1]], 2, "expected the questions of a query once"),
    ([FRESH, {"id": "12", "docid": "p", "rating": [1]}], 2, "query '12' comes in the format of CRUX"),
])  # fmt: skip
def test_bad_lines_are_named(tmp_path: Path, entries: list[Any], line: int, message: str) -> None:
    path = lines(tmp_path / "bad.jsonl", *entries)
    refused(lambda: load_nuggets(path), rf"^nuggets: .*bad\.jsonl:{line}\b.*{message}")


def test_files_that_do_not_fit_are_named(tmp_path: Path) -> None:
    three = {"id": "d1", "docid": "p", "rating": [1, 2, 3]}
    refused(lambda: load_nuggets(lines(tmp_path / "c", CRUX[1], three)), "'d1' has 2 subquestions and 3 ratings")
    refused(lambda: load_nuggets(lines(tmp_path / "c", CRUX[0])), "no passage is judged")
    refused(lambda: load_nuggets(lines(tmp_path / "c", FRESH), threshold=0), "threshold must be at least 1")
    refused(lambda: load_nuggets(lines(tmp_path / "c", FRESH), importance="vitl"), "importance.*vitl")  # type: ignore[arg-type]
    refused(lambda: load_nuggets(tmp_path / "none"), "nuggets: no file at", FileNotFoundError)
