"""Fixtures that every test folder shares."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Let Ctrl-C and SIGHUP mean what tests expect, also in the background and under nohup; no law has a time limit."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with contextlib.suppress(ImportError):  # the wheel's tests run without
        from hypothesis import settings

        settings.register_profile("srd", deadline=None, max_examples=30)
        settings.load_profile("srd")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of our own."""
    parser.addoption(
        "--update-playthroughs",
        action="store_true",
        help="write tests/golden/playthroughs anew from what the code does now, instead of comparing",
    )


@pytest.fixture(scope="module", autouse=True)
def _rankers_of_ones_own_go() -> Iterator[None]:
    """Remove the rankers that a module's tests added to the registry, before the next module."""
    registry = sys.modules.get("srd_agents.registry")
    kept = None if registry is None else dict(registry.RANKERS.built_in)
    yield
    registry = sys.modules.get("srd_agents.registry")
    if registry is None:
        return
    added = [name for name in registry.RANKERS.built_in if (":" in name if kept is None else name not in kept)]
    for name in added:
        del registry.RANKERS.built_in[name]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real files, or a skip that says how to get them into the tests."""
    where = os.environ.get("SRD_DATA_DIR")
    if not where:
        pytest.skip("SRD_DATA_DIR is unset: set it to the folder holding trec-web/, ambient/, rl4srd/, ... to run this")
    folder = Path(where).resolve()
    if not folder.is_dir():
        pytest.fail(f"SRD_DATA_DIR={where} is not a folder")
    return folder
