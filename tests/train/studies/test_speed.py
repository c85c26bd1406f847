from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from markdown_code import ROOT
from run_srd import Srd

from srd_gym.data.parquet import read_topics
from studies.speed import curves, learners, memory
from studies.speed.curves import AXES, draw, growths
from studies.speed.learners import searched
from studies.speed.race import Side, Work, limit, measured, multiply_adds, operations, raced, reading, table, timed

LINE: dict[str, Any] = {"what": "spinning", "unit": "units/s", "peer": "paper", "target": 2}


def spinner(units: int) -> Side:
    def spin() -> None:
        end = time.process_time() + 0.01
        while time.process_time() < end:
            pass

    return timed(spin, units)


def test_a_race_gives_ratios_round_by_round() -> None:
    row = raced(LINE, Work(spinner(30), spinner(10)), 3)
    ratio, low, high = (float(number) for number in re.findall(r"[\d.]+", row[3]))
    assert ratio == pytest.approx(3, rel=0.3)
    assert low <= ratio <= high
    assert row[5] == "yes"


def test_a_published_time_stands_still() -> None:
    row = raced(LINE | {"seconds": 1 / 2000}, Work(spinner(10), None, 4000.0), 3)
    assert row[2] == "paper: 2,000 units/s"
    assert float(row[3].split("x")[0]) == pytest.approx(0.5, rel=0.3)
    assert row[5] == "no"
    assert row[6] in {"23%", "24%", "25%"}


def test_the_first_round_does_not_count() -> None:
    numbers: Iterator[float] = iter([1.0, 2.0, 3.0])
    assert raced(LINE | {"seconds": 1}, Work(lambda: next(numbers)), 2)[3] == "2.5x [2, 3]"


def test_limits_are_of_multiplications_and_of_reading() -> None:
    assert limit(multiply_adds=1e6) == pytest.approx(operations() / 2e6)
    assert limit(multiply_adds=1, read=1e6) == pytest.approx(reading() / 1e6)
    a = torch.ones(3, 5)
    assert multiply_adds(lambda: a @ a.T) == 45


@pytest.mark.parametrize("name", [name for name in table() if not name.startswith("memory ")])
def test_every_line_is_measured(name: str) -> None:
    if name == "scoring":
        pytest.importorskip("pyndeval")
    row = measured(name, 1, 0.001)
    assert len(row) == 7
    assert not any(cell.startswith("0 ") for cell in row[1:3])


def test_the_table_on_the_page_has_every_line() -> None:
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    rows = [row.split(" | ")[0].removeprefix("| ") for row in page.splitlines() if row.startswith("| ")]
    assert rows[2 : 2 + len(table())] == [line["what"] for line in table().values()]


SIZES = [(15, 30), (8, 16), (1, 2), (2, 4), (2, 4), (10, 20), (20, 40), (10, 20)]


def test_growth_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(curves, "_UNITS", 1)
    costs = list(growths(1, dict(zip(AXES, SIZES, strict=True))))
    assert {growth.axis for growth in costs} == set(AXES)
    assert all(min(growth.costs) > 0 for growth in costs)
    draw(costs, tmp_path / "growth.svg")
    assert f"mmr: N^{costs[0].power:.2f}" in (tmp_path / "growth.svg").read_text()


def test_a_line_that_grows_with_the_square_fails_the_command(
    study: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command draws first; planted are a ranking that compares all pairs, and one that holds all of them."""
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    axes = {axis: sizes for axis, sizes in AXES.items() if axis.endswith("all of them ranked (N)") or "y (N)" in axis}
    monkeypatch.setattr(curves, "AXES", {axis: (256, 512, 1_024, 2_048) for axis in axes})
    monkeypatch.setattr(curves, "_LINES", {axis: ("good", "bad") for axis in axes})

    def planted(name: str, n: int, *_: int) -> Any:
        return partial(np.zeros, n * n if name == "bad" else n)

    def timed(work: Any, *_: int) -> Side:
        return lambda: 1 / len(work())

    monkeypatch.setattr(curves, "_ranking", planted)
    monkeypatch.setattr(curves, "_all_ranked", planted)
    monkeypatch.setattr(curves, "timed", timed)
    picture = tmp_path / "growth.svg"
    done = study("speed", "--rounds", "1", "--figure", picture)
    assert done.code == 1
    lines = done.err.splitlines()
    assert [line.split("^")[0] for line in lines] == [
        "error: time of bad grows with candidates, all of them ranked (N)",
        "error: memory of bad grows with candidates: memory (N)",
    ]
    assert all("expected at most N^1.4" in line for line in lines)
    assert "bad: N^2.0" in picture.read_text()
    monkeypatch.setattr(curves, "STEEPEST", 3)
    assert study.works("speed", "--rounds", "1", "--figure", picture).err == ""


def test_the_command_shows_all_or_some_lines(study: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    rows = {name: [name, *["-"] * 6] for name in ("spinning", "memory x")}
    monkeypatch.setattr("studies.speed.race.table", lambda: rows)
    monkeypatch.setattr("studies.speed.race.measured", lambda name, _: rows[name])
    page = tmp_path / "speed.md"
    assert "memory x" in study.works("speed", "--markdown", page).out
    assert "| spinning |" in page.read_text()
    assert "GB/s in reading memory" in page.read_text()
    assert "spinning" not in study.works("speed", "--rounds", "2", "--only", "memory x", "--markdown", page).out
    assert "make speed ARGS=\"--rounds 2 --only 'memory x'\"" in page.read_text()
    assert "--rounds" in study.fails("speed", "--rounds", "0")
    assert "there are: spinning; memory x" in study.fails("speed", "--only", "nothing")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert "set OMP_NUM_THREADS=1" in study.fails("speed")


def test_memory_is_measured_in_a_process_of_its_own() -> None:
    code = "from studies.speed.learners import searched; searched({}, {})()"
    few, many = (memory.peaks("-c", code.format(*sizes))["RssAnon"] for sizes in ((2, 10), (8, 2_000)))
    assert 30 < few < many < 600  # but for libraries: a torch for GPUs has hundreds of megabytes of them
    assert memory.search(2, 10) > few
    # Held to the arrays by the test of the largest search: a node (36 + 2 K + 4 D bytes), a row of edges (18 N + 8).
    assert "a simulation takes at most 3,874 bytes" in table()["memory m2div"]["what"]


def test_a_race_of_searches_makes_the_simulations_that_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learners, "_N", 6)  # so few that lists are finished
    shares, others = (searched(3, 300, training=training)().policies[:, 0] * 300 for training in (True, False))
    np.testing.assert_allclose(shares, shares.round(), atol=1e-9)
    np.testing.assert_allclose(shares.sum(axis=1), 300)
    assert (shares != others).any(), "finished lists are worth their measure, or V"


def test_the_large_file_is_honest_and_training_on_it_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "_GROUP", 8)
    path = tmp_path / "large.parquet"
    memory.write_large(path, 20, candidates=5, width=4)
    topics = read_topics(path)
    assert (len(topics), topics.max_candidates, topics.vector_width, topics.marks) == (20, 5, 4, ("simulated",))
    vectors = np.concatenate([topic.require_vectors("test") for topic in topics])
    assert len(np.unique(vectors, axis=0)) == len(vectors)
    if sys.platform == "linux":
        assert memory.main([str(path), "20", "mmr"]) == 0
        assert "without mapped files" in capsys.readouterr().out
        with pytest.raises(RuntimeError, match="ended with 2"):
            memory.train(path, "nobody")
    assert memory.main([]) == 2
