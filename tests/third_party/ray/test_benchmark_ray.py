"""The same recipes on a real Ray of this machine, workers killed and cells failing among them."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_train.cli import main
from srd_train.experiment import engines
from srd_train.experiment.benchmark import FailedCellsError, run_benchmark
from srd_train.experiment.engines import on_ray
from srd_train.experiment.recipe import RankerEntry, Recipe, TopicsEntry

CHANGING = {"commit", "versions", "seconds", "wall_seconds", "cpu_seconds"}
CHANGING |= {"fit_seconds", "fit_cpu_seconds", "rank_seconds", "rank_cpu_seconds"}
LEARNER = RankerEntry(ranker="reinforce", config={"epochs": 3, "horizon": 5, "hidden": 4})

pytestmark = pytest.mark.usefixtures("cluster")


def recipe(*rankers: RankerEntry, **changes: Any) -> Recipe:
    options: dict[str, Any] = {
        "name": "r",
        "title": "r",
        "topics": (TopicsEntry(name="tiny", source="synthetic:tiny:15:0", folds=3),),
        "rankers": rankers,
        "reference": rankers[0].name,
        "measures": ("alpha_nDCG@5", "StRecall@5"),
        "seeds": (0, 1),
        "depth": 5,
    }
    return Recipe(**(options | changes))


def timeless(value: Any) -> Any:
    """Without times, and the commit: another one may be made meanwhile."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key not in CHANGING}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def parent_of(pid: int) -> int:
    """The process that started it; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def workers_of_ours() -> list[int]:
    """Ray's processes below this one that run a task of the engine."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            name = (place / "cmdline").read_bytes().split(b"\0")[0]
        except OSError:
            continue
        pid = int(place.name)
        above = [pid]
        while above[-1] > 1:
            above.append(parent_of(above[-1]))
        if name.startswith(b"ray::") and b"_run_all" in name and os.getpid() in above:
            found.append(pid)
    return found


def test_the_cluster_comes_to_the_same(tmp_path: Path) -> None:
    made = recipe(RankerEntry(ranker="random"), RankerEntry(ranker="mmr", seeds=(0,)), LEARNER)
    here = run_benchmark(made, tmp_path / "here")
    there = run_benchmark(made, tmp_path / "there", engine=on_ray)
    assert timeless(there) == timeless(here)
    for record in here:
        assert (tmp_path / "there" / record["run"]).read_text() == (tmp_path / "here" / record["run"]).read_text()
    seen: list[bool] = []
    run_benchmark(made, tmp_path / "there", engine=on_ray, report=lambda _cell, _record, found: seen.append(found))
    assert seen == [True] * len(here)


# Cells of seconds, so that a worker is at one when it is killed.
SLOW = RankerEntry(ranker="reinforce", config={"epochs": 60, "horizon": 5, "patience": 0})


class KillOne:
    """Reports of cells; at the first one, a worker that is at another cell is killed."""

    def __init__(self) -> None:
        self.killed: list[int] = []

    def __call__(self, *_: object) -> None:
        until = time.monotonic() + 20
        while not self.killed and time.monotonic() < until:
            for pid in workers_of_ours()[:1]:
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)
            time.sleep(0.01)


def test_a_worker_killed_in_mid_run_does_not_lose_the_run(tmp_path: Path) -> None:
    made = recipe(RankerEntry(ranker="random"), SLOW, seeds=(0,))
    killer = KillOne()
    records = run_benchmark(made, tmp_path / "there", engine=on_ray, report=killer)
    assert killer.killed
    assert timeless(records) == timeless(run_benchmark(made, tmp_path / "here"))


def test_a_worker_lost_too_often_costs_its_cell_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "RETRIES", 0)
    made = recipe(RankerEntry(ranker="random"), SLOW, seeds=(0,))
    with pytest.raises(FailedCellsError, match=r"1 of 6 cells failed .*WorkerCrashedError") as caught:
        run_benchmark(made, tmp_path, engine=on_ray, report=KillOne())
    assert len(caught.value.records) == 5


def test_a_cell_that_fails_is_told_and_the_others_finish(tmp_path: Path) -> None:
    bare = generate("tiny", n_topics=9, seed=0)
    path = tmp_path / "bare.parquet"
    topics = (dataclasses.replace(topic, doc_vectors=None, query_vector=None) for topic in bare)
    write_topics(path, bare.replace(topics))
    entry = TopicsEntry(name="bare", source=str(path), folds=3, run_folds=(1,))
    made = recipe(RankerEntry(ranker="random"), RankerEntry(ranker="mmr", seeds=(0,)), topics=(entry,))
    with pytest.raises(FailedCellsError, match="1 of 3 cells failed") as caught:
        run_benchmark(made, tmp_path / "out", engine=on_ray)
    (failed,) = caught.value.failed
    assert failed["ranker"] == "mmr"
    assert failed["error"]["type"] == "ValueError"
    assert "vectors" in failed["error"]["message"]
    assert json.loads((tmp_path / "out" / "failed" / f"{failed['cell']}.json").read_text()) == failed


def test_a_cell_costs_ray_little(tmp_path: Path) -> None:
    """The promise is one second a cell; a cell of milliseconds shows what Ray adds."""
    made = recipe(RankerEntry(ranker="random"), seeds=tuple(range(20)))
    began = time.monotonic()
    records = run_benchmark(made, tmp_path, engine=on_ray)
    overhead = (time.monotonic() - began - sum(record["wall_seconds"] for record in records)) / len(records)
    assert len(records) == 60
    assert overhead < 1.0


def test_the_command_runs_on_ray(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        """
title = "mine"
reference = "random"
measures = ["StRecall@5"]
[[topics]]
name = "tiny"
source = "synthetic:tiny:9:0"
folds = 3
[[rankers]]
ranker = "random"
"""
    )
    assert main(["benchmark", str(path), "--out", str(tmp_path / "out"), "--engine", "ray", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["tested"] == 9
