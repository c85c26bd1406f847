"""Parquet files, and topics as Arrow columns without a Python object per number.

What a file unfolds to is told by the headers of its own pages: a run of equal numbers takes a few bytes. Arrow believes
these headers, whatever the footer says, and ends the process where a footer has odd statistics. They are written in
Thrift's compact protocol, of which this reads as much as Parquet uses.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from srd_gym.files import PathLike
from srd_gym.reading import Place, existing_file, growth_limit, reading, shown, too_large
from srd_gym.topic import Topic

_ALWAYS = 2**28
"""What may be read of a file however small it is: equal numbers take next to no space."""
_ROW_GROUPS, _COLUMNS, _COLUMN = 4, 1, 3
"""Fields of the footer, of a row group, of a column in it."""
_LENGTH, _FIRST_PAGE, _FIRST_DICTIONARY = 7, 9, 11
"""Of a column: its bytes, and where they begin."""
_UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
"""Of a page's header: its sizes, and headers of the kinds of pages, each of which begins with the number of values."""
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 4}
"""Bytes of a value; of a text its place in the dictionary."""
_LEAST = 1024
"""What a page counts for however small it is: many empty ones take time."""


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
    columns = [pa.array([_column_value(topic, entry.name) for topic in topics], type=entry.type) for entry in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column_value(topic: Topic, name: str) -> Any:
    """The topic's entry in a column; `vector_width` is F of whatever vectors it has."""
    if name == "vector_width":
        vectors = (topic.doc_vectors, topic.query_vector, topic.subtopic_vectors)
        return next((int(v.shape[-1]) for v in vectors if v is not None), None)
    value = getattr(topic, name)
    return value.reshape(-1) if isinstance(value, np.ndarray) else value


def unfolded_bytes(file: pq.ParquetFile, path: Path, group: int, columns: Collection[str]) -> Iterator[int]:
    """Numbers that add up to what a row group takes in memory, to be looked at one by one: the last ones need memory.

    Args:
        file: the file, opened.
        path: where it is.
        group: number of the row group.
        columns: those to be read; names at the top of the schema.

    Raises:
        ValueError, LookupError, TypeError: no whole Parquet file.
    """
    about = path.stat()
    repeated = []
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for index, (start, length) in enumerate(_chunks(path, about.st_size, about.st_mtime_ns)[group]):
            column = file.schema.column(index)
            if column.path.split(".")[0] not in columns:
                continue
            words = count = 0
            for header in _pages(data, start, start + length):
                values = max(header[kind][1] for kind in (_DATA, _DATA_2, _DICTIONARY) if kind in header)
                yield max(_LEAST, header[_UNPACKED], _WIDTHS.get(column.physical_type, column.length) * values)
                words += header[_UNPACKED] if _DICTIONARY in header else 0
                count += 0 if _DICTIONARY in header else values
            if column.physical_type == "BYTE_ARRAY" and words * count > growth_limit(length, 0):
                repeated.append(column.path)
            elif column.physical_type == "BYTE_ARRAY":
                yield words * count
    for name in repeated:
        with pq.ParquetFile(path, read_dictionary=[name]) as words_apart:
            yield _text_bytes(words_apart, group, name)


def _text_bytes(file: pq.ParquetFile, group: int, name: str) -> int:
    """Bytes of all texts of a column, which is read as a dictionary and places in it."""
    taken = 0
    for chunk in file.read_row_group(group, columns=[name]).column(0).chunks:
        while pa.types.is_nested(chunk.type) and not pa.types.is_dictionary(chunk.type):
            chunk = chunk.flatten()
        if pa.types.is_dictionary(chunk.type):
            taken += pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0
    return taken


@lru_cache(maxsize=1)
def _chunks(path: Path, size: int, _changed: int) -> list[list[tuple[int, int]]]:
    """Of each row group, where its columns begin and how long they are."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        footer, _ = _struct(data, size - 8 - int.from_bytes(data[-8:-4], "little"))
    return [[_extent(chunk[_COLUMN]) for chunk in group[_COLUMNS]] for group in footer[_ROW_GROUPS]]


def _extent(column: dict[int, Any]) -> tuple[int, int]:
    """Where a column of a row group begins, and how long it is."""
    first, dictionary = column[_FIRST_PAGE], column.get(_FIRST_DICTIONARY, 0)
    return (dictionary if 0 < dictionary < first else first), column[_LENGTH]


def _pages(data: mmap.mmap, at: int, end: int) -> Iterator[dict[int, Any]]:
    """The headers of the pages between two places."""
    while at < end:
        header, at = _struct(data, at)
        if at < 0 or header[_PACKED] < 0:
            raise ValueError("pages that begin before the file, or that are shorter than nothing")
        at += header[_PACKED]
        yield header


def _struct(data: mmap.mmap, at: int) -> tuple[dict[int, Any], int]:
    """The fields of a struct by their numbers, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while (head := data[at]) != 0:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(data, at)
        if number in fields:  # which of them a reader takes depends on the reader
            raise ValueError(f"field {number} comes twice")
        fields[number], at = _value(data, at, head & 15)
    return fields, at + 1


def _value(data: mmap.mmap, at: int, kind: int) -> tuple[Any, int]:
    """A value of a struct, and where it ends."""
    if kind in (1, 2):  # the kind is the value
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _integer(data, at)
    if kind == 7:
        return data[at + 7], at + 8
    if kind == 8:
        length, at = _natural(data, at)
        return None, at + length
    if kind == 12:
        return _struct(data, at)
    if kind not in (9, 10):
        raise ValueError(f"a value of unknown kind {kind}")
    head, at = data[at], at + 1
    count = head >> 4
    if count == 15:
        count, at = _natural(data, at)
    values = []
    for _ in range(count):
        # A truth value takes a byte of its own in a list.
        value, at = _value(data, at, 3 if head & 15 in (1, 2) else head & 15)
        values.append(value)
    return values, at


def _natural(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A whole number from 0, seven bits a byte, and where it ends."""
    value = shift = 0
    while (byte := data[at]) > 127:
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
    return value | byte << shift, at + 1


def _integer(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A whole number, and where it ends."""
    value, at = _natural(data, at)
    return (value >> 1) ^ -(value & 1), at
