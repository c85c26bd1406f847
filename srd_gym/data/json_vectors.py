"""Vectors from a JSON object {id: [numbers]}, read as a stream: the file may be far larger than memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterator

import numpy as np

from srd_gym.data.vectors import VectorTable, read_vectors
from srd_gym.files import PathLike
from srd_gym.reading import open_binary, shown
from srd_gym.topic import FloatArray

_CHUNK = 2**20
_LONGEST = 2**24
"""Characters of one id or one vector: what is longer is no such file, and is not read to its end to find out."""
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def read_any_vectors(path: PathLike, *, only: Collection[str]) -> VectorTable:
    """Vectors of these ids from a JSON object {id: [numbers]} (plain or gzip) or any format of `read_vectors`.

    Raises:
        FileNotFoundError, ValueError: as `read_vectors`.
    """
    with open_binary(path, "vectors") as stream:
        start = stream.read(64)
    if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
        return read_vectors(path, only=only)
    rows = dict(iter_json_vectors(path, only=only))
    vectors = np.stack(list(rows.values())) if rows else np.empty((0, 0), dtype=np.float32)
    return VectorTable(tuple(rows), vectors, source=str(path))


def iter_json_vectors(path: PathLike, *, only: Collection[str]) -> Iterator[tuple[str, FloatArray]]:
    """The wanted entries of a JSON object {id: [numbers]}, holding about a megabyte of it at a time.

    Args:
        path: the file, plain or gzip.
        only: the ids to yield; all others are passed over unparsed.

    Yields:
        (id, [F] float32), in the file's order.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another format, numbers that are not finite, vectors of different widths, or a wanted id twice; the
            message gives the file and the number of the entry.
    """
    wanted = frozenset(only)
    seen: set[str] = set()
    width: int | None = None
    with open_binary(path, "vectors", "JSON") as raw:
        reader = _Reader(io.TextIOWrapper(raw, encoding="utf-8-sig"), path)
        for name, body in reader.entries():
            if name not in wanted:
                continue
            if name in seen:
                raise reader.fault(f"id {shown(name)} comes twice; keep one of them")
            seen.add(name)
            vector = _vector(body, name, reader)
            if width is not None and vector.size != width:
                raise reader.fault(f"{vector.size} numbers for id {shown(name)}, but {width} in the entries before")
            width = vector.size
            yield name, vector


def _vector(body: str, name: str, reader: _Reader) -> FloatArray:
    """The numbers between the brackets."""
    try:
        with np.errstate(over="ignore"):
            vector = np.array(json.loads(f"[{body}]"), dtype=np.float64).astype(np.float32)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise reader.fault(f"expected a list of numbers for id {shown(name)}: {error}") from error
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        raise reader.fault(f"expected finite numbers for id {shown(name)}, got {shown(body)}")
    return vector


class _Reader:
    """Walks through {"id": [...], ...} without ever holding the whole text."""

    def __init__(self, stream: io.TextIOWrapper, path: PathLike) -> None:
        self._stream = stream
        self._path = path
        self._text = ""
        self._at = 0
        self._entry = 0

    def fault(self, found: str) -> ValueError:
        """The error for what was found, with the place."""
        return ValueError(f"vectors: {self._path}, entry {self._entry}: {found}")

    def entries(self) -> Iterator[tuple[str, str]]:
        """Each id with the text between its brackets."""
        self._expect("{")
        mark = self._next()
        while mark != "}":
            self._entry += 1
            name = self._string()
            self._expect(":")
            self._expect("[")
            yield name, self._until("]")
            mark = self._next()
            if mark not in {",", "}"}:
                raise self.fault(f"expected a comma or the closing brace, got {shown(mark)}")
            if mark == ",":
                self._at += 1
                self._next()
        self._at += 1
        rest = self._next(at_end=True)
        if rest:
            raise self.fault(f"text after the closing brace: {shown(rest)}")

    def _more(self, found: str = "") -> bool:
        """Read on, forgetting what was used; False at the end of the file.

        Args:
            found: what has begun and not ended, which the reader holds in memory.
        """
        if found and len(self._text) - self._at > _LONGEST:
            raise self.fault(f"{found} that does not end within {_LONGEST:,} characters")
        chunk = self._stream.read(_CHUNK)
        self._text = self._text[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def _next(self, *, at_end: bool = False) -> str:
        """The next character that is not white space, without using it up."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = self._at if space is None else space.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                if at_end:
                    return ""
                raise self._cut_off()

    def _cut_off(self) -> ValueError:
        """The error for a file that ends too early."""
        return self.fault("the file ends in the middle; it was cut off: fetch it again")

    def _expect(self, mark: str) -> None:
        """Use up one character."""
        found = self._next()
        if found != mark:
            raise self.fault(f'expected {mark} of {{"id": [numbers], ...}}, got {shown(found)}')
        self._at += 1

    def _until(self, mark: str) -> str:
        """The text before the mark; uses up both."""
        start = 0
        while (end := self._text.find(mark, self._at + start)) < 0:
            start = len(self._text) - self._at
            if not self._more("a list"):
                raise self._cut_off()
        body = self._text[self._at : end]
        self._at = end + 1
        return body

    def _string(self) -> str:
        """A JSON string."""
        if self._next() != '"':
            raise self.fault(f"expected an id in double quotes, got {shown(self._next())}")
        while (match := _STRING.match(self._text, self._at)) is None:
            if not self._more("an id"):
                raise self._cut_off()
        self._at = match.end()
        try:
            return str(json.loads(match[0]))
        except json.JSONDecodeError as error:
            raise self.fault(f"broken id ({error.msg})") from error
