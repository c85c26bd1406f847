"""The tuned settings in docs/third_party/ train, if only for a moment, and their curves become a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from markdown_code import THIRD_PARTY

FILES = {"tianshou": 2, "torchrl": 1}


@pytest.mark.parametrize("name", FILES)
def test_curves_of_a_library(name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- tuned: begin -->\nold\n<!-- tuned: end -->\nAfter.\n")
    options = ["--steps", "1300", "--every", "640", "--seeds", "0", "1", "--out", "curves", "--page", str(page)]
    for file in (f"tuned_{name}.py", "tuned.py"):
        subprocess.run([sys.executable, THIRD_PARTY / file, *options], cwd=tmp_path, check=True)
    assert len(list((tmp_path / "curves").glob("*.json"))) == FILES[name]
    assert page.with_suffix(".svg").stat().st_size > 1_000
    text = page.read_text()
    assert text.startswith("Before.\n<!-- tuned: begin -->\n| library")
    assert text.endswith("<!-- tuned: end -->\nAfter.\n")
    assert text.count("\n| ") == 1 + FILES[name] + 2
