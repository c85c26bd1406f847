"""What pyproject.toml promises is what the tests run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib

import pytest
from markdown_code import ROOT


def test_the_pythons_that_are_promised_are_those_that_tests_run_on() -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    first, last = promised[0], promised[-1]
    beyond = f"3.{int(last.removeprefix('3.')) + 1}"
    assert project["requires-python"] == f">={first},<{beyond}"
    assert f"Python {first} to {last}:" in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    rules = subprocess.run(["make", "-pn", "help"], cwd=ROOT, env=outside, capture_output=True, text=True, check=True)
    assert f"\ntest-minimal: {' '.join(f'test-minimal-{version}' for version in promised)}\n" in rules.stdout
    assert all(f"\ntest-minimal-{version}: wheel\n" in rules.stdout for version in promised)
