from __future__ import annotations

import time
from pathlib import Path

import pytest
from run_srd import Srd

from srd_train.commands import speed as command
from srd_train.speed import Contender, Outcome, against, race
from srd_train.speed_cases import all_cases, training_memory


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
    outcome = against("spinning", "units/s", spinner(0.01, 10).run, 2000.0, source="paper", target=20, rounds=2)
    assert outcome.theirs.low == outcome.theirs.high == 2000
    assert outcome.ratio.median == pytest.approx(0.5, rel=0.3)
    assert not outcome.reached
    assert "paper: 2,000 units/s" in outcome.as_row()[2]


@pytest.mark.parametrize(("name", "case"), list(all_cases(1, 0.001)))
def test_every_case_runs(name: str, case: object) -> None:
    if name.startswith("scoring"):
        pytest.importorskip("pyndeval")
    assert callable(case)
    outcome = case()
    assert isinstance(outcome, Outcome)
    assert outcome.ours.median > 0
    assert outcome.theirs.median > 0


def test_the_command_shows_a_table(srd: Srd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in command._THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    line = race("spinning", "units/s", spinner(0.001, 30), spinner(0.001, 10), target=2, rounds=1)
    monkeypatch.setattr("srd_train.speed_cases.all_cases", lambda rounds, size: [("spinning", lambda: line)])
    monkeypatch.setattr("srd_train.speed_cases.training_memory", lambda name: 100.0)
    page = tmp_path / "speed.md"
    assert "peak memory of training mdp-div" in srd.works("speed", "--markdown", page).out
    assert "| spinning |" in page.read_text()
    result = srd.works("speed", "--json").json
    assert result["lines"][0]["target"] == 2
    assert result["memory_megabytes"] == {"mdp-div": 100.0, "mdp-div-batched": 100.0}
    assert "--rounds" in srd.fails("speed", "--rounds", "0")


def test_memory_of_training_is_measured_in_its_own_process() -> None:
    peak = training_memory("mdp-div", epochs=1)
    assert 50 < peak < 600
