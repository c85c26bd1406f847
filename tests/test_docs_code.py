"""The code on the README and in docs/ is run as a reader would.

Pages that read the real files say so in `<!-- needs: data -->`. Those in docs/third_party/ run where their libraries
are (`make test-third-party`): each says in `<!-- environment: NAME -->` where that is.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_code import ROOT, THIRD_PARTY, environments_of, fences, run_page

ELSEWHERE = sorted(THIRD_PARTY.glob("*.md"))
PAGES = sorted({ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - set(ELSEWHERE))
ENVIRONMENTS = sorted(pins.stem for pins in (ROOT / "tests" / "third_party").glob("*.txt"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if not fences(page):
        pytest.skip("the page has no code to run")
    if "<!-- needs: data -->" in page.read_text(encoding="utf-8"):
        request.getfixturevalue("data_dir")
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize("page", ELSEWHERE, ids=lambda page: page.name)
def test_third_party_page_runs_in_one_environment(page: Path) -> None:
    if not fences(page):
        pytest.skip("the page has no code to run")
    assert len(environments_of(page)) == 1, "say <!-- environment: NAME --> once, so that one environment runs the page"
    assert environments_of(page)[0] in ENVIRONMENTS
