"""The commit that a result is stamped with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from srd_train.experiment import provenance


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with the module where it belongs, and a page."""
    module = tmp_path / "train" / "srd_train" / "experiment" / "provenance.py"
    for path in (module, tmp_path / "docs" / "results" / "smoke.md"):
        path.parent.mkdir(parents=True)
        path.write_text("one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "First")
    monkeypatch.setattr(provenance, "__file__", str(module))
    monkeypatch.setattr(provenance, "commit", provenance.commit.__wrapped__)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    """What git answers."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize(("file", "mark"), [
    ("docs/results/smoke.md", ""),
    ("docs/results/new.md", ""),
    ("train/srd_train/experiment/provenance.py", "+changes"),
    ("train/srd_train/recipes/new.toml", "+changes"),
    ("agents/new.py", "+changes"),
])  # fmt: skip
def test_changed_code_or_recipes_are_marked_and_changed_pages_are_not(checkout: Path, file: str, mark: str) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert provenance.commit() == head
    path = checkout / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("two")
    assert provenance.commit() == head + mark


def test_a_file_that_no_checkout_tracks_has_no_commit(checkout: Path) -> None:
    git(checkout, "rm", "-rq", "--cached", "train")
    assert provenance.commit() is None
