"""The pages: their code runs as a reader would run it, they say what stays stable, and what docs/conf.py makes of them.

Pages that read the real files say so in `<!-- needs: data -->`. Those in docs/third_party/ run where their libraries
are (`make test-third-party`): each says in `<!-- environment: NAME -->` where that is.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from markdown_code import ROOT, THIRD_PARTY, environments_of, fences, run_page

DOCS = ROOT / "docs"
ELSEWHERE = sorted(THIRD_PARTY.glob("*.md"))
PAGES = sorted({ROOT / "README.md", *DOCS.rglob("*.md")} - set(ELSEWHERE))
LOOKED_INTO = [DOCS / "agents.md", DOCS / "extending.md"]
"""Pages that tests of their own run, and look at what is left."""
ENVIRONMENTS = sorted(pins.stem for pins in (ROOT / "tests" / "third_party").glob("*.txt"))
STABLE = (DOCS / "stable.md").read_text(encoding="utf-8")
LISTED = {
    section.split("\n", 1)[0].strip(): set(re.findall(r"`(\w+)`", section.split("\n##", 1)[0]))
    for section in re.split(r"^### ", STABLE, flags=re.MULTILINE)[1:]
}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in LOOKED_INTO], ids=lambda page: str(page.relative_to(ROOT))
)
def test_code_of_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if not fences(page):
        pytest.skip("the page has no code to run")
    if "<!-- needs: data -->" in page.read_text(encoding="utf-8"):
        request.getfixturevalue("data_dir")
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_environments_are_made_by_the_id_that_worker_processes_know() -> None:
    """Nothing registers the bare id where a worker starts: `srd_gym:SRD-v0` imports what does."""
    pages = [
        *PAGES,
        *ELSEWHERE,
        *THIRD_PARTY.glob("*.py"),
        *DOCS.glob("tutorials/*.ipynb"),
        *ROOT.glob("srd_gym/**/*.py"),
    ]
    pages += [*ROOT.glob("agents/srd_agents/**/*.py"), *ROOT.glob("train/srd_train/**/*.py")]
    bare = re.compile(r"""make(?:_vec|_vec_env)?\(\s*\\?["']SRD-|start_method.{,5}fork\b""")
    assert not [page.name for page in pages if "changelog" not in page.name and bare.search(page.read_text("utf-8"))]


def test_the_logger_on_the_page_gets_every_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / "agents.md")
    lines = [json.loads(line) for line in (tmp_path / "training.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["time/epoch"] for line in lines] == [1, 2, 3]
    tags = set(re.findall(r"`((?:validation|train|time)/[\w@]+)`", (DOCS / "agents.md").read_text(encoding="utf-8")))
    assert {"validation/alpha_nDCG@10", "train/grad_norm", "time/steps_per_second"} <= tags
    for line in lines:
        assert tags - {"validation/MEASURE"} <= line.keys()
        assert {"step", "validation/ERR_IA@10", "validation/StRecall@10"} <= line.keys()


ANNOUNCED = """
import sys
from srd_agents import RANKERS, load_ranker

assert "torch" not in sys.modules and RANKERS["mmr"].trainable is False
assert RANKERS["my-policy"].trainable is True, "its class says so"
assert load_ranker("named").config.epochs == 5
"""


def test_the_learner_on_the_page_is_installed_trains_ranks_and_is_compared_with_mmr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / "extending.md")
    assert len(Path("named.run").read_text().splitlines()) == 12 * 10, "the test fold's topics"
    assert len(list(Path("results/named/cells").glob("*.json"))) == 2, "my-policy and mmr"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "installed"), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run([sys.executable, "-c", ANNOUNCED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ELSEWHERE, ids=lambda page: page.name)
def test_third_party_page_runs_in_one_environment(page: Path) -> None:
    if not fences(page):
        pytest.skip("the page has no code to run")
    assert len(environments_of(page)) == 1, "say <!-- environment: NAME --> once, so that one environment runs the page"
    assert environments_of(page)[0] in ENVIRONMENTS


# docs/stable.md lists what keeps its name and meaning: the page and the packages must say the same


@pytest.mark.parametrize("module", sorted(LISTED))
def test_names_import_and_are_those_that_the_module_announces(module: str) -> None:
    there = importlib.import_module(module)
    assert LISTED[module], f"docs/stable.md lists nothing under {module}"
    for name in LISTED[module]:
        assert getattr(there, name) is not None
    announced = set(getattr(there, "__all__", LISTED[module]))
    assert announced == LISTED[module], f"list in docs/stable.md what {module}.__all__ has, or neither has it"


def test_the_public_packages_are_listed() -> None:
    public = {"srd_gym", "srd_gym.core", "srd_gym.data", "srd_gym.measures", "srd_gym.testing", "srd_agents"}
    assert public <= set(LISTED)
    assert all(hasattr(importlib.import_module(module), "__all__") for module in public)


def test_environment_ids_are_registered() -> None:
    importlib.import_module("srd_gym")
    ids = set(re.findall(r"^\| `(SRD-[\w-]+)` \|", STABLE, flags=re.MULTILINE))
    assert ids == {name for name in gym.registry if name.startswith("SRD-")}


# docs/conf.py


@pytest.fixture(scope="module")
def conf() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "conf.py"))


def test_docstrings_tables_become_list_tables_and_indented_paragraphs_code(conf: dict[str, Any]) -> None:
    def converted(text: str) -> list[str]:
        lines = text.splitlines()
        conf["from_markdown"](None, "class", "name", None, None, lines)
        return lines

    assert converted("Before.\n\n| a | b |\n|---|:-:|\n| 1 |  |\n\nAfter.") == [
        "Before.", "", ".. list-table::", "   :header-rows: 1", "",
        "   * - a", "     - b", "   * - 1", "     - ", "", "", "After.",
    ]  # fmt: skip
    code = converted("Text.\n\n    x = 1\n\n    y = 2\n\nMore.\n\nArgs:\n    a: one.\n\n    b: two.")
    assert code.count(".. code-block:: text") == 1
    assert code.index(".. code-block:: text") < code.index("    x = 1")
    assert code[code.index("Args:") :] == ["Args:", "    a: one.", "", "    b: two."], "sections are no code"


def test_links_to_files_above_docs_lead_to_their_pages(conf: dict[str, Any]) -> None:
    source = ["[a](../CONTRIBUTING.md), [b](../../CHANGELOG.md#x), [c](docs/speed.md), [d](speed.md)"]
    conf["link_to_pages"](None, "page", source)
    assert source == ["[a](/contributing.md), [b](/changelog.md#x), [c](/speed.md), [d](speed.md)"]


def test_every_page_is_in_the_contents() -> None:
    listed = set()
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for block in text.split("```{toctree}")[1:]:
            for line in block.split("```")[0].splitlines():
                if line and not line.startswith(":"):
                    name = line.partition("<")[2].rstrip(">") or line  # "short title <page>"
                    listed |= {found.relative_to(DOCS) for found in (DOCS / page.parent).glob(f"{name}.md")}
    there = {page.relative_to(DOCS) for page in DOCS.rglob("*.md") if "_build" not in page.parts}
    assert there - listed == {Path("index.md")}, "name each page in a toctree, as of docs/index.md"
