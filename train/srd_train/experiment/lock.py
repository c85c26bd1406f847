"""Locks of folders of results and of files: one run at a time writes there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

_LOCK = ".lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder while the block runs; the system unlocks it however the process ends.

    On disks without locks, nothing is locked.

    Args:
        folder: created where missing; what was made for this goes again where the block itself makes nothing in it.

    Raises:
        ValueError: another run has locked it, or it is a file.
    """
    if folder.is_file():
        raise ValueError(f"{folder} is a file; give a folder to write to")
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in folder.iterdir()}
    try:
        with _held(folder / _LOCK, folder):
            try:
                yield
            finally:
                with contextlib.suppress(OSError):  # Windows removes no open file, but filelock removes it there
                    if {path.name for path in folder.iterdir()} - before == {_LOCK}:
                        (folder / _LOCK).unlink()
    finally:
        with contextlib.suppress(OSError):  # of a folder that holds something
            for path in made:
                path.rmdir()


@contextlib.contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """As `locked`, of a file that is written at the block's end, or not at all: the lock is a file beside it.

    Raises:
        ValueError: another run has locked it.
    """
    lock = path.with_name(f".{path.name}{_LOCK}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _held(lock, path):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()


@contextlib.contextmanager
def _held(lock_file: Path, what: Path) -> Iterator[None]:
    """Hold a lock; errors say what it is of."""
    lock = FileLock(lock_file)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise ValueError(
            f"another run is writing to {what}; wait for its end, or give this one another --out"
        ) from error
    except (OSError, NotImplementedError):  # a disk without locks
        pass
    try:
        yield
    finally:
        lock.release()
