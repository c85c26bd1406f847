"""Vectors that stay on disk, in a temporary file that is mapped into memory."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MAPPED = 2**30
"""Bytes that are mapped together: systems bound the number of maps."""


class MappedFile:
    """A temporary file for arrays of float32, mapped: the system keeps in memory what it has room for.

    It has no name: it goes with the last of its arrays, however that ends.
    """

    def __init__(self) -> None:
        self.folder = tempfile.gettempdir()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close; the maps outlive it)
        self._room = np.empty(0, np.float32)
        self._next = 0

    def close(self) -> None:
        """Nothing more is written; the arrays stay."""
        self._file.close()

    def moved(self, arrays: Sequence[NDArray[np.float32] | None]) -> list[NDArray[np.float32] | None]:
        """The same arrays, from the file.

        Raises:
            OSError: the disk is full.
        """
        mapped = [None if array is None else self._moved(array) for array in arrays]
        self._file.flush()
        return mapped

    def _moved(self, array: NDArray[np.float32]) -> NDArray[np.float32]:
        """The array, from the file once that is flushed."""
        if array.size > len(self._room):
            size = -(-array.nbytes // _MAPPED) * _MAPPED
            self._file.truncate(self._next + size)
            pages = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ, offset=self._next)
            self._file.seek(self._next)
            self._room = np.frombuffer(pages, np.float32)
            self._next += size
        self._file.write(np.ascontiguousarray(array).data)
        mapped, self._room = self._room[: array.size], self._room[array.size :]
        return mapped.reshape(array.shape)
