"""The same recipes on a real Ray of this machine, workers killed and cells failing among them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_results import recipe, recipe_file, timeless

from srd_train.cli import main
from srd_train.experiment import engines
from srd_train.experiment.benchmark import FailedCellsError, run_benchmark
from srd_train.experiment.engines import on_ray
from srd_train.experiment.recipe import RankerEntry
from srd_train.experiment.sources import TopicsEntry

LEARNER = RankerEntry(ranker="reinforce", config={"epochs": 3, "horizon": 5, "hidden_size": 4})

pytestmark = pytest.mark.usefixtures("cluster")


def test_the_cluster_comes_to_the_same(tmp_path: Path) -> None:
    made = recipe("random", RankerEntry(ranker="mmr", seeds=(0,)), LEARNER, seeds=(0, 1))
    here = run_benchmark(made, tmp_path / "here")
    there = run_benchmark(made, tmp_path / "there", engine=on_ray)
    assert timeless(there) == timeless(here)
    for record in here:
        assert (tmp_path / "there" / record["run"]).read_text() == (tmp_path / "here" / record["run"]).read_text()
    seen: list[bool] = []
    run_benchmark(made, tmp_path / "there", engine=on_ray, report=lambda _cell, _record, found: seen.append(found))
    assert seen == [True] * len(here)


def test_workers_need_none_of_the_files_that_say_how_topics_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster began before the variable was set: its workers find nothing below it."""
    (tmp_path / "folds.yml").write_text(
        "fold1: [tiny-0-0, tiny-0-1]\nfold2: [tiny-0-2]\nfold3: [tiny-0-3]\n", encoding="utf-8"
    )
    monkeypatch.setenv("SRD_DATA_DIR", str(tmp_path))
    entry = TopicsEntry(name="tiny", source="synthetic:tiny:15:0", folds_file="folds.yml", folds=3)
    made = recipe("random", topics=(entry,), seeds=(0,))
    here = run_benchmark(made, tmp_path / "here")
    assert timeless(run_benchmark(made, tmp_path / "there", engine=on_ray)) == timeless(here)


# Cells of seconds, so that a worker is at one when it is killed.
SLOW = RankerEntry(ranker="reinforce", config={"epochs": 60, "horizon": 5, "patience": 0})


class KillOne:
    """Reports of cells; at the first one, a worker that is at another cell is killed."""

    def __init__(self, at_work: Callable[[], set[int]]) -> None:
        self.at_work, self.foreign = at_work, at_work()
        self.killed: list[int] = []

    def __call__(self, *_: object) -> None:
        until = time.monotonic() + 20
        while not self.killed and time.monotonic() < until:
            for pid in [*self.at_work() - self.foreign][:1]:
                with contextlib.suppress(ProcessLookupError):  # its cell, and with it the process, has ended
                    os.kill(pid, signal.SIGKILL)
                    self.killed.append(pid)
            time.sleep(0.01)


def test_a_worker_killed_in_mid_run_does_not_lose_the_run(tmp_path: Path, at_work: Any) -> None:
    made = recipe("random", SLOW)
    killer = KillOne(at_work)
    records = run_benchmark(made, tmp_path / "there", engine=on_ray, report=killer)
    assert killer.killed
    assert timeless(records) == timeless(run_benchmark(made, tmp_path / "here"))


def test_a_lost_worker_costs_its_cell_alone(tmp_path: Path, at_work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "RETRIES", 0)
    made = recipe(SLOW, seeds=(0, 1))  # a worker that had just ended its cell would cost none
    with pytest.raises(FailedCellsError, match=r"1 of 6 cells failed .*WorkerCrashedError") as caught:
        run_benchmark(made, tmp_path, engine=on_ray, report=KillOne(at_work))
    assert len(caught.value.records) == 5


def test_a_cell_that_fails_is_told_and_the_others_finish(tmp_path: Path) -> None:
    entry = TopicsEntry(name="tiny", source="synthetic:tiny:9:0", folds=3, run_folds=(1,))
    diverges = RankerEntry(ranker="reinforce", config=LEARNER.config | {"learning_rate": 1e30}, seeds=(0,))
    made = recipe("random", diverges, topics=(entry,), seeds=(0, 1))
    with pytest.raises(FailedCellsError, match="1 of 3 cells failed") as caught:
        run_benchmark(made, tmp_path / "out", engine=on_ray)
    (failed,) = caught.value.failed
    assert failed["ranker"] == "reinforce"
    assert failed["error"]["type"] == "ValueError"
    assert "NaN" in failed["error"]["message"]
    assert json.loads((tmp_path / "out" / "failed" / f"{failed['cell']}.json").read_text()) == failed


def test_the_command_runs_on_ray(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recipe_file(tmp_path, "random", topics='source = "synthetic:tiny:9:0"\nfolds = 3')
    assert main(["benchmark", str(path), "--out", str(tmp_path / "out"), "--engine", "ray", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["tested"] == 9
