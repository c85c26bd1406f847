"""Columns of Parquet files: a table of Arrow fields says what a kind of file holds, and one function reads and checks.

Text is text (whole numbers, which ids may be, are spelt out); numbers are numbers of any width where their values fit;
flags are true or false, or 1 and 0. Nothing else passes for one of these: no "0" for false, no 0.3 for true, no 1.10
for an id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_gym.data.arrow import pa, pc
from srd_gym.dtypes import AnyArray
from srd_gym.reading import Place


class Law(NamedTuple):
    """The range of a column's numbers."""

    expected: str = "numbers"
    """In words, for errors."""
    holds: Callable[[AnyArray], NDArray[np.bool_]] | None = None
    """Which of them are in it; None: all."""
    gaps: bool = False
    """Whether a null among them is NaN, and no error."""


Table = Mapping["pa.Field", Law | None]
"""Columns of a kind of files: their names, types and whether rows may be null, and the range of their numbers."""
_FLAGS = Law("true or false (or 1 and 0)", lambda values: (values == 0) | (values == 1))


def column_rows(column: pa.Array, field: pa.Field, place: Place, first: int, law: Law | None = None) -> list[Any]:
    """The rows of a column: lists of numbers or flags as an array each, anything else as Python has it.

    Args:
        column: of a batch.
        field: its name, its type and whether rows may be null. Lists of numbers may come as lists of lists of one
            length.
        place: the file, for errors.
        first: number of the first row.
        law: of the numbers.

    Returns:
        A row each; of numbers views into Arrow's memory where the type is that of the field.

    Raises:
        ValueError: another type, a row that is null, or values out of range; the message names column and row.
    """
    listed, kind, came = pa.types.is_list(field.type), _innermost(field.type), str(_innermost(column.type))
    is_text = "string" in came or "binary" in came
    fits = "int" in came or came == "null" or is_text == pa.types.is_string(kind)
    if not fits or (pa.types.is_nested(column.type) != listed and not pa.types.is_null(column.type)):
        raise ValueError(f"{place}: column {field.name!r} has type {column.type}, expected {field.type}")
    try:
        if column.null_count and not field.nullable:
            raise ValueError("expected a value in every row, got null")
        if pa.types.is_null(column.type) or not listed or pa.types.is_string(kind):
            return list(column.cast(field.type).to_pylist())
        if pa.types.is_boolean(kind):
            kind, law = pa.float64(), _FLAGS
        return _number_rows(column, kind, law or Law())
    except (pa.ArrowException, ValueError) as error:
        for row in range(len(column) if len(column) > 1 else 0):
            column_rows(column.slice(row, 1), field, place, first + row, law)
        place.at = f", row {first}"
        raise ValueError(f"{place}: {field.name}: {error}") from error


def _innermost(kind: pa.DataType) -> pa.DataType:
    """The type of the values in lists, or of a dictionary."""
    inner = getattr(kind, "value_type", None)
    return kind if inner is None else _innermost(inner)


def _number_rows(column: pa.Array, kind: pa.DataType, law: Law) -> list[AnyArray | None]:
    """Lists of numbers as a flat array per row, lists of lists of one length as an array [rows, width] per row."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    sizes, values = _lengths(column), pc.list_flatten(column)
    counts = sizes if (nested := pa.types.is_nested(values.type)) else None
    if nested:
        sizes, values = _joined(sizes, _lengths(values)), pc.list_flatten(values)
    if values.null_count and law.gaps:
        values = pc.fill_null(values.cast(kind, safe=False), float("nan"))
    if values.null_count:
        raise ValueError("a list holds a null; leave out the whole list where there are no numbers")
    if pa.types.is_floating(kind) and pa.types.is_floating(values.type):
        # An unsafe cast rounds float64 to float32, which is meant; Topic refuses what overflows.
        values = values.cast(kind, safe=False)
    numbers = values.cast(kind).to_numpy(zero_copy_only=False)
    if law.holds is not None and not (holds := law.holds(numbers)).all():
        place = int(holds.argmin())
        raise ValueError(f"expected {law.expected}, got {numbers[place]:g} (entry {place + 1})")
    ends = np.cumsum(sizes)
    rows = [numbers[end - size : end] if there else None for there, size, end in zip(present, sizes, ends, strict=True)]
    if counts is None:
        return rows
    return [row if row is None or not n else row.reshape(n, -1) for n, row in zip(counts, rows, strict=True)]


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    """Length of each list, 0 where it is missing."""
    lengths: NDArray[np.int64] = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def _joined(outer: NDArray[np.int64], inner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sizes of lists of lists: how many numbers each outer list holds; its rows must be equally long."""
    parts = np.split(inner, np.cumsum(outer)[:-1])
    if any((part != part[:1]).any() for part in parts):
        raise ValueError("a list of lists has rows of different lengths; a matrix has equal rows")
    return np.array([part.sum() for part in parts], dtype=np.int64)
