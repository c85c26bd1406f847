"""Parquet files, and topics as Arrow columns without a Python object per number."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from srd_gym.files import PathLike, existing_file
from srd_gym.reading import Place, growth_limit, reading, shown, too_large
from srd_gym.topic import Topic

_GROUP_BYTES = 2**28
"""What a row group may unpack to however small its file is: equal numbers take next to no space."""


@contextlib.contextmanager
def opened_parquet(path: PathLike, what: str) -> Iterator[tuple[pq.ParquetFile, Place]]:
    """A Parquet file, read within the block: pages are unpacked late, and so are their faults found.

    Yields:
        (the file, the place for errors).

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a whole Parquet file, columns of one name, or more than the file can hold.
    """
    found = existing_file(path, what)
    with reading(path, what, "a whole Parquet file", "write it again") as place, pq.ParquetFile(found) as file:
        names = file.schema_arrow.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{what}: {path}: two columns are named {shown(twice)}; keep one of them")
        _check_size(file, found.stat().st_size)
        yield file, place


def _check_size(file: pq.ParquetFile, size: int) -> None:
    """Refuse row groups that say that they unpack to far more than the file."""
    for index in range(file.num_row_groups):
        # Not what the columns say: Arrow ends the process where a damaged file has odd statistics of one.
        total = file.metadata.row_group(index).total_byte_size
        if total > growth_limit(size, _GROUP_BYTES):
            raise too_large(f"row group {index} unpacks to {total:,} bytes", size)


def record_batch(topics: list[Topic], schema: pa.Schema) -> pa.RecordBatch:
    """Topics as the columns of a schema; its lists of numbers are arrays, flattened."""
    columns: list[pa.Array] = []
    for entry in schema:
        values: list[Any] = [_column_value(topic, entry.name) for topic in topics]
        if pa.types.is_list(entry.type) and not pa.types.is_string(entry.type.value_type):
            columns.append(_list_column(values, entry.type))
        else:
            columns.append(pa.array(values, type=entry.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column_value(topic: Topic, name: str) -> Any:
    """The topic's entry in a column; `vector_width` is F of whatever vectors it has."""
    if name != "vector_width":
        return getattr(topic, name)
    vectors = (topic.doc_vectors, topic.query_vector, topic.subtopic_vectors)
    return next((int(v.shape[-1]) for v in vectors if v is not None), None)


def _list_column(values: list[NDArray[Any] | None], kind: pa.DataType) -> pa.Array:
    """Arrays, flattened, as a list column."""
    lengths = [0 if value is None else value.size for value in values]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    flat = [value.reshape(-1) for value in values if value is not None]
    numbers = np.concatenate(flat) if flat else np.empty(0, dtype=kind.value_type.to_pandas_dtype())
    missing = pa.array([value is None for value in values], type=pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(numbers, type=kind.value_type), type=kind, mask=missing)
