"""Parquet files whose few bytes unfold to far more are refused by what came of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_topics import refused

from srd_gym.data import parquet, read_topics, read_vectors
from srd_gym.data.parquet import iter_query_ids
from srd_gym.reading import GROWTH

MANY = 2**20
TEXTS = pa.array(["x" * 1_000]).take(pa.array([0] * 10_000))
LISTS = pa.ListArray.from_arrays(pa.array([0, len(TEXTS)], pa.int32()), TEXTS)


def vectors(rows: int) -> pa.Table:
    return pa.table({"id": list(map(str, range(rows))), "vector": [np.zeros(MANY // rows, np.float32)] * rows})


@pytest.mark.parametrize(("table", "read"), [
    (vectors(2), read_vectors),
    (vectors(16), read_vectors),
    (pa.table({"query_id": ["a"], "doc_ids": LISTS}), read_topics),
    (pa.table({"query_id": TEXTS, "doc_ids": [["a"]] * 10_000}), lambda path: list(iter_query_ids(path))),
])  # fmt: skip
def test_what_comes_is_counted(
    table: pa.Table, read: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_ALWAYS", MANY)
    path = tmp_path / "large.parquet"
    pq.write_table(table, path, compression="zstd", row_group_size=max(1, len(table) // 16))
    refused(lambda: read(path), rf"{path}.* unfolds to more than [\d,]* bytes, .* set {GROWTH} above")
    if "vector" in table.column_names:
        monkeypatch.setenv(GROWTH, str(MANY))
        assert read_vectors(path).vectors.size == MANY
