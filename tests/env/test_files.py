"""Files are written whole or not at all, nothing that is no file is replaced, and a stop waits until it suits."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from srd_gym import files
from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.files import PARTIAL, STOPS, Stopped, held_back, kept, number_of, stopped_by_signals, written_atomically

resource = pytest.importorskip("resource", reason="Windows has no such files and signals")


def write(path: Path | str, text: str = "new") -> None:
    with written_atomically(path) as temporary:
        temporary.write_text(text)


def partials(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.endswith(PARTIAL)]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_names_is_replaced(tmp_path: Path, there: bool) -> None:
    real, link, further = tmp_path / "disk" / "real", tmp_path / "link", tmp_path / "further"
    real.parent.mkdir()
    if there:
        real.write_text("old")
        before = real.stat().st_ino
    link.symlink_to(Path("disk") / "real")
    further.symlink_to(link)
    write(further)
    assert link.is_symlink()
    assert further.is_symlink()
    assert real.read_text() == "new"
    assert not there or real.stat().st_ino != before, "replaced, not written over"
    assert not partials(tmp_path)


@pytest.mark.parametrize("how", [write, lambda path: write_topics(path, generate("tiny", n_topics=3))])
def test_a_pipe_gets_the_bytes_and_stays(tmp_path: Path, how: Callable[[Path], None]) -> None:
    pipe, plain, read = tmp_path / "pipe", tmp_path / "new" / "plain", []
    os.mkfifo(pipe)
    with pytest.raises(KeyError), written_atomically(pipe) as temporary:  # what fails waits for no reader
        raise KeyError(temporary.write_text("half"))
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    how(pipe)
    reader.join(timeout=10)
    how(plain)
    assert read == [plain.read_bytes()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert not partials(tmp_path)


def test_a_device_is_written_to_and_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a device must never be replaced")

    words = "from srd_gym.data import write_run; write_run('/dev/stdout', [('1', ['a'])], tag='t')"
    done = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, timeout=60)
    assert done.stdout.startswith(b"1 Q0 a 1 "), "standard output can be the file"
    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(Path, "chmod", refuse)
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    for device in (Path("/dev/null"), link):
        write(device)
        assert stat.S_ISCHR(device.stat().st_mode)
    assert link.is_symlink()


def test_errors_name_the_file_that_they_are_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    for name in ("here", ".", "here/"):
        with pytest.raises(ValueError, match=rf"^{Path(name)} is a folder; give the name of a file"):
            write(name)
    assert os.listdir() == ["here"]
    Path("a").symlink_to("b")
    Path("b").symlink_to("a")
    for name, message in (("a", "symbolic links"), ("/dev/full", "No space left")):
        with pytest.raises(OSError, match=message) as caught:
            write(name)
        assert caught.value.filename == name
    assert Path("a").is_symlink()
    with pytest.raises(FileNotFoundError) as caught, written_atomically("run"):
        Path("input").read_text()
    assert caught.value.filename == "input"


@pytest.mark.parametrize("words", [
    "write_run(path, ((str(i), ['a' * 20]) for i in range(10000)), tag='t')",
    "write_topics(path, generate('serp', n_topics=300))",
])  # fmt: skip
def test_a_limit_of_the_system_names_the_file(tmp_path: Path, words: str) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    path = tmp_path / "f"
    code = f"import sys; from srd_gym.data import generate, write_run, write_topics; path = sys.argv[1]; {words}"
    run = [sys.executable, "-c", code, path]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, preexec_fn=limited)
    assert f"File too large: '{path}'" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(files.fcntl is None, reason="needs locks")
def test_a_disk_without_locks_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "no locks")))
    with files.held(tmp_path), files.held(tmp_path):
        (tmp_path / "made").touch()


def test_what_killed_processes_left_goes_and_what_others_write_stays(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom srd_gym.files import written_atomically\nwith written_atomically(sys.argv[1]) as to:\n"
        "    to.write_text('half')\n    print(flush=True)\n    time.sleep(60)"
    )
    path, other = tmp_path / "x", tmp_path / "y"

    def begun(path: Path) -> subprocess.Popen[bytes]:
        run = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
        run.stdout.readline()
        return run

    for killed in (path, path, other):
        with begun(killed) as run:
            run.send_signal(signal.SIGKILL)
    # Another writer has removed what the first one left.
    assert sorted(name[:3] for name in partials(tmp_path)) == [".x.", ".y."]
    with begun(path) as running:
        write(path)
        assert sorted(name[:3] for name in partials(tmp_path)) == [".x.", ".y."]
        running.send_signal(signal.SIGKILL)
    write(path)
    write(other)
    assert sorted(os.listdir(tmp_path)) == ["x", "y"]


# Being asked to stop


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


def test_a_second_ctrl_c_does_not_wait_and_other_signals_do() -> None:
    again = ["SIGTERM", "SIGHUP", "SIGHUP", "stopped by SIGINT"]
    assert updates(signal.SIGTERM, signal.SIGHUP, signal.SIGHUP, signal.SIGINT, suits=False) == again
    with held_back():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "without the command termination is not held back"


def test_what_libraries_make_of_signals_does_not_last() -> None:
    def exit_by(number: int) -> None:
        with stopped_by_signals(), kept():
            signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
            send(number)

    with pytest.raises(Stopped) as caught:
        exit_by(signal.SIGTERM)
    assert caught.value.number == signal.SIGTERM
    with stopped_by_signals():
        with kept():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with pytest.raises(Stopped):
            send(signal.SIGTERM)
    with pytest.raises(SystemExit, match="2"), kept():
        sys.exit(2)
    with kept():  # nobody's signals but ours
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
