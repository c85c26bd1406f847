"""Ray writes into the home folder; tests do not."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _ray_at_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another home for this process and those it starts, before Ray is imported."""
    os.environ["HOME"] = str(tmp_path_factory.mktemp("home"))
