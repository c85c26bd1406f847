"""Parquet files, and their lists of numbers as arrays without a Python object per number."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from srd_gym.files import PathLike
from srd_gym.reading import Place, existing_file, growth_limit, reading, shown, too_large

_ALWAYS = 2**28
"""What may be read of a file however small it is: equal numbers take next to no space."""


@contextlib.contextmanager
def opened_parquet(
    path: PathLike, what: str, required: Collection[str], advice: str
) -> Iterator[tuple[pq.ParquetFile, Place]]:
    """A Parquet file, read within the block: pages are unpacked late, and so are their faults found.

    Args:
        path: the file.
        what: what it should hold, for errors.
        required: names of columns that must be there.
        advice: what to do about a file that cannot be read.

    Yields:
        (the file, the place for errors).

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a whole Parquet file, columns of one name, or a missing column.
    """
    found = existing_file(path, what)
    with reading(path, what, "a whole Parquet file", advice) as place, pq.ParquetFile(found) as file:
        names = file.schema_arrow.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{what}: {path}: two columns are named {shown(twice)}; keep one of them")
        absent = [name for name in required if name not in names]
        if absent:
            raise ValueError(
                f"{what}: {path} lacks the column{'s' * (len(absent) > 1)} {', '.join(absent)}; it has "
                f"{', '.join(names) or 'none'}; {advice}"
            )
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
        row = starts[group]
        for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=columns):
            left -= batch.nbytes
            if left < 0:
                raise too_large(f"what is read of it unfolds to more than {limit:,} bytes", size)
            yield row, batch
            row += batch.num_rows


def number_rows(column: pa.Array, kind: pa.DataType) -> list[NDArray[Any] | None]:
    """A list column of numbers as one flat array a row (views into Arrow's memory where the type is ours)."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    sizes, values = _lengths(column), pc.list_flatten(column)
    if pa.types.is_nested(values.type):
        sizes, values = _joined(sizes, _lengths(values)), pc.list_flatten(values)
    if values.null_count:
        raise ValueError("a list holds a null; leave out the whole list where there are no numbers")
    if pa.types.is_floating(kind) and pa.types.is_floating(values.type):
        # An unsafe cast rounds float64 to float32, which is meant; Topic refuses what overflows.
        values = values.cast(kind, safe=False)
    numbers = values.cast(kind).to_numpy(zero_copy_only=False)
    ends = np.cumsum(sizes)
    return [numbers[end - size : end] if there else None for there, size, end in zip(present, sizes, ends, strict=True)]


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    """How long each list is, 0 where it is missing."""
    lengths: NDArray[np.int64] = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def _joined(outer: NDArray[np.int64], inner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sizes of lists of lists: how many numbers each outer list holds; its rows must be equally long."""
    parts = np.split(inner, np.cumsum(outer)[:-1])
    if any((part != part[:1]).any() for part in parts):
        raise ValueError("a list of lists has rows of different lengths; a matrix has equal rows")
    return np.array([part.sum() for part in parts], dtype=np.int64)
