"""What docs/conf.py makes of docstrings and links."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def conf() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_conf", DOCS / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def converted(conf: ModuleType, text: str) -> list[str]:
    lines = text.splitlines()
    conf.from_markdown(None, "class", "name", None, None, lines)
    return lines


def test_tables_become_list_tables(conf: ModuleType) -> None:
    assert converted(conf, "Before.\n\n| a | b |\n|---|:-:|\n| 1 |  |\n\nAfter.") == [
        "Before.", "", ".. list-table::", "   :header-rows: 1", "",
        "   * - a", "     - b", "   * - 1", "     - ", "", "", "After.",
    ]  # fmt: skip


def test_indented_paragraphs_are_code_and_sections_are_not(conf: ModuleType) -> None:
    text = "Text.\n\n    x = 1\n\n    y = 2\n\nMore.\n\nArgs:\n    a: one.\n\n    b: two."
    code = converted(conf, text)
    assert code.count(".. code-block:: text") == 1
    assert code.index(".. code-block:: text") < code.index("    x = 1")
    assert code[code.index("Args:") :] == ["Args:", "    a: one.", "", "    b: two."]


def test_links_to_files_above_docs_lead_to_their_pages(conf: ModuleType) -> None:
    source = ["[a](../CONTRIBUTING.md), [b](../../CHANGELOG.md#x), [c](docs/speed.md), [d](speed.md)"]
    conf.link_to_pages(None, "page", source)
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
