"""Vectors from a JSON object {id: [numbers]}, read as a stream: the file may be far larger than memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.data.attach import Missing, attach_vectors
from srd_gym.data.vectors import Part, VectorTable, read_vectors, table_of
from srd_gym.files import PathLike
from srd_gym.reading import open_binary, shown
from srd_gym.topic import TopicSet

_CHUNK = 2**20
_LONGEST = 2**24
"""Characters of one entry: what is longer is no such file, and is not read to its end to find out."""
_SPACE = re.compile(r"[ \t\r\n]*")
_ENTRY = re.compile(r'(?P<id>"[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\r\n]*:[ \t\r\n]*\[(?P<numbers>[^\]]*+)\]', re.DOTALL)


def attach_files(topics: TopicSet, documents: PathLike | None, queries: PathLike | None, missing: Missing) -> TopicSet:
    """The topics with vectors from files; None leaves a kind as it was.

    Args:
        topics: the topics.
        documents: vectors by document id, in any format of `read_any_vectors`.
        queries: vectors by query id or by query text, likewise.
        missing: as for `attach_vectors`.

    Raises:
        FileNotFoundError, ValueError: as `read_any_vectors` and `attach_vectors`.
    """
    wanted = {doc_id for topic in topics for doc_id in topic.doc_ids}
    asked = {*topics.query_ids, *(topic.query_text for topic in topics if topic.query_text is not None)}
    return attach_vectors(
        topics,
        None if documents is None else read_any_vectors(documents, only=wanted),
        queries=None if queries is None else read_any_vectors(queries, only=asked, part="query"),
        missing=missing,
    )


def read_any_vectors(path: PathLike, *, only: Collection[str], part: Part = "document") -> VectorTable:
    """Vectors of these ids from a JSON object {id: [numbers]} (plain or gzip) or any format of `read_vectors`.

    Args:
        path: the file; of a JSON object, about a megabyte at a time is held.
        only: the ids to keep; entries of a JSON object for others are passed over unparsed.
        part: as for `read_vectors`.

    Raises:
        FileNotFoundError: no such file.
        ValueError: as `read_vectors`; of a JSON object, the message gives the number of the entry.
    """
    with open_binary(path, "vectors") as stream:
        start = stream.read(64)
    if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
        return read_vectors(path, only=only, part=part)
    with open_binary(path, "vectors", "JSON") as raw:
        return table_of(path, _Reader(io.TextIOWrapper(raw, encoding="utf-8-sig"), path).entries(frozenset(only)))


class _Reader:
    """Walks through {"id": [...], ...} without ever holding the whole text."""

    def __init__(self, stream: io.TextIOWrapper, path: PathLike) -> None:
        self._stream = stream
        self._path = path
        self._text = ""
        self._at = 0
        self._entry = 0

    def entries(self, wanted: frozenset[str]) -> Iterator[tuple[str, str, NDArray[Any]]]:
        """Place, id and numbers of the wanted entries."""
        mark = self._next()
        if mark != "{":
            raise self._fault(f'expected {{"id": [numbers], ...}}, got {shown(mark)}')
        self._at += 1
        mark = self._next()
        while mark != "}":
            self._entry += 1
            entry = self._whole_entry()
            try:
                name = str(json.loads(entry["id"]))
                if name in wanted:
                    yield f", entry {self._entry}", name, np.array(json.loads(f"[{entry['numbers']}]"), np.float64)
            except (ValueError, TypeError, OverflowError, RecursionError) as error:
                raise self._fault(f'expected "id": [numbers], got {shown(entry[0])}: {error}') from error
            mark = self._next()
            if mark not in {",", "}"}:
                raise self._fault(f"expected a comma or the closing brace, got {shown(mark)}")
            if mark == ",":
                self._at += 1
                self._next()
        self._at += 1
        if self._next():
            raise self._fault(f"text after the closing brace: {shown(self._text[self._at :])}")

    def _fault(self, found: str) -> ValueError:
        """The error for what was found, with the place."""
        return ValueError(f"vectors: {self._path}, entry {self._entry}: {found}")

    def _more(self) -> bool:
        """Read on, forgetting what was used; False at the end of the file."""
        chunk = self._stream.read(_CHUNK)
        self._text = self._text[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def _next(self) -> str:
        """The next character that is not white space, without using it up; "" at the end of the file."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = self._at if space is None else space.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _whole_entry(self) -> re.Match[str]:
        """The next "id": [numbers]; uses it up."""
        while (entry := _ENTRY.match(self._text, self._at)) is None:
            start = shown(self._text[self._at :])
            if len(self._text) - self._at > _LONGEST:
                raise self._fault(f"a list that does not end within {_LONGEST:,} characters: {start}")
            if not self._more():
                raise self._fault(f'expected "id": [numbers], got {start}; was the file cut off?')
        self._at = entry.end()
        return entry
