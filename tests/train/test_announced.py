"""A ranker of another distribution: what docs/extending.md shows is installed and used in an environment of its own."""

from __future__ import annotations

import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
from markdown_code import INSTALL, ROOT, fences, install

PAGE = ROOT / "docs" / "extending.md"
CHECKS = """
import sys
from srd_agents import RANKERS, load_ranker, make_ranker
from srd_agents.testing import check_learner

assert "torch" not in sys.modules and RANKERS["mmr"].learns is False
assert RANKERS["my-policy"].learns is True, "its class says so"
assert load_ranker("named").config.epochs == 5
check_learner("my-policy", options={"epochs": 2}, toy_options={"epochs": 60})
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of a new environment that sees the packages of this one, and has `srd`."""
    venv.create(tmp_path / "env", with_pip=False)
    packages = [str(ROOT), str(ROOT / "agents"), str(ROOT / "train"), sysconfig.get_path("purelib")]
    (_site(tmp_path) / "these.pth").write_text("\n".join(packages))
    python = tmp_path / "env" / "bin" / "python"
    script = f"#!{python}\nimport sys\nfrom srd_train.__main__ import main\nsys.exit(main())\n"
    (python.parent / "srd").write_text(script)
    (python.parent / "srd").chmod(0o755)
    return python


def _site(folder: Path) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder / "env")}))


def test_an_installed_learner_trains_ranks_and_is_compared_with_mmr(
    python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{python.parent}:/usr/bin:/bin")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    heading = PAGE.read_text(encoding="utf-8").split("### A name of its own")[0].count("\n")
    wanted = ("cat > mine.toml", "cat > policy.py", "mkdir -p my-rankers")
    shown = [(line, code) for line, kind, code in fences(PAGE) if kind == "bash" and code.startswith(wanted)]
    assert len(shown) == len(wanted)
    for line, code in shown:
        for part in INSTALL.split(code):
            if INSTALL.fullmatch(part):
                install(part, _site(tmp_path))
                continue
            # What stands above the section only makes its files: the recipe, and the learner's module.
            kept = part if line > heading else "\n".join(row for row in part.split("\n") if not row.startswith("srd "))
            done = subprocess.run(["bash", "-euc", kept], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    assert len(Path("named.run").read_text().splitlines()) == 12 * 10, "the test fold's topics"
    assert len(list(Path("results/named/cells").glob("*.json"))) == 2, "my-policy and mmr"
    done = subprocess.run([python, "-c", CHECKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
