"""A folder that one process writes at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

_LOCK = ".lock"


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder while the block runs; the system lets go of it however the process ends.

    Args:
        folder: created where missing; what was made for this goes again where the block itself makes nothing in it.

    Raises:
        ValueError: another run holds it.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in folder.iterdir()}
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ValueError(
            f"another run is writing to {folder}; wait for its end, or give this one another folder with --out"
        ) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # of a folder that holds something
            if {path.name for path in folder.iterdir()} - before == {_LOCK}:
                (folder / _LOCK).unlink()
            for path in made:
                path.rmdir()
        lock.release()
