from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from srd_gym.data import generate, write_topics
from srd_gym.files import PARTIAL, written_atomically

pytest.importorskip("resource", reason="Windows has no such files")


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
    path = tmp_path / "f"
    code = "import resource, sys; from srd_gym.data import generate, write_run, write_topics; path = sys.argv[1]\n"
    code += f"resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); {words}"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=60)
    assert f"File too large: '{path}'" in done.stderr
    assert os.listdir(tmp_path) == []


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


def test_a_file_that_another_writer_makes_meanwhile_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, is_file = tmp_path / "x", Path.is_file

    def look(self: Path) -> bool:
        found = is_file(self)
        if self == path and not found:
            path.write_text("the other's")
            os.link(path, tmp_path / "kept")
        return found

    monkeypatch.setattr(Path, "is_file", look)
    write(path)
    assert path.read_text() == "new"
    assert not (tmp_path / "kept").exists() or (tmp_path / "kept").read_text() == "the other's"


def test_only_temporary_files_of_the_same_target_go(tmp_path: Path) -> None:
    names = [".x.0123abcd.partial", ".x.notes.partial", ".x.y.0123abcd.partial", ".x.0123abcd", "x.0123abcd.partial"]
    for name in names:
        (tmp_path / name).touch()
    write(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == sorted([*names[1:], "x"])


INTERRUPTED = """
import sys
from pathlib import Path

from srd_gym.files import written_atomically

target, moment, interrupted, ended_with = Path(sys.argv[1]), 0, True, set()
while interrupted:
    target.write_text("old")
    moment, left, interrupted = moment + 1, moment, False

    def interrupt(frame, event, _):
        global left
        frame.f_trace_opcodes = True
        left -= event in ("line", "opcode")
        if left < 0:
            raise KeyboardInterrupt
        return interrupt

    sys.settrace(interrupt)
    try:
        with written_atomically(target) as temporary:
            temporary.write_text("new")
    except KeyboardInterrupt:
        interrupted = True
    sys.settrace(None)
    assert [path.name for path in target.parent.iterdir()] == [target.name], moment
    ended_with.add(target.read_text())
assert ended_with == {"old", "new"}
"""


def test_an_interrupt_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    """Python handles signals between two instructions: one after the other is interrupted, from the first on."""
    # In a process of its own: what a trace raises may leave an exception behind in Python's own state.
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path / "a.txt"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
