"""The code on the pages in docs/third_party/ that name this environment; scripts lie beside it, as they do there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from markdown_code import THIRD_PARTY, run_page, third_party_pages


@pytest.mark.parametrize("page", third_party_pages("main"), ids=lambda page: page.name)
def test_code_of_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for script in THIRD_PARTY.glob("*.py"):
        shutil.copy(script, tmp_path)
    monkeypatch.chdir(tmp_path)
    run_page(page)
