"""The lock of a folder of results: one run at a time writes into it."""

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
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise ValueError(
            f"another run is writing to {folder}; wait for its end, or give this one another --out"
        ) from error
    except (OSError, NotImplementedError):  # a disk without locks
        pass
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows removes no open file, but filelock removes it there
            if {path.name for path in folder.iterdir()} - before <= {_LOCK}:
                (folder / _LOCK).unlink()
        lock.release()
        with contextlib.suppress(OSError):  # of a folder that holds something
            for path in made:
                path.rmdir()
