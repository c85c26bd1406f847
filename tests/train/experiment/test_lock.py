"""A folder of results is locked by one run at a time, and by none that was killed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import filelock
import pytest
from small_topics import refused

from srd_train.experiment.lock import locked

_HOLD = """
import sys, time
from pathlib import Path
from srd_train.experiment.lock import locked
with locked(Path(sys.argv[1])):
    print(flush=True)
    time.sleep(60)
"""


def enter(folder: Path) -> None:
    with locked(folder):
        pass


def test_a_killed_run_leaves_no_lock(tmp_path: Path) -> None:
    out = tmp_path / "results" / "mine"
    with subprocess.Popen([sys.executable, "-c", _HOLD, out], stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        refused(lambda: enter(out), f"is writing to {out}; .* another --out")
        run.kill()
    with locked(out):
        (out / "made").touch()
    assert "made" in os.listdir(out)


def test_a_run_that_makes_nothing_leaves_nothing(tmp_path: Path) -> None:
    enter(tmp_path / "results" / "mine")
    assert os.listdir(tmp_path) == []
    (tmp_path / "old").touch()
    refused(lambda: enter(tmp_path / "old"), "old is a file; give a folder to write to")
    enter(tmp_path)
    assert os.listdir(tmp_path) == ["old"]
    with pytest.raises(KeyboardInterrupt), locked(tmp_path / "mine"):
        raise KeyboardInterrupt((tmp_path / "mine" / "made").touch())
    with locked(tmp_path / "mine"):
        refused(lambda: enter(tmp_path / "mine"), "another run is writing")
    assert (tmp_path / "mine" / "made").exists()


@pytest.mark.parametrize("error", [OSError(errno.ENOLCK, "no locks"), NotImplementedError()])
def test_a_disk_without_locks_locks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(filelock.FileLock, "_acquire", Mock(side_effect=error))
    with locked(tmp_path), locked(tmp_path):
        (tmp_path / "made").touch()


def test_the_lock_of_a_killed_run_goes_with_the_next(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLD, tmp_path], stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        run.kill()
    assert os.listdir(tmp_path) == [".lock"]
    enter(tmp_path)
    assert os.listdir(tmp_path) == []
