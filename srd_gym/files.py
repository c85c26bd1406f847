"""Files that are written whole or not at all, in place of what was there or not."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

PARTIAL = ".partial"
"""End of the names of files that are being written."""

_TEMPORARY = re.compile(rf"\.(.+)\.[0-9a-f]{{8}}{re.escape(PARTIAL)}")
"""Name of such a file, with that of its target."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors of writing that name no file."""


@contextlib.contextmanager
def written_atomically(path: PathLike) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when it does not.

    A reader sees the old file or the new one, never a part; a full disk or an interrupt leaves the old one. A link
    stays: the file that it names is replaced. What is no file (a pipe, a device) is never replaced: it is given the
    bytes once they are complete. Temporary files of processes that were killed while writing to `path` are removed.
    Any number of threads and processes may write to `path`: each has a temporary file of its own, and the last wins.

    Yields:
        The temporary path, in the same folder (created where missing).

    Raises:
        ValueError: a folder, or text that UTF-8 cannot hold.
        OSError: it cannot be written; the error names `path`.
    """
    target, regular = _replaced_or_fed(path)
    folder = target.parent if regular else Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _temporary(folder, target.name) as temporary:
            yield temporary
            if regular:
                with temporary.open("rb") as written:
                    os.fsync(written.fileno())
                os.replace(temporary, target)
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


def _replaced_or_fed(path: PathLike) -> tuple[Path, bool]:
    """End of a chain of links, and whether that is a file, or none yet, which is replaced; all else is written to.

    It is looked at once: another writer may make the file at any moment.

    Raises:
        ValueError: a folder.
        OSError: links that lead to themselves, or a place that cannot be looked at.
    """
    target = Path(path)
    try:
        mode = os.stat(os.fspath(target)).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise ValueError(f"{target} is a folder; give the name of a file to write")
    # Links to what is no file stay as they are: /dev/stdout leads to names that only the system can open.
    regular = stat.S_ISREG(mode)
    return Path(os.path.realpath(target)) if regular and target.is_symlink() else target, regular


@contextlib.contextmanager
def _temporary(folder: Path, name: str) -> Iterator[Path]:
    """A new file of this process, gone after the block; those of processes that were killed are removed before it.

    A process locks its temporary file, and the system unlocks it however the process ends: unlike a process id in the
    name, that also holds in containers and on shared disks. Where files cannot be locked, none is removed.
    """
    remove_left(folder, name)
    while True:
        made = folder / f".{name}.{secrets.token_hex(4)}{PARTIAL}"
        try:  # before it is made: an interrupt may come at any moment
            with made.open("x") as stream:
                if not _locked(stream, wait=True):
                    stream.close()  # Windows replaces no open file
                elif not made.exists():  # before it was locked, another writer took it for one that was left
                    continue
                yield made
                return
        finally:
            made.unlink(missing_ok=True)


def remove_left(folder: Path, name: str | None = None) -> None:
    """Remove the temporary files that no process holds.

    Args:
        folder: where they are.
        name: of the file that they were to become; None: any file.
    """
    with contextlib.suppress(OSError):
        for match in filter(None, map(_TEMPORARY.fullmatch, os.listdir(folder))):
            entry = folder / match[0]
            if name in (None, match[1]) and entry.is_file():
                with contextlib.suppress(OSError), entry.open("r+b") as stream:
                    if _locked(stream):
                        entry.unlink()


def _locked(stream: IO[Any], *, wait: bool = False) -> bool:
    """Lock an open file; False where somebody else has done so and is not waited for, or files cannot be locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
