"""What a Parquet file unfolds to, as the headers of its own pages tell: a run of equal numbers takes a few bytes.

Arrow believes these headers, whatever the footer says, and ends the process where a footer has odd statistics. They are
written in Thrift's compact protocol, of which this reads as much as Parquet uses.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from srd_gym.data.arrow import pa, pc, pq
from srd_gym.files import for_arrow

_ROW_GROUPS, _COLUMNS, _COLUMN = 4, 1, 3
"""Fields of the footer, of a row group, of a column in it."""
_LENGTH, _FIRST_PAGE, _FIRST_DICTIONARY = 7, 9, 11
"""Of a column: its bytes, and where they begin."""
_UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
"""Fields of a page's header: its sizes, and headers of the kinds of pages, which begin with the number of values."""
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 4}
"""Bytes of a value; of a text its place in the dictionary."""
_LEAST = 1024
"""What a page counts for however small it is: many empty ones take time."""


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
    repeated = []
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for index, chunk in enumerate(_footer(path)[group]):
            column = file.schema.column(index)
            if column.path.split(".")[0] not in columns:
                continue
            dictionary, first = chunk.get(_FIRST_DICTIONARY, 0), chunk[_FIRST_PAGE]
            start = dictionary if 0 < dictionary < first else first
            for header in _pages(data, start, start + chunk[_LENGTH]):
                values = max(header[kind][1] for kind in (_DATA, _DATA_2, _DICTIONARY) if kind in header)
                yield max(_LEAST, header[_UNPACKED], _WIDTHS.get(column.physical_type, column.length) * values)
                if _DICTIONARY in header and column.physical_type == "BYTE_ARRAY":
                    repeated.append(column.path)
    for name in repeated:
        with for_arrow(path, "rb") as source, pq.ParquetFile(source, read_dictionary=[name]) as words_apart:
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


def _footer(path: Path) -> list[list[dict[int, Any]]]:
    """Of each row group, what the footer says of its columns."""
    about = path.stat()
    return _footer_of(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=1)
def _footer_of(path: Path, size: int, _changed: int) -> list[list[dict[int, Any]]]:
    """`_footer`, which is asked for every row group, read once."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        footer, _ = _struct(data, size - 8 - int.from_bytes(data[-8:-4], "little"))
    return [[chunk[_COLUMN] for chunk in group[_COLUMNS]] for group in footer[_ROW_GROUPS]]


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
