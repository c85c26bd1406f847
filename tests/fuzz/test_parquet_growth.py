"""Parquet files whose few bytes unfold to far more are refused before memory is taken, whatever their footers say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_topics import refused

from srd_gym.data import generate, pages, parquet, read_topics, read_vectors, write_topics
from srd_gym.data.parquet import SCHEMA, iter_query_ids
from srd_gym.reading import GROWTH

MANY = 2**20
WAYS: list[dict[str, Any]] = [{}, {"data_page_version": "2.0"}, {"compression": "zstd"}, {"use_dictionary": False}]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_ALWAYS", MANY)


def refused_early(path: Path, read: Callable[[Path], object] = read_vectors) -> None:
    before = pa.default_memory_pool().max_memory()
    refused(lambda: read(path), rf"{path}.* unfolds to more than [\d,]* bytes, far more .* set {GROWTH} above")
    assert pa.default_memory_pool().max_memory() == before


def write_vectors(path: Path, rows: int = 2, **way: Any) -> None:
    vectors = [np.zeros(MANY // rows, np.float32)] * rows
    pq.write_table(pa.table({"id": list(map(str, range(rows))), "vector": vectors}), path, **way)


@pytest.mark.parametrize("way", [*WAYS, {"rows": 16, "row_group_size": 1}])
def test_equal_numbers_are_counted(way: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v.parquet"
    write_vectors(path, **{"compression": "zstd", **way})
    refused_early(path)
    monkeypatch.setenv(GROWTH, str(MANY))
    assert read_vectors(path).vectors.size == MANY


@pytest.mark.parametrize("way", WAYS[:3])
def test_footers_that_say_less_are_not_believed(way: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    write_vectors(path, **way)
    content = bytearray(path.read_bytes())
    said, less = b"\x80\x80\x80\x01", b"\xa0\x80\x80\x00"  # 2^20 and 16, as Thrift writes them
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert said in content[footer:]
    content[footer:] = content[footer:].replace(said, less)
    path.write_bytes(content)
    with pq.ParquetFile(path) as file:
        assert file.metadata.row_group(0).column(1).num_values == 16
    refused_early(path)


@pytest.mark.parametrize("way", WAYS[:3])
def test_texts_that_are_repeated_are_counted(way: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    texts = pa.array(["x" * 1_000, *map(str, range(1_000))]).take(pa.array([*range(1_001), *[0] * 10_000]))
    lists = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    pq.write_table(pa.table({"query_id": ["a"], "doc_ids": lists}), path, **way)
    refused_early(path, read_topics)
    pq.write_table(pa.table({"query_id": texts.take(pa.array([0] * 10_000)), "doc_ids": [["a"]] * 10_000}), path, **way)
    refused_early(path, lambda path: list(iter_query_ids(path)))


def test_texts_that_come_often_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    ids = [f"clueweb09-{i}" for i in range(500)]
    pq.write_table(pa.table({"query_id": list(map(str, range(40))), "doc_ids": [ids] * 40}), path)
    assert read_topics(path)[39].doc_ids == tuple(ids)


def test_what_is_counted_is_what_is_read(tmp_path: Path) -> None:
    topics = generate("serp", n_topics=30, seed=0)
    write_topics(tmp_path / "t.parquet", topics)
    with pq.ParquetFile(tmp_path / "t.parquet") as file:
        counted = sum(pages.unfolded_bytes(file, tmp_path / "t.parquet", 0, SCHEMA.names))
        vectors_only = sum(pages.unfolded_bytes(file, tmp_path / "t.parquet", 0, ["doc_vectors"]))
    size = sum(topic.doc_vectors.nbytes for topic in topics)
    assert size <= vectors_only < 1.1 * size + 10 * 1024
    assert vectors_only < counted < 2 * size + 17 * 1024


@pytest.mark.parametrize("data", [
    b"\x15\x02\x11",  # the field's number, but no field
    b"\x15\x02\x05\x02\x02\x00",  # field 1 twice
    b"\x15" + b"\xff" * 20,  # a number without an end
    b"\x1b\x00",  # a map
    b"\x19\xf7\xff\xff\xff\xff\x7f",  # 2^34 numbers that are not there
    b"\x19\xf1\xff\xff\xff\xff\x7f",
    b"\x18\xff\xff\xff\x7f",
])  # fmt: skip
def test_what_is_not_thrift_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        pages._struct(data, 0)


def test_what_is_thrift_is_read() -> None:
    text = b"\x15\x03\x1c\x11\x22\x00\x19\x23\x01\x00\x18\x02ab\x17" + b"\0" * 8 + b"\x05\x0c\x80\x01\x00"
    assert pages._struct(text, 0)[0] == {1: -2, 2: {1: True, 3: False}, 3: [1, 0], 4: None, 5: 0, 6: 64}
