"""`srd rank` as a filter of JSON lines."""

from __future__ import annotations

import base64
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_srd import Srd

from srd_agents import diversify
from srd_agents.registry import load_ranker
from srd_gym.data import load_ambient, load_topics
from srd_gym.data.parquet import read_topics

LINE: dict[str, Any] = {
    "query_id": "q",
    "doc_ids": ["a", "b", "c"],
    "doc_vectors": [[1, 0], [1, 0.1], [0, 1]],
    "query_vector": [1, 0.2],
}


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Any:
    def put(*lines: Any) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(texts) + "\n"))

    return put


def test_json_lines_are_answered_line_by_line(srd: Srd, feed: Any) -> None:
    feed(LINE, "", {**LINE, "query_id": "r"})
    done = srd.works("rank", "mmr", "--lambda", "0.5", "--k", "2")
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer["query_id"] for answer in answers] == ["q", "r"]
    # b is nearest to the query; a repeats it.
    assert [answer["ranking"] for answer in answers] == [["b", "c"], ["b", "c"]]


def test_a_trained_model_answers_as_it_ranks_files(srd: Srd, feed: Any, tiny_file: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    srd.works("train", "mdp-div", "--topics", tiny_file, "--out", model, "--epochs", "2")
    topics, lines = read_topics(tiny_file)[:3], []
    for topic in topics:
        vectors = {"query_vector": topic.query_vector.tolist(), "doc_vectors": topic.doc_vectors.tolist()}
        lines.append({"query_id": topic.query_id, "doc_ids": topic.doc_ids, **vectors})
    feed(*lines)
    done = srd.works("rank", model, "--k", "4")
    ranker = load_ranker(model)
    expected = [[topic.doc_ids[i] for i in ranker.rank(topic, 4)] for topic in topics]
    assert [json.loads(line)["ranking"] for line in done.out.splitlines()] == expected


def test_a_model_with_a_vectoriser_takes_texts(srd: Srd, feed: Any, texts_file: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    words = ("train", "mdp-div", "--topics", texts_file, "--out", model, "--epochs", "2")
    srd.works(*words, "--vectors", "lsa", "--width", "5")
    feed({"query_id": "q", "query_text": "bank", "doc_ids": ["a", "b"], "doc_texts": ["river bank", "money"]})
    assert set(json.loads(srd.works("rank", model).out)["ranking"]) == {"a", "b"}
    feed(LINE)
    assert "line 1: " in srd.fails("rank", model)


def test_texts_without_vectors_are_compared_by_their_words_as_by_diversify(srd: Srd, feed: Any) -> None:
    texts = [f"{topic.query_text} {text}" for topic in load_topics("words")[:3] for text in (topic.doc_texts or ())[:6]]
    ids, scores = [str(i) for i in range(len(texts))], list(range(len(texts), 0, -1))
    asked: dict[str, Any] = {"query_text": "jaguar cat"}
    line = {"query_id": "q", "doc_ids": ids, "doc_texts": texts, **asked}
    named = {"subtopics": ["cars", "animals of the jungle"]}
    feed(line, {**line, "retrieval_scores": scores}, {**line, **named})
    rankings = [json.loads(answer)["ranking"] for answer in srd.works("rank", "safe").out.splitlines()]
    expected = (diversify(texts=texts, k=10, **asked, **more) for more in ({}, {"scores": scores}, named))
    assert rankings == [[ids[i] for i in found.indices] for found in expected]
    feed({**line, "doc_texts": texts[:-1]}, {**line, "doc_texts": [""] * len(texts), "query_text": "a"})
    said = srd("rank", "safe", "--on-error", "record")
    wrong, alike = said.out.splitlines()
    assert f"doc_texts has {len(texts) - 1} entries" in wrong
    assert json.loads(alike)["ranking"] == ids[:10]
    assert "hold fewer than two different words" in said.err
    feed({"query_id": 1, "doc_ids": [], "doc_vectors": []}, LINE)
    assert json.loads(srd.works("rank", "safe").out.splitlines()[0]) == {"query_id": 1, "ranking": []}
    feed({**line, "doc_texts": ["same"] * len(texts)})
    assert srd.works("rank", "random")  # needs no vectors


def test_candidates_with_scores_are_put_into_retrieval_order(srd: Srd, feed: Any) -> None:
    feed({**LINE, "retrieval_scores": [0.1, 0.9, 0.5]})
    assert json.loads(srd.works("rank", "retrieval-order").out)["ranking"] == ["b", "c", "a"]


@pytest.mark.parametrize(("line", "expected"), [
    ("{", "not JSON"),
    ("[" * 100_000, "nested too deeply"),
    ("[1]", "expected a JSON object"),
    ({"doc_ids": ["a"]}, "no query_id"),
    ({"query_id": "q"}, "no doc_ids"),
    ({**LINE, "doc_vector": []}, "Did you mean doc_vectors"),
    ({**LINE, "doc_vectors": [[1, 0], [1], [0, 1]]}, "rows of one length"),
    ({**LINE, "doc_ids": [1.5, 2, 3]}, "doc_ids must be text or whole numbers, got 1.5 (float)"),
    ({**LINE, "doc_ids": [1, "1", 2]}, "holds '1' twice"),
    ({**LINE, "doc_vectors": "A?=="}, "not base64 of little-endian float32, rows of one width for 3 documents"),
    ({**LINE, "doc_vectors": ["AAAAAAAAAAA=", "AAAAAAAAAAA=", "AAAAAA=="]}, "rows of several lengths"),
    ({**LINE, "doc_vectors": {"float64": "AAAA"}}, 'expected numbers, base64 of float32, or {"float16": base64}'),
    ({**LINE, "query_vector": "AADAfwAAwH8="}, "NaN or infinity"),
    ({**LINE, "k": "3"}, "k must be a whole number, got '3' (str)"),
    ({**LINE, "already_shown": ["z"]}, "'z' is not among doc_ids"),
    ({**LINE, "already_shown": "a"}, "expected a list of document ids"),
    ({"query_id": "q", "doc_ids": ["a"]}, "vectors"),
])  # fmt: skip
def test_a_bad_line_is_named_and_those_before_it_answered(srd: Srd, feed: Any, line: Any, expected: str) -> None:
    feed(LINE, line)
    done = srd("rank", "mmr")
    assert done.code == 2
    assert "error: line 2: " in done.err
    assert expected in done.err
    assert len(done.out.splitlines()) == 1


def test_a_closed_standard_input_is_told(srd: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert "standard input is closed; pipe JSON lines in, or give --topics" in srd("rank", "mmr").err


def encoded(values: Any, kind: str = "<f4") -> str:
    return base64.b64encode(np.asarray(values, kind).tobytes()).decode()


@pytest.mark.parametrize("vectors", [
    {"doc_vectors": encoded(LINE["doc_vectors"]), "query_vector": encoded(LINE["query_vector"])},
    {"doc_vectors": [encoded(row) for row in LINE["doc_vectors"]]},
    {"doc_vectors": {"float32": encoded(LINE["doc_vectors"])}},
    {"doc_vectors": {"float16": encoded(LINE["doc_vectors"], "<f2")}},
    {"doc_vectors": {"float16": [encoded(row, "<f2") for row in LINE["doc_vectors"]]}, "query_vector": [1, 0.2]},
    {"subtopics": {"float16": encoded([[0, 1], [1, 0]], "<f2")}},
])  # fmt: skip
def test_vectors_may_be_base64(srd: Srd, feed: Any, vectors: dict[str, Any]) -> None:
    line = {**LINE, "subtopics": [[0, 1], [1, 0]]}
    feed(line, {**line, **vectors})
    first, second = srd.works("rank", "pm2").out.splitlines()
    assert first == second


SIX = encoded(np.arange(6))


@pytest.mark.parametrize(("line", "expected"), [
    ({"doc_ids": [*"abcd"], "doc_vectors": [SIX] * 2, "query_vector": None}, "doc_vectors has shape (2, 6), exp"),
    ({"doc_ids": ["a"], "doc_vectors": [SIX] * 2, "query_vector": None}, "doc_vectors has shape (2, 6), expected (1,"),
    ({"query_vector": [SIX] * 2}, "query_vector has shape (2, 6), expected (2,)"),
    ({"subtopics": {"float32": [SIX] * 2}}, "subtopic_vectors has shape (2, 6), expected (2, 2)"),
    ({"subtopic_scores": [SIX] * 2}, "subtopic_scores have shape (2, 6), expected (3, S)"),
])  # fmt: skip
def test_rows_of_base64_are_counted_and_not_their_numbers(srd: Srd, feed: Any, line: Any, expected: str) -> None:
    feed({**LINE, **line})
    assert expected in srd.fails("rank", "pm2")


def test_names_of_subtopics_are_embedded_by_the_models_vectoriser(srd: Srd, feed: Any, texts_file: Path) -> None:
    model = texts_file.parent / "vectorised"
    srd.works("train", "xquad", "--topics", texts_file, "--out", model, "--vectors", "lsa", "--width", "5")
    line = {"query_id": "q", "query_text": "bank", "doc_ids": ["a", "b"], "doc_texts": ["river bank", "money bank"]}
    feed({**line, "subtopics": ["money"]}, {**line, "subtopics": ["river"]})
    firsts = [json.loads(answer)["ranking"][0] for answer in srd.works("rank", model).out.splitlines()]
    assert firsts == ["b", "a"]
    feed({**LINE, "subtopics": ["money"]})
    assert "subtopics are texts: give their embeddings" in srd.fails("rank", "pm2")


def test_subtopics_may_weigh(srd: Srd, feed: Any) -> None:
    ratings = [[1, None], [0, 1], [1, 0]]
    line = {**LINE, "subtopic_scores": ratings, "retrieval_scores": [1, 1, 1]}
    feed(*({**line, "subtopics": {"x": weight, "y": 1}} for weight in (9, 0.1)))
    first, second = (json.loads(answer)["ranking"] for answer in srd.works("rank", "pm2").out.splitlines())
    assert (first, second[0]) == (["a", "c", "b"], "b")
    feed({**line, "subtopics": {"x": 1, "y": 1}, "subtopic_weights": [1, 2]})
    assert "hold their weights" in srd.fails("rank", "pm2")


@pytest.mark.parametrize("ranker", ["mmr", "safe", "retrieval-order"])
def test_per_cost_chooses_alike_in_place_of_any_ranker(srd: Srd, feed: Any, ranker: str) -> None:
    line = {**LINE, "doc_vectors": [[1, 0], [1, 0], [0, 1]], "retrieval_scores": [4, 3.9, 1]}
    limits = {"costs": [1, 1, 1], "budget": 2, "per_cost": True, "diversity": 0.1}
    feed(*(line | limits | more for more in ({}, {"near_duplicates": 1}, {"near_duplicates": None})))
    answers = srd.works("rank", ranker).out.splitlines()
    assert [json.loads(answer)["ranking"] for answer in answers] == [["a", "c"]] * 3, "b is a copy of a"


NOTHING: dict[str, Any] = {"query_id": 1, "doc_ids": []}


def test_a_line_may_say_how_many_it_wants(srd: Srd, feed: Any) -> None:
    limits = {"groups": ["x", "x", "y"], "max_per_group": 1, "fill": True, "doc_ids": [7, "b", 5]}
    feed({**LINE, "k": 1}, LINE, {**LINE, "k": 5}, {**LINE, "k": 3, **limits}, {**NOTHING, "k": 3})
    answers = [json.loads(line) for line in srd.works("rank", "mmr", "--k", "2").out.splitlines()]
    assert [len(answer["ranking"]) for answer in answers] == [1, 2, 3, 3, 0]
    assert (answers[3]["ranking"], answers[3]["filled"]) == (["b", 5, 7], [7]), "ids as they were given"


def test_where_nothing_was_retrieved_nothing_is_shown(srd: Srd, feed: Any) -> None:
    packed = {"doc_vectors": {"float16": ""}, "retrieval_scores": [], "query_vector": [1, 2]}
    filled = {"groups": [], "max_per_group": 1, "fill": True, "already_shown": [], "costs": [], "budget": 3}
    named = {"subtopics": ["x", "y"], "subtopic_scores": [], "doc_texts": [], "query_text": "a"}
    feed(NOTHING, NOTHING | packed, NOTHING | filled, NOTHING | named)
    answers = [json.loads(line) for line in srd.works("rank", "pm2").out.splitlines()]
    assert answers == [{"query_id": 1, "ranking": [], **more} for more in ({}, {}, {"filled": []}, {})]


@pytest.mark.parametrize(("line", "expected"), [
    ({"doc_vectors": [[1, 2]]}, "doc_vectors: doc_ids names no document, got [[1, 2]]"),
    ({"groups": ["x"], "max_per_group": 1}, "groups: doc_ids names no document"),
    ({"groups": []}, "groups and max_per_group belong together"),
    ({"already_shown": ["a"]}, "already_shown: doc_ids names no document"),
])  # fmt: skip
def test_a_line_without_documents_says_nothing_of_them(srd: Srd, feed: Any, line: Any, expected: str) -> None:
    feed(LINE, NOTHING | line)
    assert expected in srd.fails("rank", "mmr")


@pytest.mark.parametrize(("line", "expected"), [
    ({"k": 0}, "k must be at least 1, got 0"),
    ({"diversity": "much"}, "diversity must be a number, got 'much'"),
    ({"subtopics": [[1, 2]]}, "ranker 'mmr' cannot use subtopics"),
    ({"query_vector": [[1, 2]] * 2}, "query_vector has shape (2, 2)"),
    ({"query_vector": ["a"]}, "query_vector: not base64"),
    ({"query_id": 1.5}, "query_id must be text or whole numbers"),
    ({"user": 7}, "--pass-through KEY"),
])  # fmt: skip
def test_lines_with_and_without_documents_are_checked_alike(srd: Srd, feed: Any, line: Any, expected: str) -> None:
    for others in (LINE, NOTHING):
        feed(LINE, others | line)
        assert expected in srd.fails("rank", "mmr")


def test_what_is_not_json_is_never_written(srd: Srd, feed: Any) -> None:
    line = json.dumps({**LINE, "user": "X", "session": 1})
    feed(*(line.replace('"X"', odd) for odd in ("NaN", "-Infinity", "1e999", '{"a": [NaN]}', "null", "0.5")))
    done = srd("rank", "mmr", "--on-error", "record", "--pass-through", "user", "session")
    answers = [json.loads(answer, parse_constant=pytest.fail) for answer in done.out.splitlines()]
    assert [("error" in answer, answer["query_id"]) for answer in answers] == [(True, "q")] * 4 + [(False, "q")] * 2
    assert all("user, session: JSON has no NaN" in answer["error"] for answer in answers[:4])
    assert [answer["user"] for answer in answers[4:]] == [None, 0.5]
    feed(json.dumps({**LINE, "query_id": math.nan}))
    done = srd("rank", "mmr", "--on-error", "record")
    assert json.loads(done.out, parse_constant=pytest.fail)["query_id"] is None


@pytest.mark.parametrize("choice", ["skip", "record"])
def test_a_stream_goes_on_after_lines_that_cannot_be_ranked(srd: Srd, feed: Any, choice: str) -> None:
    half = LINE | {"doc_vectors": [[1, 0], [1], [0, 1]], "query_id": 7, "user": {"name": "x"}}
    feed(LINE, "{", half, "[" * 100_000, {**LINE, "typo": 1}, {**LINE, "user": "last"})
    done = srd("rank", "mmr", "--on-error", choice, "--pass-through", "user", "session")
    assert done.code == 1, "done, with findings"
    answers = [json.loads(line) for line in done.out.splitlines()]
    ranked = [answer for answer in answers if "ranking" in answer]
    assert ranked == [{"query_id": "q", "ranking": ["b", "c", "a"]}, {**ranked[0], "user": "last"}]
    if choice == "skip":
        assert len(answers) == 2
        assert [line.partition(" is skipped: ")[0] for line in done.err.splitlines()] == [
            f"line {n}" for n in range(2, 6)
        ]
        return
    assert answers[0] == ranked[0]
    assert answers[-1] == ranked[1]
    assert [(each["line"], each["query_id"]) for each in answers[1:-1]] == [(2, None), (3, 7), (4, None), (5, "q")]
    assert "rows of one length" in answers[2]["error"]
    assert answers[2]["user"] == {"name": "x"}
    assert not done.err


def test_bytes_that_are_no_text_are_recorded_too(srd: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO(b"\xff\xfe\n" + json.dumps(LINE).encode() + b"\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
    first, second = map(json.loads, srd("rank", "mmr", "--on-error", "record").out.splitlines())
    assert (first["line"], second["query_id"]) == (1, "q")


@pytest.mark.data
def test_a_weight_means_what_it_means_to_diversify(srd: Srd, feed: Any, data_dir: Path) -> None:
    topics = load_ambient(data_dir / "ambient", vectors=data_dir / "ambient" / "minilm-384.npz")
    lines, wanted = [], []
    for topic in list(topics)[::11]:
        query, vectors = np.asarray(topic.query_vector), np.asarray(topic.doc_vectors)
        cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
        line = {"query_id": topic.query_id, "doc_ids": list(range(len(vectors))), "doc_vectors": vectors.tolist()}
        lines.append(line | {"query_vector": query.tolist()})
        lines.append(lines[-1] | {"retrieval_scores": cosines.tolist()})
        wanted += [diversify(query, vectors, 10, "mmr", diversity=0.5).indices.tolist()] * 2
    for words, keys in ((["mmr", "--lambda", "0.5"], {}), (["mmr"], {"diversity": 0.5})):
        feed(*[line | keys for line in lines])
        done = srd.works("rank", *words, "--k", "10")
        assert [json.loads(line)["ranking"] for line in done.out.splitlines()] == wanted
    feed(*[line | {"diversity": 0.5} for line in lines[1::2]])
    done = srd.works("rank", "safe", "--k", "10")
    assert [json.loads(line)["ranking"] for line in done.out.splitlines()] == wanted[1::2]
