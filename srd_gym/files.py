"""Files that are written whole or not at all, in place of what was there or not."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

PARTIAL = ".partial"
"""End of the names of files that are being written."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors of writing that name no file."""


@contextlib.contextmanager
def written_atomically(path: PathLike) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when it does not.

    A reader sees the old file or the new one, never a part; a full disk or an interrupt leaves the old one. A link
    stays: the file that it names is replaced. What is no file (a pipe, a device) is never replaced: it is given the
    bytes once they are complete. Temporary files of processes that were killed while writing to `path` are removed.

    Yields:
        The temporary path, in the same folder (created where missing).

    Raises:
        ValueError: a folder, or text that UTF-8 cannot hold.
        OSError: it cannot be written; the error names `path`.
    """
    target = _replaced_or_fed(path)
    regular = target.is_file() or not target.exists()
    folder = target.parent if regular else Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _temporary(folder, target.name) as temporary:
            yield temporary
            if regular:
                _take_place(temporary, target)
            else:
                with temporary.open("rb") as written, target.open("wb") as stream:
                    shutil.copyfileobj(written, stream)
    except OSError as error:
        if (error.errno in _FULL and error.filename is None) or str(error.filename).endswith(PARTIAL):
            error.filename = os.fspath(path)
        raise
    except UnicodeEncodeError as error:
        around = error.object[max(0, error.start - 20) : error.end + 20]
        raise ValueError(
            f"{os.fspath(path)!r} cannot be written: {around!r} holds half a character (a lone surrogate), which UTF-8 "
            "has no bytes for; replace it"
        ) from error


def _replaced_or_fed(path: PathLike) -> Path:
    """End of a chain of links: the file to replace, or the target to write to where that is not a file.

    Raises:
        ValueError: a folder.
        OSError: links that lead to themselves.
    """
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder; give the name of a file to write")
    # Links to what is no file stay as they are: /dev/stdout leads to names that only the system can open.
    if target.is_symlink() and (target.is_file() or not target.exists()):
        target = Path(os.path.realpath(target))
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return target


def _take_place(temporary: Path, target: Path) -> None:
    """Put what is written, once it is on the disk, where the target is."""
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
    os.replace(temporary, target)


@contextlib.contextmanager
def _temporary(folder: Path, name: str) -> Iterator[Path]:
    """A new file of this process, gone after the block; those of processes that were killed are removed before it.

    A process locks its temporary file, and the system unlocks it however the process ends: unlike a process id in the
    name, that also holds in containers and on shared disks. Where files cannot be locked, none is removed.
    """
    prefix = f".{name}."
    with contextlib.suppress(OSError):
        _remove_left(entry for entry in folder.iterdir() if entry.name.startswith(prefix))
    made = folder / f"{prefix}{secrets.token_hex(4)}{PARTIAL}"
    with made.open("x") as stream:
        if not _locked(stream):
            stream.close()  # Windows replaces no open file
        try:
            yield made
        finally:
            made.unlink(missing_ok=True)


def _remove_left(entries: Iterable[Path]) -> None:
    """Remove the temporary files among these that no process holds."""
    for entry in entries:
        if entry.name.endswith(PARTIAL) and entry.is_file():
            with contextlib.suppress(OSError), entry.open("r+b") as stream:
                if _locked(stream):
                    entry.unlink()


def _locked(stream: IO[Any]) -> bool:
    """Lock an open file; False where another process has done so, or where files cannot be locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
