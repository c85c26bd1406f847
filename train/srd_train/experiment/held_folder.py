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
        folder: created where missing.

    Raises:
        ValueError: another run holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
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
        lock.release()
