"""Lists of numbers between numpy and Arrow, without a Python object per number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def list_column(values: list[NDArray[Any] | None], kind: pa.DataType) -> pa.Array:
    """Arrays, flattened, as an Arrow list column, without a Python object per number."""
    lengths = [0 if value is None else value.size for value in values]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    flat = [value.reshape(-1) for value in values if value is not None]
    numbers = np.concatenate(flat) if flat else np.empty(0, dtype=kind.value_type.to_pandas_dtype())
    missing = pa.array([value is None for value in values], type=pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(numbers, type=kind.value_type), type=kind, mask=missing)


def number_rows(column: pa.Array, kind: pa.DataType) -> list[NDArray[Any] | None]:
    """A list column of numbers as one flat array a row (views into Arrow's memory where the type is ours)."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    values, sizes = column, None
    while (
        pa.types.is_list(values.type) or pa.types.is_large_list(values.type) or pa.types.is_fixed_size_list(values.type)
    ):
        lengths = values.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        sizes = lengths if sizes is None else _joined(sizes, lengths)
        values = values.flatten()
    if sizes is None:
        raise ValueError("not a list")
    if values.null_count:
        raise ValueError("a list holds a null; leave out the whole list where there are no numbers")
    if pa.types.is_floating(kind) and pa.types.is_floating(values.type):
        # An unsafe cast rounds float64 to float32, which is meant; Topic refuses what overflows.
        values = values.cast(kind, safe=False)
    numbers = values.cast(kind).to_numpy(zero_copy_only=False)
    ends = np.cumsum(sizes)
    return [numbers[end - size : end] if there else None for there, size, end in zip(present, sizes, ends, strict=True)]


def _joined(outer: NDArray[np.int64], inner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sizes of lists of lists: how many numbers each outer list holds; its rows must be equally long."""
    ends = np.cumsum(outer)
    totals = np.zeros(len(outer), dtype=np.int64)
    for i, (size, end) in enumerate(zip(outer, ends, strict=True)):
        rows = inner[end - size : end]
        if rows.size and (rows != rows[0]).any():
            raise ValueError("a list of lists has rows of different lengths; a matrix has equal rows")
        totals[i] = rows.sum()
    return totals
