"""Reading files: one kind of error reports whatever is wrong with one.

Parsers raise what they like (zlib, Arrow, expat and numpy have some thirty kinds of errors between them); `reading` is
the one place that turns them into a ValueError that names the file, the place in it and what to do.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import re
import reprlib
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from srd_gym.dtypes import AnyArray
from srd_gym.files import PathLike

_PACKINGS: dict[str, tuple[bytes, Callable[[BinaryIO], Any] | None]] = {
    "gzip": (rb"\x1f\x8b", gzip.open),
    "xz": (rb"\xfd7zXZ\0", lzma.open),
    "bz2": (rb"BZh[1-9]1AY&SY", bz2.open),
    "zstd": (rb"\x28\xb5\x2f\xfd", None),
    "lz4": (rb"\x04\x22\x4d\x18", None),
    "7z": (rb"7z\xbc\xaf\x27\x1c", None),
}
"""Kinds of packed files -> their first bytes, and the reader that unpacks a stream; None: there is none here."""
_SHOWN = 80
_FEW = 3
_LISTED = 800
_BLOCK = 2**16


def existing_file(path: PathLike, what: str, *, pipe: bool = False) -> Path:
    """The path, if it is a file with something in it.

    Args:
        path: where to look.
        what: what the file should hold, for the error.
        pipe: a pipe or device will do too; whether something is in it shows when it is read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a folder, an empty file, or a pipe where none will do.
    """
    file = Path(path)
    if not os.path.exists(file):  # of a path that no file can have, Path.exists raises
        raise FileNotFoundError(f"{what}: no file at {shown_text(str(file))}; check the path")
    if file.is_dir():
        raise ValueError(f"{what}: {path} is a folder; expected a file")
    if not file.is_file() and not pipe:
        raise ValueError(f"{what}: {path} is a pipe or a device; expected a file: write it to one first")
    if file.is_file() and not file.stat().st_size:
        raise ValueError(f"{what}: {path} is empty; expected at least one line")
    return file


@dataclass(slots=True)
class Place:
    """Where in a file its reader is."""

    what: str
    """Kind of the file, as errors call it."""
    path: PathLike
    at: str = ""
    """Written behind the file's name, such as ", row 7"."""

    def __str__(self) -> str:
        return f"{self.what}: {self.path}{self.at}"


@contextlib.contextmanager
def reading(path: PathLike, what: str, expected: str, advice: str) -> Iterator[Place]:
    """Turn whatever is raised inside into one ValueError: "what: path, place: not expected (reason); advice".

    Our own errors that name the file already pass, and so do real errors of the system, such as a missing file or a
    failing disk, with the file's name.

    Args:
        path: the file, or the folder of files.
        what: what it should hold.
        expected: how errors call such a file, as in "not a whole Parquet file".
        advice: what the user can do.

    Yields:
        The place, for the reader to write to.
    """
    place = Place(what, path)
    try:
        yield place
    except ImportError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and _of_the_system(error):
            if error.errno is not None and error.filename is None:
                error.filename = str(path)
            raise
        if type(error) is ValueError and _names(str(error), str(path), what):
            raise
        raise ValueError(f"{place}: {_fault(error, path, expected, advice)}") from error


def _names(text: str, path: str, what: str) -> bool:
    """Whether an error says which file it is about; a file may have a name that is a word of any error, such as "a"."""
    return text.startswith((f"{what}: {path}", path)) or ("/" in path and path in text)


def _fault(error: Exception, path: PathLike, expected: str, advice: str) -> str:
    """The reason why a parser stumbled over a file, and what to do."""
    with Path(path).open("rb") if Path(path).is_file() else io.BytesIO() as stream:
        packing, unpack = _packing(stream.read(16))
    if packing and unpack is None:
        return f"compressed by {packing}, and only gzip, xz and bz2 are unpacked here: unpack it first"
    if packing and isinstance(error, OSError | EOFError | zlib.error | lzma.LZMAError):
        return f"broken {packing} file, or a file that was cut off ({error}); {advice}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text ({error.reason}); save it as UTF-8, or {advice}"
    return f"not {expected} ({_reason(error)}); {advice}"


def _packing(start: bytes) -> tuple[str, Callable[[BinaryIO], Any] | None]:
    """The kind of packed file with these first bytes, and the reader that unpacks it; "" where it is none."""
    found = (packing for packing, (magic, _) in _PACKINGS.items() if re.match(magic, start))
    packing = next(found, "")
    return packing, _PACKINGS[packing][1] if packing else None


def _of_the_system(error: OSError) -> bool:
    """Whether the disk or a missing file is at fault, not what is in the file (Arrow says OSError to that, too)."""
    return not isinstance(error, gzip.BadGzipFile) and (error.errno is not None or type(error) is not OSError)


def _reason(error: Exception) -> str:
    """Message of a parser in one line; the error's kind where it has none of use."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, MemoryError):
        return f"too large for the memory of this machine {error}".strip()
    text = shown_text(" ".join(str(error).split()))
    return text if isinstance(error, ValueError | OSError) and text else f"{type(error).__name__}: {text}"


def shown_text(text: str, length: int = 4 * _SHOWN) -> str:
    """The text, cut to a length that fits an error message."""
    return text if len(text) <= length else f"{text[:length]}..."


class _Plain(reprlib.Repr):
    """Writes what numpy's numbers, texts and arrays hold, as Python writes it."""

    def repr1(self, x: object, level: int) -> str:
        if isinstance(x, np.ndarray) and x.ndim:
            x = list(x[: self.maxlist + 1])
        return super().repr1(x.item() if isinstance(x, np.ndarray | np.generic) else x, level)


def shown(value: object) -> str:
    """A value as Python writes it (control characters escaped), cut to a length that fits an error message.

    Of a large list, table or array only the first entries are looked at; numbers of numpy are those of Python.
    """
    if isinstance(value, str):
        return repr(shown_text(str.__str__(value), _SHOWN))
    try:
        return shown_text(_Plain().repr(value), _SHOWN)
    except ValueError:  # Python writes no whole number of so many digits
        return f"{type(value).__name__} too long to show"


def plain(value: object) -> Any:
    """A number or text of numpy as Python's own, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def kind_of(value: object) -> str:
    """The type of a value in Python's words: "float" of any of numpy's, "array of shape (2,)"."""
    return f"array of shape {value.shape}" if isinstance(value, np.ndarray) else type(plain(value)).__name__


def with_type(value: object) -> str:
    """A value and its type, for errors: "1.5 (float)"."""
    return f"{shown(value)} ({kind_of(value)})"


def few(names: Collection[object], most: int = _FEW) -> str:
    """The first names, as many as fit an error message, and how many more there are."""
    first: list[str] = []
    for name in islice(names, most):
        first.append(shown_text(str(name), _SHOWN))
        if sum(map(len, first)) > _LISTED:
            break
    rest = len(names) - len(first)
    return ", ".join(first) + (f" and {rest:,} more" if rest else "")


def plain_float(text: str) -> float:
    """A number as it is written everywhere; Python's own reader takes 1_0 and digits of any script besides.

    Raises:
        ValueError: another text.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"could not convert string to float: {shown(text)}")
    return float(text)


@contextlib.contextmanager
def open_binary(
    path: PathLike, what: str, expected: str = "such a file", advice: str = "fetch it again"
) -> Iterator[BinaryIO]:
    """The bytes of a file or pipe, unpacked where gzip, xz or bz2 packed it (told by its first bytes).

    Errors raised inside are `reading`'s.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a folder, an empty file, or a broken packed stream.
    """
    with reading(path, what, expected, advice), _opened(path, what) as stream:
        yield stream


@contextlib.contextmanager
def _opened(path: PathLike, what: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file or pipe, unpacked where it is packed."""
    with existing_file(path, what, pipe=True).open("rb") as stream:
        _, unpack = _packing(stream.peek(16))
        yield stream if unpack is None else io.BufferedReader(unpack(stream), _BLOCK)


def numbered_lines(path: PathLike, what: str) -> Iterator[tuple[int, str]]:
    """The lines of a text file or pipe, plain or packed by gzip, xz or bz2, with their numbers from 1.

    Args:
        path: the file; read as a stream, so that its size does not matter.
        what: what the file should hold, for the errors.

    Yields:
        (line number, line without its line end).

    Raises:
        FileNotFoundError: no such file.
        ValueError: a folder, an empty file, a broken packed stream, or text that is not UTF-8.
    """
    for first, block in numbered_blocks(path, what):
        for number, line in enumerate(block.removesuffix("\n").split("\n"), start=first):
            yield number, line.rstrip("\r")


def numbered_blocks(path: PathLike, what: str) -> Iterator[tuple[int, str]]:
    """As `numbered_lines`, many lines at a time: the number of the first of them, and whole lines with their ends.

    Only a line feed ends a line: a document id may hold a carriage return or a form feed.
    """
    number = 0
    with reading(path, what, "lines of text", "fetch it again") as place:
        try:
            with _opened(path, what) as stream:
                while block := stream.read1(_BLOCK):
                    if not block.endswith(b"\n"):
                        block += stream.readline()
                    text = block.decode("utf-8-sig" if number == 0 else "utf-8")
                    yield number + 1, text
                    number += block.count(b"\n") + (not block.endswith(b"\n"))
        except UnicodeDecodeError as error:
            number += block[: error.start].count(b"\n")
            raise
        finally:
            place.at = f", after line {number}" if number else ""
    if number == 0:
        raise ValueError(f"{what}: {path} is empty; expected at least one line")


def first_bytes(path: PathLike, what: str) -> bytes:
    """The first bytes of an existing, non-empty file, before any decompression: enough to tell its format."""
    with existing_file(path, what).open("rb") as stream:
        return stream.read(16)


def refuse_pickle(path: PathLike, what: str, advice: str) -> None:
    """Raise if the file begins like a pickle: reading one runs whatever code it holds.

    Raises:
        ValueError: a pickle of protocol 2 or later, or a file saved by torch; the message ends with `advice`.
    """
    if re.match(rb"\x80[\x02-\x05]", first_bytes(path, what)):
        raise ValueError(f"{what}: {path} is a pickle, which can run code when read and is refused; {advice}")


def json_value(text: str | bytes) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: no JSON, or a key that is duplicated in one object, which JSON's readers pass over in silence.
        RecursionError: nested too deeply.
    """
    value = json.loads(text, object_pairs_hook=_each_key_once)
    slash, half = (b"\\", b"\\ud") if isinstance(text, bytes) else ("\\", "\\ud")
    if slash in text and half in text.lower():  # type: ignore[operator]  # one character is found much faster
        json.dumps(value, ensure_ascii=False).encode()  # half of a character, which no file can hold, is refused
    return value


def json_line(line: str, place: str) -> Any:
    """The value of a line of JSON.

    Raises:
        ValueError: it is not JSON; the message begins with its place.
    """
    try:
        return json_value(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: not JSON ({error}): {shown(line)}; expected one object per line") from error


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these pairs."""
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = twice_in([key for key, _ in pairs])
        raise ValueError(f"key {shown(twice)} is duplicated in one object; keep one of them")
    return result


def twice_in(names: Sequence[str]) -> str | None:
    """The name that comes most often, if one is duplicated."""
    return Counter(names).most_common(1)[0][0] if len(set(names)) < len(names) else None


def read_json_object(path: PathLike, what: str, advice: str = "fetch it again") -> dict[str, object]:
    """The JSON object that a file holds, plain or gzip.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not JSON, not an object at the top, or a key that is duplicated in one object.
    """
    with open_binary(path, what, "JSON", advice) as stream:
        value = json_value(stream.read())
    if not isinstance(value, dict):
        raise ValueError(f"{what}: {path}: expected a JSON object {{...}}, got a {type(value).__name__}; {advice}")
    return value


@contextlib.contextmanager
def open_npz(path: PathLike, what: str, advice: str) -> Iterator[Mapping[str, AnyArray]]:
    """The arrays of an .npz file by name, each read when it is asked for; objects would need pickle and are refused.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no such file of plain arrays.
    """
    with (
        reading(path, what, "a whole .npz file of plain arrays", advice),
        np.load(existing_file(path, what), allow_pickle=False) as arrays,
    ):
        yield arrays
