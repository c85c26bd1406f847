"""Files, safely: what is to be read is there, and nothing is ever half written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

PathLike = str | os.PathLike[str]

PARTIAL = ".partial"
"""How the names of files end that are being written."""


def existing_file(path: PathLike, what: str, *, pipe: bool = False) -> Path:
    """The path, if it is a file with something in it.

    Args:
        path: where to look.
        what: what the file should hold, for the error.
        pipe: a pipe or device will do too; whether something is in it shows when it is read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a path that no file can have, a folder, an empty file, or a pipe where none will do.
    """
    if "\0" in os.fspath(path):
        raise ValueError(f"{what}: {os.fspath(path)!r} holds a zero byte; no path can")
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(f"{what}: no file at {found}; check the path")
    if found.is_dir():
        raise ValueError(f"{what}: {found} is a folder; expected a file")
    if not found.is_file():
        if pipe:
            return found
        raise ValueError(f"{what}: {found} is a pipe or a device; expected a file: write it to one first")
    if found.stat().st_size == 0:
        raise ValueError(f"{what}: {found} is empty; expected at least one line")
    return found


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
