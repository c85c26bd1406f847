"""Numbers that stay on disk: in a temporary file that is mapped, so that those in use take memory and the rest none.

Pages that were looked at count as memory of the process until it gives them back: `looked_at` does so now and then.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 2**27
"""Bytes that may be looked at before pages are given back."""

_maps: list[weakref.ref[mmap.mmap]] = []
_seen = 0


class MappedFile:
    """A temporary file for arrays of float32. It has no name: it goes with the last of its arrays, however that ends.

    Used as a context manager: the block writes, and the arrays stay.

    Args:
        numbers: how many it has room for, at least one.
        what: whose numbers they are, for errors.

    Raises:
        ValueError: the folder for temporary files has too little room.
    """

    def __init__(self, numbers: int, what: str) -> None:
        self.folder, size = tempfile.gettempdir(), 4 * numbers
        free = shutil.disk_usage(self.folder).free
        if free < size:
            raise ValueError(
                f"{what}: the vectors need a temporary file of {size:,} bytes, but {self.folder} has {free:,} left; "
                "make room, or set TMPDIR to a folder that has it"
            )
        self._what, self._end = what, 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__; the map outlives it)
        self._file.truncate(size)
        pages = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ)
        self._numbers = np.frombuffer(pages, np.float32)
        _maps.append(weakref.ref(pages, _maps.remove))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def moved(self, arrays: Sequence[NDArray[np.float32] | None]) -> list[NDArray[np.float32] | None]:
        """The same arrays, flat and from the file.

        Raises:
            ValueError: more numbers than there is room for.
            OSError: the disk is full.
        """
        start, ends = self._end, []
        for array in arrays:
            self._end += 0 if array is None else array.size
            ends.append(self._end)
        if self._end > len(self._numbers):
            raise ValueError(f"{self._what}: more vectors than its footer says; write it again")
        for array in arrays:
            if array is not None:
                self._file.write(np.ascontiguousarray(array).data)
        self._file.flush()
        looked_at(4 * (self._end - start))
        starts = [start, *ends[:-1]]
        return [
            None if array is None else self._numbers[low:high]
            for array, low, high in zip(arrays, starts, ends, strict=True)
        ]


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
        for reference in _maps:
            pages = reference()
            if pages is not None and hasattr(mmap, "MADV_DONTNEED"):  # Windows trims by itself
                pages.madvise(mmap.MADV_DONTNEED)
