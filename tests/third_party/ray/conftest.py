"""Ray writes into the home folder; tests do not. And a Ray of our own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _ray_at_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another home for this process and those it starts, before Ray is imported."""
    os.environ["HOME"] = str(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray of our own, whatever runs on this machine."""
    import ray

    from srd_train.experiment.engines import connected_ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", "local")
        connected_ray()
    yield
    ray.shutdown()


@pytest.fixture
def at_work() -> Callable[[], set[int]]:
    """Tells the processes of any Ray on this machine that run a task of the engine."""

    def found() -> set[int]:
        pids = set()
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if b"ray::run_fit" in (place / "cmdline").read_bytes():
                    pids.add(int(place.name))
        return pids

    return found
