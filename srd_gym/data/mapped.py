"""Arrays that stay on disk, in a temporary file that is mapped into memory where they are in use."""

from __future__ import annotations

import mmap
import tempfile
from weakref import WeakValueDictionary, finalize

import numpy as np
from numpy.typing import NDArray

from srd_gym.dtypes import AnyArray

CHUNK = 2**26
"""Bytes that are mapped together: systems bound the number of maps."""
_ALIGNED = 8
"""An array begins at a multiple of so many bytes."""


class MappedFile:
    """A temporary file for arrays; a chunk of it is mapped while arrays in it are used.

    The system keeps in memory what it has room for. The file has no name: it goes with the last of its arrays, however
    that ends.
    """

    def __init__(self) -> None:
        self.folder = tempfile.gettempdir()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
        finalize(self, self._file.close)
        self._begin = self._end = self._next = 0
        self._mapped = WeakValueDictionary[int, NDArray[np.uint8]]()
        self._latest: NDArray[np.uint8] | None = None
        """Stays mapped, as the next array often lies in the same chunk."""

    def stored(self, array: AnyArray) -> StoredArray:
        """Write an array to the file; `flush` follows the last of several.

        Raises:
            OSError: the disk is full.
        """
        size = -(-array.nbytes // _ALIGNED) * _ALIGNED
        if self._next + size > self._end:
            self._begin = self._next = self._end
            self._end += -(-size // CHUNK) * CHUNK
            self._file.truncate(self._end)
            self._file.seek(self._begin)
        self._file.write(np.ascontiguousarray(array).data)
        self._file.write(bytes(size - array.nbytes))
        made = StoredArray(self, (self._begin, self._end), self._next - self._begin, array)
        self._next += size
        return made

    def flush(self) -> None:
        """Let what was written be read."""
        self._file.flush()

    def chunk(self, begin: int, end: int) -> NDArray[np.uint8]:
        """Bytes of the file, mapped."""
        pages = self._mapped.get(begin)
        if pages is None:
            made = mmap.mmap(self._file.fileno(), end - begin, access=mmap.ACCESS_READ, offset=begin)
            self._mapped[begin] = pages = np.frombuffer(made, np.uint8)
        self._latest = pages
        return pages


class StoredArray:
    """An array of a `MappedFile`."""

    __slots__ = ("_chunk", "_dtype", "_file", "_offset", "_shape")

    def __init__(self, file: MappedFile, chunk: tuple[int, int], offset: int, array: AnyArray) -> None:
        self._file, self._chunk, self._offset = file, chunk, offset
        self._dtype, self._shape = array.dtype, array.shape

    def read(self) -> AnyArray:
        """The array, read-only."""
        pages = self._file.chunk(*self._chunk)[self._offset :]
        return np.ndarray(self._shape, self._dtype, pages)
