from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch
from run_srd import Srd

from studies.speed import curves
from studies.speed import run as command
from studies.speed.cases import all_cases
from studies.speed.cores import together
from studies.speed.curves import AXES, draw, growths
from studies.speed.machine import limit, multiply_adds, operations, reading
from studies.speed.memory import MemoryCase, memory_cases, search_memory
from studies.speed.race import Contender, MissingError, Outcome, against, race
from studies.speed.search import PUBLISHED_SIMULATIONS, largest_search, search


def spinner(seconds: float, units: int) -> Contender:
    def run() -> int:
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass
        return units

    return Contender(name="spinner", run=run)


def test_a_race_gives_ratios_round_by_round() -> None:
    outcome = race("spinning", "units/s", spinner(0.01, 30), spinner(0.01, 10), target=2, rounds=3)
    assert outcome.ratio.median == pytest.approx(3, rel=0.3)
    assert outcome.ratio.low <= outcome.ratio.median <= outcome.ratio.high
    assert outcome.reached
    assert outcome.as_dict()["reached"] is True


def test_a_published_rate_stands_still() -> None:
    outcome = against("spinning", "units/s", spinner(0.01, 10).run, 2000.0, source="paper", target=20, limit=4000.0)
    assert outcome.theirs.low == outcome.theirs.high == 2000
    assert outcome.ratio.median == pytest.approx(0.5, rel=0.3)
    assert not outcome.reached
    assert "paper: 2,000 units/s" in outcome.as_row()[2]
    assert outcome.as_row()[-1] in {"23%", "24%", "25%"}


def test_limits_are_of_multiplications_and_of_reading() -> None:
    assert limit(multiply_adds=1e6) == pytest.approx(operations() / 2e6)
    assert limit(multiply_adds=1, read=1e6) == pytest.approx(reading() / 1e6)
    a = torch.ones(3, 5)
    assert multiply_adds(lambda: a @ a.T) == 45


def test_two_processes_work_side_by_side() -> None:
    assert together("relational-pretrained", 2, 1, 0.01) > 0


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, case in all_cases(1, 0.001) if not name.startswith("two ")]
)
def test_every_case_runs(name: str, case: Any) -> None:
    if name.startswith("scoring"):
        pytest.importorskip("pyndeval")
    if name.startswith("sb3"):
        pytest.importorskip("sb3_contrib")
    try:
        outcome = case()
    except MissingError as error:
        pytest.skip(str(error))
    assert isinstance(outcome, Outcome)
    assert outcome.ours.median > 0 or "0.92" in name
    assert outcome.theirs.median > 0


def test_growth_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(curves, "_UNITS", 1)
    found = list(growths(1, dict(zip(AXES, [(15, 30), (8, 16), (1, 2), (2, 4)], strict=True))))
    assert all(min(growth.seconds) > 0 for growth in found)
    draw(found, tmp_path / "growth.svg")
    assert f"mmr: N^{found[0].power:.2f}" in (tmp_path / "growth.svg").read_text()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that take no time, one of each kind."""
    for name in command._THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    line = race("spinning", "units/s", spinner(0.001, 30), spinner(0.001, 10), target=2, rounds=1)
    memory = MemoryCase(name="memory x", what="peak memory of x", target=600, run=lambda: 100.0)
    monkeypatch.setattr("studies.speed.cases.all_cases", lambda rounds, size: [("spinning", lambda: line)])
    monkeypatch.setattr("studies.speed.memory.memory_cases", lambda: [memory])


@pytest.mark.usefixtures("quick")
def test_the_command_shows_all_or_some_lines(study: Srd, tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    assert "peak memory of x" in study.works("speed", "--markdown", page).out
    assert "| spinning |" in page.read_text()
    assert "GB/s in reading memory" in page.read_text()
    result = study.works("speed", "--json", "--only", "memory", "spin", "--markdown", page).json
    assert [line["target"] for line in result["lines"]] == [2]
    memory = {"name": "memory x", "what": "peak memory of x", "megabytes": 100.0, "target_megabytes": 600}
    assert result["memory"] == [memory]
    assert 'make speed ARGS="--rounds 5 --only memory spin"' in page.read_text()
    assert "--rounds" in study.fails("speed", "--rounds", "0")
    assert "there are: spinning; memory x" in study.fails("speed", "--only", "nothing")


def test_memory_is_measured_in_a_process_of_its_own() -> None:
    assert 50 < search_memory(2, 10) < search_memory(8, 2_000) < 600
    cases = memory_cases()
    names = ["memory mdp-div", "memory mdp-div-batched", "memory qmix", "memory sb3 replay", "memory m2div"]
    assert [case.name for case in cases] == names
    assert cases[-1].target == 1_000
    # A node (36 + 2 K + 4 D bytes) and a row of edges (18 N + 8): K = 5, D = 10, N = 210.
    assert "a simulation takes at most 3,874 bytes" in cases[-1].what


def test_a_race_of_searches_counts_the_simulations_made() -> None:
    trees = largest_search(3, 20)
    assert (trees.visits[trees.root] == 21).all()
    line = search(1, training=True, rounds=1, size=0.002)
    assert line.theirs.median == PUBLISHED_SIMULATIONS
    assert "true measure of finished lists" in line.what
