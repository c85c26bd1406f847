"""Lines of TREC files, in blocks of one query, and the words that such lines can hold."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from os import PathLike as _OsPathLike
from typing import Any

from srd_gym.files import PathLike
from srd_gym.reading import numbered_blocks, plain_float, shown, with_type

Paths = PathLike | Iterable[PathLike]
Block = tuple[PathLike, str, Sequence[int], Sequence[Sequence[Any]]]
"""File, query, numbers of lines and columns (the first holds the query) of neighbouring lines of one query."""

_FIELDS = re.compile(r"[^ \t\r\f\v]+")
_END = "\0"
"""Stands for the end of a line among words."""
_NOT_PLAIN = (_END, "\x1c", "\x1d", "\x1e", "\x1f")


def path_list(paths: Paths, what: str) -> list[PathLike]:
    """One path or several, as a list.

    Raises:
        ValueError: no path at all.
    """
    several = [paths] if isinstance(paths, str | _OsPathLike) else list(paths)
    if not several:
        raise ValueError(f"{what}: no file given; expected one path or more")
    return several


def neighbours(path: PathLike, numbers: Sequence[int], columns: Sequence[Sequence[Any]]) -> Iterator[Block]:
    """Lines or records in blocks, whose first column is the query."""
    start = 0
    for query_id, same in groupby(columns[0]):
        stop = start + sum(1 for _ in same)
        yield path, query_id, numbers[start:stop], [column[start:stop] for column in columns]
        start = stop


def blocks_of(paths: Paths, what: str, form: str) -> Iterator[Block]:
    """The lines of files, without comments; no query is in two of these.

    Args:
        paths: one file or several parts.
        what: they hold, as errors call it.
        form: the names of the fields, for errors and for their number.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line with another number of fields, a query in two files, or a file without lines.
    """
    owner: dict[str, PathLike] = {}
    for path in path_list(paths, what):
        own: set[str] = set()
        for numbers, columns in _columns(path, what, form):
            for block in neighbours(path, numbers, columns):
                if block[1] not in own:
                    claim_query(what, owner, block[1], path)
                    own.add(block[1])
                yield block
        if not own:
            raise ValueError(f"{what}: {path} holds only blank lines and comments; expected at least one line of data")


def _columns(path: PathLike, what: str, form: str) -> Iterator[tuple[Sequence[int], Sequence[Sequence[str]]]]:
    """Numbers of lines and their fields, by column: many lines at once where all are plain, else one by one."""
    width = len(form.split())
    for first, block in numbered_blocks(path, what):
        lines = block.count("\n")
        words = block.replace("\n", f" {_END} ").split()
        # Python splits text at more characters than trec_eval and ndeval do; nothing but ASCII without these is plain.
        plain = block.isascii() and not any(character in block for character in _NOT_PLAIN)
        plain = plain and not ("#" in block and (block.startswith("#") or "\n#" in block))
        if plain and len(words) == lines * (width + 1) and words[width :: width + 1] == [_END] * lines:
            yield range(first, first + lines), [words[index :: width + 1] for index in range(width)]
            continue
        for number, line in enumerate(block.split("\n"), start=first):
            fields = [] if line.startswith("#") else _FIELDS.findall(line)
            # A run's tag may hold spaces; a document id may not, and its rest would stand in place of the rank.
            if len(fields) == width or (what == "run" and len(fields) > width and fields[3].isdecimal()):
                yield [number], [[value] for value in fields[:width]]
            elif fields:
                place, came = f"{what}: {path}:{number}", f"{len(fields)}: {shown(line.rstrip(chr(13)))}"
                raise ValueError(f"{place}: expected {width} fields '{form}', got {came}")


def claim_query(what: str, owner: dict[str, PathLike], query_id: str, path: PathLike) -> None:
    """Note the file that holds a query; a query in two files is an error."""
    if query_id in owner:
        hint = "; to compare runs: srd compare" if what == "run" else ""
        raise ValueError(
            f"{what}: query {shown(query_id)} is in both {owner[query_id]} and {path}; several files are parts of one "
            f"whole and must not share a query{hint}"
        )
    owner[query_id] = path


def finite(text: str, what: str, path: PathLike, number: int, part: str) -> float:
    """A finite number.

    Raises:
        ValueError: other text; the message gives file and line.
    """
    try:
        value = plain_float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{what}: {path}:{number}: expected a finite number as {part}, got {shown(text)}")
    return value


def check_query_id(what: str, value: str) -> None:
    """Refuse a query id that TREC files cannot carry: `check_word`, and no "#" or byte order mark at its beginning.

    Raises:
        ValueError: such an id.
    """
    check_word(what, "query id", value)
    if value.startswith(("#", "\ufeff")):
        raise ValueError(f"{what}: query id {shown(value)} begins with {value[0]!r}, which readers skip: rename it")


def check_word(what: str, name: str, value: str) -> None:
    """Refuse what TREC files cannot carry: their fields are separated by white space and their lines by line ends.

    Raises:
        TypeError: not text.
        ValueError: a value that is empty or holds white space or control characters.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what}: {name} must be text, got {with_type(value)}")
    bad = next((c for c in value if c.isspace() or unicodedata.category(c) in {"Cc", "Cs"}), None)
    if bad is not None or not value:
        fault = "is empty" if not value else f"holds {shown(bad)}"
        raise ValueError(
            f"{what}: {name} {shown(value)} {fault}; TREC files separate fields by white space, so ids and tags need "
            "at least one character and no white space or control characters: rename it"
        )
