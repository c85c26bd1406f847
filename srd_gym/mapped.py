"""Numbers that stay on disk: in a temporary file that is mapped, so that those in use take memory and the rest none.

Pages that were looked at count as memory of the process until it gives them back: `looked_at` does so now and then.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Sequence
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 2**27
"""Bytes that may be looked at before pages are given back."""

_maps: WeakSet[mmap.mmap] = WeakSet()
_seen = 0


class MappedFile:
    """A temporary file for arrays of float32. It has no name: it goes with the last of its arrays, however that ends.

    Args:
        numbers: how many it has room for, at least one.
    """

    def __init__(self, numbers: int) -> None:
        self.folder = tempfile.gettempdir()
        self._end = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close; the map outlives it)
        self._file.truncate(4 * numbers)
        pages = mmap.mmap(self._file.fileno(), 4 * numbers, access=mmap.ACCESS_READ)
        self._numbers = np.frombuffer(pages, np.float32)
        _maps.add(pages)

    def close(self) -> None:
        """Nothing more is written; the arrays stay."""
        self._file.close()

    def moved(self, arrays: Sequence[NDArray[np.float32] | None]) -> list[NDArray[np.float32] | None]:
        """The same arrays, flat and from the file; short or empty where there is no room left.

        Raises:
            OSError: the disk is full.
        """
        found: list[NDArray[np.float32] | None] = []
        for array in arrays:
            if array is None:
                found.append(None)
                continue
            self._file.write(np.ascontiguousarray(array).data)
            found.append(self._numbers[self._end : self._end + array.size])
            self._end += array.size
            looked_at(array.nbytes)
        self._file.flush()
        return found


def looked_at(size: int) -> None:
    """Say that so many bytes, mapped or not, are read about now; pages that were read may be given back.

    What is given back comes again from the disk, or the system's cache, when it is next read: this is always safe.
    """
    global _seen
    if not _maps:
        return
    _seen += size
    if _seen > AT_ONCE:
        _seen = 0
        for pages in _maps:
            if hasattr(mmap, "MADV_DONTNEED"):  # Windows trims by itself
                pages.madvise(mmap.MADV_DONTNEED)
