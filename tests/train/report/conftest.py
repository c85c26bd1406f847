from __future__ import annotations

from pathlib import Path

import pytest
from made_results import run_small


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The results of a benchmark of seconds, and its recipe; to read from."""
    return run_small(tmp_path_factory.mktemp("small"))
