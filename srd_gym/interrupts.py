"""Signals that ask a process to stop: `kill` and a closed terminal interrupt as Ctrl-C does, at a moment that suits."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a process to stop; Windows has no SIGHUP."""


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
def handlers_kept() -> Iterator[None]:
    """Keep the handlers of `stopped_by_signals` after the block, whatever libraries do with signals in it."""
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

    Where the block ends by an error, an interrupt that waits is raised in its place.

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

    try:
        with _handled(hold_back, (signal.default_int_handler, _stop)):
            yield let_through
    except Exception:
        let_through()
        raise
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
