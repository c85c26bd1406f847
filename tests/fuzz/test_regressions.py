"""Inputs that once ended in raw errors, in hours of work or in gigabytes of memory, each made by code."""

from __future__ import annotations

import gzip
import json
import os
import struct
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from fuzz.calls import MODEL
from sound_files import make_topics

from srd_agents.registry import RANKERS
from srd_agents.storage import CONFIG_FILE
from srd_gym.data import (
    generate,
    read_folds,
    read_qrels,
    read_run,
    read_topics,
    read_topics_xml,
    read_vectors,
)
from srd_gym.measures import evaluate, evaluate_run, evaluation
from srd_gym.reading import GROWTH, numbered_lines, read_json_object, reading
from srd_train.experiment.recipe import load_recipe
from srd_train.serving.json_lines import rank_lines, topic_of
from srd_train.serving.models import load_model, write_heuristic


@pytest.fixture
def frugal() -> Iterator[None]:
    """Fails where a test takes more than 400 MB."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * 2**20


def refused(call: Callable[[], object], path: Path, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert type(caught.value) is ValueError
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        struct.error("x"), RecursionError("x"), MemoryError(), OverflowError("x"), LookupError("x"), KeyError("x"),
        SyntaxError("x"), pa.ArrowNotImplementedError("x"), pa.ArrowInvalid("x"), OSError("Corrupt snappy data"),
        EOFError("x"), ValueError("x"), TypeError("x"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
        zipfile.BadZipFile("x"), gzip.BadGzipFile("x"), AttributeError("x"),
    ],
)  # fmt: skip
def test_whatever_a_parser_raises_becomes_one_error(error: Exception, tmp_path: Path) -> None:
    def read() -> None:
        with reading(tmp_path / "f", "vectors", "a whole file", "write it again") as place:
            place.at = ", row 7"
            raise error

    refused(read, tmp_path, r"^vectors: .*/f, row 7: .*; write it again$")


def test_errors_of_the_system_stay_and_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output") as caught, reading(tmp_path / "f", "run", "a run", "try again"):
        raise OSError(5, "Input/output error")
    assert caught.value.filename == str(tmp_path / "f")


def write_gzip(path: Path, start: bytes, size: int) -> Path:
    with gzip.open(path, "wb") as stream:
        stream.write(start)
        for _ in range(size // 2**20):
            stream.write(b" " * 2**20)
    return path


@pytest.mark.parametrize(("read", "start"), [
    (read_qrels, b"1 1 a 1"),
    (read_topics_xml, b"<a>"),
    (read_folds, b"a: [1"),
    (lambda path: read_vectors(path, only=["a"]), b"{"),
])  # fmt: skip
def test_gzip_bombs_are_refused(read: Callable[[Path], object], start: bytes, tmp_path: Path, frugal: None) -> None:
    path = write_gzip(tmp_path / "bomb.gz", start, 60 * 2**20)
    refused(lambda: read(path), path, f"it unpacks to more than .* bytes, far more than .* set {GROWTH} above 100")


def test_the_limit_of_growth_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_gzip(tmp_path / "large.gz", b'{"a":[1]', 20 * 2**20)
    with gzip.open(path, "ab") as stream:
        stream.write(b"}")
    refused(lambda: read_vectors(path, only=["a"]), path, "far more than")
    monkeypatch.setenv(GROWTH, "5000")
    assert read_vectors(path, only=["a"]).ids == ("a",)
    monkeypatch.setenv(GROWTH, "many")
    with pytest.raises(ValueError, match=f"{GROWTH}: expected a whole number of at least 1, got 'many'"):
        read_vectors(path, only=["a"])


def test_many_subtopics_of_many_documents_are_refused_before_they_are_allocated(tmp_path: Path, frugal: None) -> None:
    path = tmp_path / "qrels"
    path.write_text("".join(f"1 {i} d{i} 1\n" for i in range(40_000)))
    refused(lambda: read_qrels(path), path, r"40,000 documents x 40,000 subtopics")


def test_long_and_wide_topics_are_scored_in_parts(tmp_path: Path, frugal: None) -> None:
    """Topics x longest ranking x most subtopics was 25 GiB of these 240 kB."""
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    lines = [f"{topic} 1 d 1\n" for topic in range(2_000)] + [f"w {i} d{i} 1\n" for i in range(2_500)]
    qrels.write_text("".join(lines))
    ranked = [f"{topic} Q0 d 1 1 t\n" for topic in range(2_000)] + [f"0 Q0 x{i} 1 0 t\n" for i in range(5_000)]
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
    real = evaluation._parts
    monkeypatch.setattr(evaluation, "_parts", lambda rows: _cut(real(rows), size))
    assert evaluate(topics, rankings, names).per_topic == whole.per_topic


def _cut(parts: Iterator[slice], size: int) -> Iterator[slice]:
    for part in parts:
        yield from (slice(at, min(at + size, part.stop)) for at in range(part.start, part.stop, size))


BOMB = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({2**24}, 1), }}"
LARGER = "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 1), }"


@pytest.mark.parametrize(("header", "size", "message"), [
    (LARGER, 2**16, r"says that it has shape \(4000000000, 1\) of float32, but holds 65,536"),
    (BOMB, 2**26, "its arrays unpack to .* bytes, far more"),
    *((text, 0, "not a whole .npz file") for text in ("{'shape': (3,", "\0", "{'descr': 'x'", "((((", "{1: 2}")),
])  # fmt: skip
def test_arrays_with_odd_headers_are_refused(
    header: str, size: int, message: str, tmp_path: Path, frugal: None
) -> None:
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    np.savez(tmp_path / "v.npz", ids=np.array(["a"]))
    with zipfile.ZipFile(tmp_path / "v.npz", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.npy", array + bytes(size))
    refused(lambda: read_vectors(tmp_path / "v.npz"), tmp_path, message)
    if not size:
        (tmp_path / "v.ids").write_text("a\n")
        (tmp_path / "v.npy").write_bytes(array)
        refused(lambda: read_vectors(tmp_path / "v.npy"), tmp_path, "not a whole .npy file")


def test_pages_that_are_damaged_late_are_refused_with_the_row(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    make_topics(tmp_path)
    content = bytearray(path.read_bytes())
    for at in range(40, len(content) // 3):
        content[at] ^= 0xFF
    path.write_bytes(content)
    refused(lambda: read_topics(path), path, "not a whole Parquet file")


def test_a_key_that_comes_twice_is_found_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    pairs = ", ".join(f'"{i}": 1' for i in range(200_000))
    path.write_text(f'{{{pairs}, "199999": 2}}')
    refused(lambda: read_json_object(path, "labels"), path, "key '199999' comes twice in one object")


@pytest.mark.parametrize("start", ['{"a', '{"a": [1'])
def test_an_entry_without_an_end_is_not_read_to_the_end_of_the_file(start: str, tmp_path: Path, frugal: None) -> None:
    path = tmp_path / "v.json"
    with path.open("w") as stream:
        stream.write(start)
        for _ in range(64):
            stream.write("," * 2**20)
    refused(lambda: read_vectors(path, only=["a"]), path, 'entry 1: expected "id": .* was the file cut off')


def test_a_pipe_is_read_or_refused_but_not_empty(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(b"1 1 a 1\n")))
    writer.start()
    assert list(read_qrels(pipe).topics) == ["1"]
    writer.join()
    refused(lambda: read_topics(pipe), pipe, "is a pipe or a device; expected a file")
    writer = threading.Thread(target=lambda: pipe.write_bytes(b""))
    writer.start()
    refused(lambda: list(numbered_lines(pipe, "run")), pipe, "is empty")
    writer.join()


@pytest.mark.parametrize(("change", "message"), [
    ({"doc_ids": None}, "no doc_ids; expected query_id, doc_ids"),
    ({"query_id": None}, "no query_id; expected"),
    ({"doc_vectors": 1}, "doc_vectors"),
    ({"retrieval_scores": [10**400, 1]}, "retrieval_scores: expected a list of numbers"),
])  # fmt: skip
def test_odd_lines_of_json_say_what_is_wrong(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        topic_of(json.dumps({"query_id": "1", "doc_ids": ["a", "b"], "retrieval_scores": [1, 2], **change}))
    with pytest.raises(ValueError, match="key 'query_id' comes twice"):
        topic_of('{"query_id": "1", "query_id": "2", "doc_ids": ["a"]}')
    with pytest.raises(ValueError, match="not JSON"):
        topic_of("[" * 100_000)


def test_lines_of_bytes_are_utf_8_whatever_the_locale() -> None:
    answers: list[str] = []
    line = json.dumps(
        {"query_id": "\u00e9", "doc_ids": ["\u00fc"], "doc_vectors": [[1.0]], "query_vector": [1.0]}, ensure_ascii=False
    )
    rank_lines(MODEL, [b"\xef\xbb\xbf" + line.encode(), b"\n"], answers.append, 1)
    assert json.loads(answers[0]) == {"query_id": "\u00e9", "ranking": ["\u00fc"]}
    with pytest.raises(ValueError, match="line 2: 'utf-8' codec"):
        rank_lines(MODEL, [b"", line.encode("latin-1")], answers.append, 1)


@pytest.mark.parametrize("line", ["measures = 1", "depth = 'x'", "[[rankers]]\nranker = {}", "[[topics]]\nname = []"])
def test_recipes_of_odd_types_name_the_file(line: str, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    sound = '[[topics]]\nname = "t"\nsource = "synthetic:tiny"\n[[rankers]]\nranker = "mmr"\n'
    path.write_text(f'title = "x"\nreference = "mmr"\n{line}\n{sound}')
    refused(lambda: load_recipe(str(path)), path, r"r\.toml")


@pytest.mark.parametrize("ids", [1, "ab", {"a": 1}, [1, 2], ["a", ["b"]], [None]])
def test_test_queries_that_are_no_ids_are_refused(ids: object, tmp_path: Path) -> None:
    spec = RANKERS.find("mmr")
    write_heuristic(tmp_path, spec, {"lambda_": 0.5}, None, {"test_query_ids": ["a"]})
    assert load_model(str(tmp_path)).test_query_ids == ("a",)
    content = json.loads((tmp_path / CONFIG_FILE).read_text())
    content["metadata"]["test_query_ids"] = ids
    (tmp_path / CONFIG_FILE).write_text(json.dumps(content))
    with pytest.raises(TypeError, match=r"config\.json: (entry \d of )?test_query_ids must be|must be text"):
        load_model(str(tmp_path))
