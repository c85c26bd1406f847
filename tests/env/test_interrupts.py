from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from srd_gym.interrupts import STOPS, Stopped, handlers_kept, held_back, number_of, stopped_by_signals

pytest.importorskip("resource", reason="Windows has no such signals")


def send(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(0.001)  # the handler runs here


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_interrupt_in_the_block_only(number: int) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Stopped) as caught, stopped_by_signals():
        send(number)
    assert caught.value.number == number
    assert signal.getsignal(number) is before is signal.SIG_DFL


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
@pytest.mark.parametrize("number", STOPS)
def test_what_someone_ignores_or_handles_stays_so(number: int, handler: object) -> None:
    before = signal.signal(number, handler)
    try:
        with stopped_by_signals(), held_back() as let_through:
            assert signal.getsignal(number) is handler
            send(number)
            let_through()
    finally:
        signal.signal(number, before)


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def look() -> None:
        with stopped_by_signals(), held_back():
            seen.extend(signal.getsignal(number) for number in STOPS)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(number) for number in STOPS]


def updates(*numbers: int, suits: bool) -> list[str]:
    """What is done, when each update is interrupted by a signal."""
    done = []
    try:
        with stopped_by_signals(), held_back() as let_through:
            for number in numbers:
                send(number)
                done.append(signal.Signals(number).name)
                if suits:
                    let_through()
    except Stopped as stop:
        done.append(f"stopped by {signal.Signals(stop.number).name}")
    return done


@pytest.mark.parametrize("number", STOPS)
def test_an_interrupt_waits_until_it_suits_or_for_the_end(number: signal.Signals) -> None:
    assert updates(number, number, suits=True) == [number.name, f"stopped by {number.name}"]
    assert updates(number, suits=False) == [number.name, f"stopped by {number.name}"]


def test_an_interrupt_that_waits_goes_before_an_error() -> None:
    def fails() -> None:
        with stopped_by_signals(), held_back():
            send(signal.SIGTERM)
            raise ValueError

    with pytest.raises(Stopped) as caught:
        fails()
    assert isinstance(caught.value.__context__, ValueError)


def test_a_second_ctrl_c_does_not_wait_and_other_signals_do() -> None:
    again = ["SIGTERM", "SIGHUP", "SIGHUP", "stopped by SIGINT"]
    assert updates(signal.SIGTERM, signal.SIGHUP, signal.SIGHUP, signal.SIGINT, suits=False) == again
    with held_back():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "without the command termination is not held back"


def test_what_libraries_make_of_signals_does_not_last() -> None:
    def exit_by(number: int) -> None:
        with stopped_by_signals(), handlers_kept():
            signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
            send(number)

    with pytest.raises(Stopped) as caught:
        exit_by(signal.SIGTERM)
    assert caught.value.number == signal.SIGTERM
    with stopped_by_signals():
        with handlers_kept():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with pytest.raises(Stopped):
            send(signal.SIGTERM)
    with pytest.raises(SystemExit, match="2"), handlers_kept():
        sys.exit(2)
    with handlers_kept():  # nobody's signals but ours
        signal.signal(signal.SIGTERM, handler := lambda *_: None)
    assert signal.signal(signal.SIGTERM, signal.SIG_DFL) is handler


def test_a_signal_is_known_where_a_library_raises_an_interrupt_of_its_own() -> None:
    with stopped_by_signals():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            found = KeyboardInterrupt()
        assert number_of(found) == signal.SIGTERM
        assert number_of(Stopped(signal.SIGHUP)) == signal.SIGHUP
    with stopped_by_signals():
        assert number_of(KeyboardInterrupt()) == signal.SIGINT
