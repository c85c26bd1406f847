"""Parquet files whose few bytes unfold to far more are refused: by their footers, or where these lie by what came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from srd_gym.data import parquet, read_topics, read_vectors
from srd_gym.data.parquet import iter_query_ids
from srd_gym.reading import GROWTH

MANY = 2**20
WAYS: list[dict[str, Any]] = [{}, {"data_page_version": "2.0"}, {"compression": "zstd"}, {"use_dictionary": False}]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_ALWAYS", MANY)


def refused(path: Path) -> None:
    read = read_vectors if "vector" in pq.read_schema(path).names else read_topics
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(ValueError, match=rf"unfolds to more than [\d,]* bytes, .* set {GROWTH} above") as error:
        read(path)
    assert str(path) in str(error.value)
    assert pa.default_memory_pool().max_memory() == before


def vectors(rows: int = 2) -> pa.Table:
    return pa.table({"id": list(map(str, range(rows))), "vector": [np.zeros(MANY // rows, np.float32)] * rows})


@pytest.mark.parametrize("way", WAYS)
def test_equal_numbers_are_counted(way: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(vectors(), path, **{"compression": "zstd", **way})
    assert path.stat().st_size < 2_000
    refused(path)
    monkeypatch.setenv(GROWTH, str(MANY))
    assert read_vectors(path).vectors.shape == (2, MANY // 2)


@pytest.mark.parametrize("way", WAYS[:3])
def test_footers_that_say_less_are_not_believed(way: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(vectors(), path, **way)
    content = bytearray(path.read_bytes())
    said, less = b"\x80\x80\x80\x01", b"\xa0\x80\x80\x00"  # 2^20 and 16, as Thrift writes them
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert said in content[footer:]
    content[footer:] = content[footer:].replace(said, less)
    path.write_bytes(content)
    with pq.ParquetFile(path) as file:
        assert file.metadata.row_group(0).column(1).num_values == 16
    refused(path)


@pytest.mark.parametrize("way", WAYS[:3])
def test_texts_that_are_repeated_are_counted(way: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    texts = pa.array(["x" * 1_000, *map(str, range(1_000))]).take(pa.array([*range(1_001), *[0] * 10_000]))
    lists = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    pq.write_table(pa.table({"query_id": ["a"], "doc_ids": lists}), path, **way)
    with pytest.raises(ValueError, match="unfolds to more than"):
        read_topics(path)
    pq.write_table(pa.table({"query_id": texts.take(pa.array([0] * 10_000)), "doc_ids": [["a"]] * 10_000}), path, **way)
    with pytest.raises(ValueError, match="unfolds to more than"):
        list(iter_query_ids(path))


def test_texts_that_come_often_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    ids = [f"clueweb09-{i}" for i in range(500)]
    pq.write_table(pa.table({"query_id": list(map(str, range(40))), "doc_ids": [ids] * 40}), path)
    assert read_topics(path)[39].doc_ids == tuple(ids)


def test_row_groups_add_up(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(vectors(rows=16), path, row_group_size=1)
    refused(path)
