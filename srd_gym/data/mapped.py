"""Arrays that stay on disk, in a temporary file that is mapped into memory."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

_MAPPED = 2**30
"""Bytes that are mapped together: systems bound the number of maps."""
_ALIGNED = 8
"""An array begins at a multiple of so many bytes."""


class MappedFile:
    """A temporary file for arrays, mapped: the system keeps in memory what it has room for.

    It has no name: it goes with the last of its arrays, however that ends.
    """

    def __init__(self) -> None:
        self.folder = tempfile.gettempdir()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close; the maps outlive it)
        self._room = np.empty(0, np.uint8)
        self._next = 0

    def close(self) -> None:
        """Nothing more is written; the arrays stay."""
        self._file.close()

    def moved_all(self, arrays: Sequence[NDArray[T] | None]) -> list[NDArray[T] | None]:
        """The same arrays, from the file.

        Raises:
            OSError: the disk is full.
        """
        mapped = [None if array is None else self._moved(array) for array in arrays]
        self._file.flush()
        return mapped

    def moved(self, array: NDArray[T]) -> NDArray[T]:
        """`moved_all` of one array."""
        mapped = self._moved(array)
        self._file.flush()
        return mapped

    def _moved(self, array: NDArray[T]) -> NDArray[T]:
        """The array, from the file once that is flushed."""
        size = -(-array.nbytes // _ALIGNED) * _ALIGNED
        if size > len(self._room):
            room = -(-size // _MAPPED) * _MAPPED
            self._file.truncate(self._next + room)
            pages = mmap.mmap(self._file.fileno(), room, access=mmap.ACCESS_READ, offset=self._next)
            self._file.seek(self._next)
            self._room = np.frombuffer(pages, np.uint8)
            self._next += room
        self._file.write(np.ascontiguousarray(array).data)
        self._file.write(bytes(size - array.nbytes))
        mapped, self._room = self._room[: array.nbytes].view(array.dtype), self._room[size:]
        return mapped.reshape(array.shape)
