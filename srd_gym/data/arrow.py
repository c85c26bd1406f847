"""Parquet files, and topics as Arrow columns without a Python object per number."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from srd_gym.data.pages import unfolded_bytes
from srd_gym.files import PathLike, existing_file
from srd_gym.reading import Place, growth_limit, reading, shown, too_large
from srd_gym.topic import Topic

_ALWAYS = 2**28
"""What may be read of a file however small it is: equal numbers take next to no space."""


@contextlib.contextmanager
def opened_parquet(path: PathLike, what: str) -> Iterator[tuple[pq.ParquetFile, Place]]:
    """A Parquet file, read within the block: pages are unpacked late, and so are their faults found.

    Yields:
        (the file, the place for errors).

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a whole Parquet file, or columns of one name.
    """
    found = existing_file(path, what)
    with reading(path, what, "a whole Parquet file", "write it again") as place, pq.ParquetFile(found) as file:
        names = file.schema_arrow.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{what}: {path}: two columns are named {shown(twice)}; keep one of them")
        yield file, place


def read_batches(
    file: pq.ParquetFile, path: PathLike, columns: Sequence[str], rows: int, groups: Iterable[int] | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Some columns, some rows at a time, each time with the number of the first.

    Args:
        file: the file, opened.
        path: where it is.
        columns: names at the top of the schema.
        rows: at once, at most.
        groups: numbers of row groups; None: all.

    Raises:
        ValueError: what is read takes far more memory than the file is large.
    """
    size = Path(path).stat().st_size
    left = limit = growth_limit(size, _ALWAYS)
    starts = list(accumulate((file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)), initial=0))
    for group in range(file.num_row_groups) if groups is None else groups:
        for taken in unfolded_bytes(file, Path(path), group, columns):
            left -= taken
            if left < 0:
                raise too_large(f"what is read of it unfolds to more than {limit:,} bytes", size)
        row = starts[group]
        for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=columns):
            yield row, batch
            row += batch.num_rows


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
