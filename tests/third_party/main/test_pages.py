"""The code on the pages in docs/third_party/ that name this environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_code import run_page, third_party_pages


@pytest.mark.parametrize("page", third_party_pages("main"), ids=lambda page: page.name)
def test_code_of_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page)
