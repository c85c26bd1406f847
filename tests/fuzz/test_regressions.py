from __future__ import annotations

import gzip
import json
import os
import struct
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fuzz.calls import MODEL
from fuzz.texts import timely
from small_topics import Answers, refused

from srd_agents import RANKERS, diversify
from srd_agents.own_code import import_own
from srd_agents.training.files import CONFIG_FILE
from srd_gym.core.own import made_of
from srd_gym.core.users import users_from
from srd_gym.data import generate, read_qrels, read_run, read_topics, read_vectors
from srd_gym.measures import evaluate, evaluate_run, parse_measure, scores
from srd_gym.protocols import Ranker
from srd_gym.pruning import parse_pruning
from srd_gym.reading import numbered_lines, read_json_object, reading
from srd_train.serving.json_lines import rank_lines
from srd_train.serving.models import Model, load_model, write_heuristic


@pytest.fixture
def frugal() -> Iterator[None]:
    """Fails where a test takes more than 400 MB."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * 2**20


def named(call: Callable[[], object], path: Path, message: str) -> None:
    """The call is refused with a plain error that says so and names the file."""
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert type(caught.value) is ValueError
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("error", [
    struct.error("x"), RecursionError("x"), MemoryError(), OverflowError("x"), LookupError("x"), KeyError("x"),
    SyntaxError("x"), pa.ArrowNotImplementedError("x"), pa.ArrowInvalid("x"), OSError("Corrupt snappy data"),
    EOFError("x"), ValueError("x"), TypeError("x"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
    zipfile.BadZipFile("x"), gzip.BadGzipFile("x"), AttributeError("x"),
])  # fmt: skip
def test_whatever_a_parser_raises_becomes_one_error(error: Exception, tmp_path: Path) -> None:
    def read() -> None:
        with reading(tmp_path / "f", "vectors", "a whole file", "write it again") as place:
            place.at = ", row 7"
            raise error

    named(read, tmp_path, r"^vectors: .*/f, row 7: .*; (save it as UTF-8, or )?write it again$")


def test_errors_of_the_system_stay_and_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output") as caught, reading(tmp_path / "f", "run", "a run", "try again"):
        raise OSError(5, "Input/output error")
    assert caught.value.filename == str(tmp_path / "f")


def test_text_that_packs_well_is_read(tmp_path: Path) -> None:
    path = tmp_path / "qrels.gz"
    path.write_bytes(gzip.compress(b"1 1 a 1\n" + (b" " * 1_023 + b"\n") * 2**15))
    assert path.stat().st_size * 300 < 2**25
    assert list(read_qrels(path).topics) == ["1"]


def test_long_and_wide_topics_are_scored_in_parts(tmp_path: Path, frugal: None) -> None:
    """Topics x longest ranking x most subtopics was 6 GiB of these 150 kB."""
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    lines = [f"{topic} 1 d 1\n" for topic in range(500)] + [f"w {i} d{i} 1\n" for i in range(2_500)]
    qrels.write_text("".join(lines))
    ranked = [f"{topic} Q0 d 1 1 t\n" for topic in range(500)] + [f"0 Q0 x{i} 1 0 t\n" for i in range(5_000)]
    run.write_text("".join(ranked))
    names = ("alpha_nDCG@10", "ERR_IA@10", "StRecall@10", "NRBP")
    scores = evaluate_run(read_qrels(qrels), read_run(run), names)
    assert all(scores.per_topic["7"][name] > 0.4 for name in names)
    assert scores.per_topic["0"] == scores.per_topic["1"]
    assert scores.missing_topics == ("w",)


@pytest.mark.parametrize("size", [1, 3, 25])
def test_parts_score_as_the_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = generate("serp", n_topics=30, seed=1)
    rankings = {topic.query_id: np.random.default_rng(0).permutation(topic.n_candidates) for topic in topics}
    names = ("alpha_nDCG@10", "ERR_IA@5", "StRecall@10", "NRBP", "nNRBP", "MAP_IA", "D_nDCG@10")
    whole = evaluate(topics, rankings, names)
    monkeypatch.setattr(scores, "_CELLS", size * topics.max_candidates * topics.max_subtopics)
    assert evaluate(topics, rankings, names).per_topic == whole.per_topic


@pytest.mark.parametrize("header", ["{'shape': (3,", "\0", "{'descr': 'x'", "((((", "{1: 2}"])
def test_arrays_with_odd_headers_are_refused(header: str, tmp_path: Path) -> None:
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    np.savez(tmp_path / "v.npz", ids=np.array(["a"]))
    with zipfile.ZipFile(tmp_path / "v.npz", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.npy", array)
    named(lambda: read_vectors(tmp_path / "v.npz"), tmp_path, "not a whole .npz file")
    (tmp_path / "v.ids").write_text("a\n")
    (tmp_path / "v.npy").write_bytes(array)
    named(lambda: read_vectors(tmp_path / "v.npy"), tmp_path, "not a whole .npy file")


# JSON, pipes and lines


def test_a_key_that_comes_twice_is_found_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    pairs = ", ".join(f'"{i}": 1' for i in range(200_000))
    path.write_text(f'{{{pairs}, "199999": 2}}')
    named(lambda: read_json_object(path, "labels"), path, "key '199999' is duplicated in one object")


@pytest.mark.parametrize("start", ['{"a', '{"a": [1'])
def test_an_entry_without_an_end_is_not_read_to_the_end_of_the_file(start: str, tmp_path: Path, frugal: None) -> None:
    path = tmp_path / "v.json"
    with path.open("w") as stream:
        stream.write(start)
        for _ in range(64):
            stream.write("," * 2**20)
    named(lambda: read_vectors(path, only=["a"]), path, 'entry 1: expected "id": .* was the file cut off')


def test_a_pipe_is_read_or_refused_but_not_empty(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(b"1 1 a 1\n")))
    writer.start()
    assert list(read_qrels(pipe).topics) == ["1"]
    writer.join()
    named(lambda: read_topics(pipe), pipe, "is a pipe or a device; expected a file")
    writer = threading.Thread(target=lambda: pipe.write_bytes(b""))
    writer.start()
    named(lambda: list(numbered_lines(pipe, "run")), pipe, "is empty")
    writer.join()


@pytest.mark.parametrize(("line", "message"), [
    ('{"query_id": "1", "doc_ids": null}', "no doc_ids; expected query_id, doc_ids"),
    ('{"query_id": null, "doc_ids": ["a"]}', "no query_id; expected"),
    ('{"query_id": "1", "doc_ids": ["a"], "doc_vectors": 1}', "doc_vectors"),
    ('{"query_id": "1", "doc_ids": ["a"], "retrieval_scores": [1, 2]}', "retrieval_scores have shape"),
    ('{"query_id": "1", "query_id": "2", "doc_ids": ["a"]}', "key 'query_id' is duplicated"),
    ("[" * 100_000, "not JSON"),
])  # fmt: skip
def test_odd_lines_of_json_say_what_is_wrong(line: str, message: str) -> None:
    refused(lambda: rank_lines(MODEL, [line], print, 1), message)


def test_lines_of_bytes_are_utf_8_whatever_the_locale() -> None:
    answers: list[str] = []
    line = json.dumps(
        {"query_id": "\u00e9", "doc_ids": ["\u00fc"], "doc_vectors": [[1.0]], "query_vector": [1.0]}, ensure_ascii=False
    )
    rank_lines(MODEL, [b"\xef\xbb\xbf" + line.encode(), b"\n"], answers.append, 1)
    assert json.loads(answers[0]) == {"query_id": "\u00e9", "ranking": ["\u00fc"]}
    refused(lambda: rank_lines(MODEL, [b"", line.encode("latin-1")], answers.append, 1), "line 2: 'utf-8' codec")


@pytest.mark.parametrize(("read", "text"), [
    (parse_measure, "alpha_nDCG" + " " * 600 + "x"),
    (parse_measure, "alpha_nDCG" + "\t" * 20_000 + "(x"),
    (users_from, "Clicks" + " " * 20_000 + "x"),
    (users_from, "Clicks(" + ") " * 10_000 + "x"),
    (partial(import_own, trust=False), " " * 20_000 + "x"),
    (partial(import_own, trust=False), "module:Name(" + " " * 20_000),
    (parse_pruning, "knn:0.1+" + " " * 20_000 + "x"),
    (made_of, "module:Name(" + ")" * 20_000 + "x"),
])  # fmt: skip
def test_notations_are_read_in_time_that_is_linear(read: Callable[[str], object], text: str) -> None:
    timely(read, text)


@pytest.mark.parametrize("ids", [1, "ab", {"a": 1}, [1, 2], ["a", ["b"]], [None]])
def test_test_queries_that_are_no_ids_are_refused(ids: object, tmp_path: Path) -> None:
    spec = RANKERS.find("mmr")
    write_heuristic(tmp_path, spec, {"lambda_": 0.5}, None, {"test_query_ids": ["a"]})
    assert load_model(str(tmp_path)).test_query_ids == ("a",)
    content = json.loads((tmp_path / CONFIG_FILE).read_text())
    content["metadata"]["test_query_ids"] = ids
    (tmp_path / CONFIG_FILE).write_text(json.dumps(content))
    message = "test_query_ids must be|must be text"
    refused(lambda: load_model(str(tmp_path)), message, TypeError)


# Whatever a ranker returns, no document is shown twice and none that was not given

VECTORS = np.eye(3, 4)
LINE = json.dumps({"query_id": "0", "doc_ids": ["a", "b", "c"], "doc_vectors": VECTORS.tolist()})
WAYS: dict[str, Callable[[Ranker], object]] = {
    "one topic": lambda ranker: diversify(None, VECTORS, 3, ranker, [1, 2, 3]),
    "a batch": lambda ranker: diversify(None, [VECTORS, VECTORS], 3, ranker),
    "many": lambda ranker: diversify(None, [VECTORS] * 20, 3, ranker),
    "standard input": lambda ranker: rank_lines(Model(ranker=ranker, name="odd"), [LINE], lambda _: None, 3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("ranking", "message"), [
    (np.array([0, 1, 0]), "(topic '0'|this query) twice"),
    (np.array([0, 3]), "does not have; they are 0 to 2"),
    ([-1], "(topic '0'|this query) does not have"),
    ([0.0, 1.0], r"returned \[0.0, 1.0\] \(list\)"),
    ([[0, 1]], r"returned \[\[0, 1\]\] \(list\)"),
    (["a"], "returned .'a'. .list. for"),
    (None, r"returned None \(NoneType\)"),
    ([1], "ranked 1 documents"),
    ([], "ranked 0 documents"),
    (np.array([0, 2], np.uint8), "ranked 2 documents"),
])  # fmt: skip
def test_odd_rankings_are_refused(way: str, ranking: Any, message: str) -> None:
    refused(lambda: WAYS[way](Answers(ranking)), f"ranker 'odd' .*{message}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranking", [[2, 0, 1], (1, 0, 2), np.array([2, 1, 0]), np.array([0, 2, 1], np.uint8)])
def test_sound_rankings_pass(way: str, ranking: Any) -> None:
    WAYS[way](Answers(ranking))
