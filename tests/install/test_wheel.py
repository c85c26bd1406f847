"""The built wheel, installed outside the checkout: `make test-wheel` runs this in an environment of its own."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_code import ROOT, run_page

PACKAGES = ("srd_gym", "srd_agents", "srd_train")


def test_it_is_the_wheel_that_is_tested() -> None:
    for name in PACKAGES:
        found = importlib.util.find_spec(name)
        assert found is not None
        assert "site-packages" in str(found.origin)
        assert not Path(str(found.origin)).is_relative_to(ROOT)


def test_the_wheel_holds_the_packages_and_nothing_else() -> None:
    files = [str(path) for path in importlib.metadata.files("srd-gym") or []]
    tops = {path.split("/")[0] for path in files if not path.startswith("..")}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert all(f"{name}/py.typed" in files for name in PACKAGES)
    policies = {path for path in files if path.startswith("srd_agents/pretrained/")}
    assert len({path for path in policies if path.endswith(("/card.md", "/config.json", "/model.safetensors"))}) == 9
    assert {"srd_gym/data/collections/words.parquet", "srd_gym/data/collections/words/jaguar.toml"} <= set(files)


def test_smoke(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "srd"
    done = subprocess.run([program, "benchmark", "smoke"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "oracle" in done.stdout


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "README.md")
