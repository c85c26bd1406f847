"""Nothing is lost: no file is half written, one run at a time holds a folder, and who is asked to stop ends first.

`kill` and a closed terminal interrupt as Ctrl-C does, at a moment that suits. Also: numbers that stay in a mapped file.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any, NoReturn
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

PARTIAL = ".partial"
"""How the names of files end that are being written."""

_LOCK = ".lock"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors of writing that name no file."""

AT_ONCE = 2**27
"""Bytes that may be looked at before pages are given back."""

_MAPPED = 2**30
"""Bytes that are mapped together: systems bound the number of maps."""

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a process to stop; Windows has no SIGHUP."""

_maps: WeakSet[mmap.mmap] = WeakSet()
_seen = 0


@contextlib.contextmanager
def written_atomically(path: PathLike) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when it does not.

    A reader sees the old file or the new one, never a part; a full disk or an interrupt leaves the old one. A link
    stays: the file that it names is replaced. What is no file (a pipe, a device) is never replaced: it is given the
    bytes once they are complete. Temporary files of processes that were killed while writing to `path` are removed.

    Yields:
        The temporary path, in the same folder (created where missing).

    Raises:
        ValueError: a folder, or text that UTF-8 cannot hold.
        OSError: it cannot be written; the error names `path`.
    """
    target = _replaced_or_fed(path)
    regular = target.is_file() or not target.exists()
    folder = target.parent if regular else Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _temporary(folder, target.name) as temporary:
            yield temporary
            if regular:
                _take_place(temporary, target)
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


@contextlib.contextmanager
def for_arrow(path: Path, mode: str) -> Iterator[Path | IO[bytes]]:
    """What Arrow reads ("rb") or writes ("wb"): the path, or the open file where its name is not UTF-8."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        with path.open(mode) as stream:
            yield stream
    else:
        yield path


def _replaced_or_fed(path: PathLike) -> Path:
    """What to replace, or where that is no file, what to write to: the end of links.

    Raises:
        ValueError: a folder.
        OSError: links that lead to themselves.
    """
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder; give the name of a file to write")
    # Links to what is no file stay as they are: /dev/stdout leads to names that only the system can open.
    if target.is_symlink() and (target.is_file() or not target.exists()):
        target = Path(os.path.realpath(target))
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return target


def _take_place(temporary: Path, target: Path) -> None:
    """Put what is written, once it is on the disk, where the target is."""
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
    os.replace(temporary, target)


@contextlib.contextmanager
def _temporary(folder: Path, name: str) -> Iterator[Path]:
    """A new file of this process, gone after the block; those of processes that were killed are removed before it.

    A process locks its temporary file, and the system unlocks it however the process ends: unlike a process id in the
    name, that also holds in containers and on shared disks. Where files cannot be locked, none is removed.
    """
    prefix = f".{name}."
    with contextlib.suppress(OSError):
        _remove_left(entry for entry in folder.iterdir() if entry.name.startswith(prefix))
    made = folder / f"{prefix}{secrets.token_hex(4)}{PARTIAL}"
    with made.open("x") as stream:
        if not _locked(stream):
            stream.close()  # Windows replaces no open file
        try:
            yield made
        finally:
            made.unlink(missing_ok=True)


def _remove_left(entries: Iterable[Path]) -> None:
    """Remove the temporary files among these that no process holds."""
    for entry in entries:
        if entry.name.endswith(PARTIAL) and entry.is_file():
            with contextlib.suppress(OSError), entry.open("r+b") as stream:
                if _locked(stream):
                    entry.unlink()


def _locked(stream: IO[Any]) -> bool:
    """Lock an open file; False where another process has done so, or where files cannot be locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder while the block runs; the system lets go of it however the process ends.

    Where files cannot be locked (Windows, some shared disks), nothing is held.

    Args:
        folder: created where missing; what was made for this goes again where the block itself makes nothing in it.

    Raises:
        ValueError: another run holds it.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in folder.iterdir()}
    with (folder / _LOCK).open("a") as stream:
        try:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(
                f"another run is writing to {folder}; wait for its end, or give this one another folder with --out"
            ) from error
        except OSError:
            pass  # a disk without locks
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # of a folder that holds something
                if {path.name for path in folder.iterdir()} - before == {_LOCK}:
                    (folder / _LOCK).unlink()
                for path in made:
                    path.rmdir()


class MappedFile:
    """A temporary file for arrays of float32, mapped: those in use take memory, the rest none.

    It has no name: it goes with the last of its arrays, however that ends. Pages that were looked at count as memory of
    the process until it gives them back: `looked_at` does so now and then.
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
        """The same arrays, flat and from the file.

        Raises:
            OSError: the disk is full.
        """
        found: list[NDArray[np.float32] | None] = []
        for array in arrays:
            if array is None:
                found.append(None)
                continue
            if array.size > len(self._room):
                self._map(array.size)
            self._file.write(np.ascontiguousarray(array).data)
            found.append(self._room[: array.size])
            self._room = self._room[array.size :]
            looked_at(array.nbytes)
        self._file.flush()
        return found

    def _map(self, numbers: int) -> None:
        """Make room for at least so many numbers at the end of the file."""
        size = -(-4 * numbers // _MAPPED) * _MAPPED
        self._file.truncate(self._next + size)
        pages = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ, offset=self._next)
        self._file.seek(self._next)
        self._room = np.frombuffer(pages, np.float32)
        self._next += size
        _maps.add(pages)


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


class Stopped(KeyboardInterrupt):
    """A signal asked the process to stop.

    Args:
        number: which.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_came: list[int] = []
"""Signals that `_stop` handled."""


def number_of(stop: KeyboardInterrupt) -> int:
    """The signal behind an interrupt; Ray raises one of its own for what a handler raised while it waited."""
    if isinstance(stop, Stopped):
        return stop.number
    return _came[-1] if _came else signal.SIGINT


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    """Handle a signal as Python handles Ctrl-C."""
    _came.append(number)
    raise Stopped(number)


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """In the block, the signals of `STOPS` raise `Stopped`, where nobody handles or ignores them (as `nohup` does)."""
    _came.clear()
    with _handled(_stop, (signal.SIG_DFL,)):
        yield


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """What `stopped_by_signals` handles is so after the block, too, whatever libraries do with signals in it."""
    with _handled(_stop, (_stop,)):
        try:
            yield
        except SystemExit as end:
            if end.code == signal.SIGTERM:  # what Ray's handler makes of it; other signals' numbers are codes of errors
                raise Stopped(signal.SIGTERM) from None
            raise


@contextlib.contextmanager
def held_back() -> Iterator[Callable[[], None]]:
    """Hold interrupts of the block back until one suits, at the latest until its end; a second Ctrl-C does not wait.

    A terminal that closes sends SIGHUP more than once, and service managers send SIGTERM and SIGHUP: these all wait.
    Where signals cannot be handled (other threads) or someone else handles them, nothing changes.

    Yields:
        A function to call where an interrupt suits: it raises the one that waits.
    """
    waiting: list[int] = []

    def hold_back(number: int, _frame: FrameType | None) -> None:
        if waiting and number == signal.SIGINT:
            raise Stopped(number)
        waiting.append(number)

    def let_through() -> None:
        if waiting:
            raise Stopped(waiting[0])

    with _handled(hold_back, (signal.default_int_handler, _stop)):
        yield let_through
    let_through()


@contextlib.contextmanager
def _handled(handler: Callable[[int, FrameType | None], None], instead: tuple[object, ...]) -> Iterator[None]:
    """Handle the signals in the block that have one of the handlers of `instead`."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in STOPS if signal.getsignal(number) in instead}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
