"""Binary and JSON files, gzip read transparently, with errors that name the file."""

from __future__ import annotations

import contextlib
import gzip
import json
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from srd_gym.files import PathLike, existing_file

_GZIP_MAGIC = b"\x1f\x8b"
_SHOWN = 80


class DataNotice(UserWarning):
    """Something about the data that the user should read but that stops nothing: documents dropped, columns ignored.

    Raised as a warning, so that a library user may silence it or turn it into an error, and a command can print it.
    """


def notice(text: str) -> None:
    """Tell the user; the warning points at the caller of the loader, not at this file."""
    warnings.warn(text, DataNotice, stacklevel=3)


def shown(value: str) -> str:
    """The value as a Python literal (control characters escaped), cut to a length that fits an error message."""
    return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}...")


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


def read_json_object(path: PathLike, what: str) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not JSON, not an object at the top, or a key that comes twice in one object.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"{what}: {path}: key {shown(twice)} comes twice in one object; keep one of them")
        return result

    with open_binary(path, what) as stream:
        try:
            value = json.loads(stream.read(), object_pairs_hook=once)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{what}: {path}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError(f"{what}: {path}: expected a JSON object {{...}}, got a {type(value).__name__}")
    return value


def with_optional_gz(folder: PathLike, name: str) -> Path | None:
    """`folder/name` or `folder/name.gz`, whichever exists; the plain file where both do."""
    for candidate in (Path(folder) / name, Path(folder) / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    return None


def existing_folder(path: PathLike, what: str) -> Path:
    """The path, if it is a folder.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: a file.
    """
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(f"{what}: no folder at {found}; check the path")
    if not found.is_dir():
        raise ValueError(f"{what}: {found} is a file; expected the folder that holds the data set's files")
    return found
