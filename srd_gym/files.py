"""Files, safely: gzip read transparently, and nothing ever half written."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

PathLike = str | os.PathLike[str]

_GZIP_MAGIC = b"\x1f\x8b"

PARTIAL = ".partial"
"""How the names of files end that are being written."""


def existing_file(path: PathLike, what: str) -> Path:
    """The path, if it is a file with something in it.

    Args:
        path: where to look.
        what: what the file should hold, for the error.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a folder, or an empty file.
    """
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(f"{what}: no file at {found}; check the path")
    if found.is_dir():
        raise ValueError(f"{what}: {found} is a folder; expected a file")
    if found.stat().st_size == 0:
        raise ValueError(f"{what}: {found} is empty; expected at least one line")
    return found


def first_bytes(path: PathLike, what: str, count: int = 16) -> bytes:
    """The first bytes of an existing, non-empty file, before any decompression: enough to tell its format."""
    with existing_file(path, what).open("rb") as stream:
        return stream.read(count)


def refuse_pickle(path: PathLike, what: str, advice: str) -> None:
    """Raise if the file begins like a pickle: reading one runs whatever code it holds.

    Raises:
        ValueError: a pickle of protocol 2 or later, or a file saved by torch; the message ends with `advice`.
    """
    start = first_bytes(path, what)
    if start[:1] == b"\x80" and start[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}:
        raise ValueError(f"{what}: {path} is a pickle, which can run code when read and is refused; {advice}")


@contextlib.contextmanager
def open_binary(path: PathLike, what: str) -> Iterator[BinaryIO]:
    """The bytes of a file, plain or gzip (told by its first bytes).

    Raises:
        FileNotFoundError: no such file.
        ValueError: a folder, an empty file, or a broken gzip stream.
    """
    found = existing_file(path, what)
    zipped = first_bytes(found, what, 2) == _GZIP_MAGIC
    try:
        with gzip.open(found, "rb") if zipped else found.open("rb") as stream:
            yield cast(BinaryIO, stream)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{what}: {found}: broken gzip file ({error}); fetch it again") from error


def numbered_lines(path: PathLike, what: str) -> Iterator[tuple[int, str]]:
    """The lines of a text file, plain or gzip (told by its first bytes), with their numbers from 1.

    Args:
        path: the file; read as a stream, so that its size does not matter.
        what: what the file should hold, for the errors.

    Yields:
        (line number, line without its line end).

    Raises:
        FileNotFoundError: no such file.
        ValueError: a folder, an empty file, a broken gzip stream, or text that is not UTF-8.
    """
    found = existing_file(path, what)
    with found.open("rb") as raw:
        zipped = raw.read(2) == _GZIP_MAGIC
    number = 0
    try:
        # newline="\n": a document id may hold a carriage return or a form feed; only \n ends a line.
        with gzip.open(found, "rb") if zipped else found.open("rb") as stream:
            for number, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n"), start=1):
                yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{what}: {found}, after line {number}: not UTF-8 text ({error.reason})") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{what}: {found}, after line {number}: broken gzip file ({error}); fetch it again") from error
    if number == 0:
        raise ValueError(f"{what}: {found} is empty; expected at least one line")


@contextlib.contextmanager
def written_atomically(path: PathLike) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when it does not.

    A reader sees the old file or the new one, never a part; a full disk or an interrupt leaves the old one.

    Yields:
        The temporary path, in the same folder (created where missing).
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=PARTIAL, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The permissions that new files are denied (mkstemp grants only the owner)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
