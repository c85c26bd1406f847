from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from made_results import recipe_file
from run_srd import Srd

from srd_train.commands.benchmark import TimeLeft
from srd_train.commands.output import Output
from srd_train.experiment.recipe import RankerEntry, Recipe, TopicsEntry


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def recipe() -> Recipe:
    topics = [TopicsEntry(name=name, source="synthetic:tiny:10", folds=2) for name in ("one", "two")]
    rankers = [
        RankerEntry(ranker="random"),
        RankerEntry(ranker="mdp-div", seeds=(0, 1)),
        RankerEntry(ranker="mdp-div", name="other"),
    ]
    return Recipe(name="r", title="t", topics=tuple(topics), rankers=tuple(rankers), reference="random", seeds=(0,))


def test_what_is_left_is_judged_by_what_rows_took(recipe: Recipe) -> None:
    clock = Clock()
    left = TimeLeft(recipe, clock)
    assert left.total == 2 * 2 * (1 + 2 + 1)
    assert left.seconds is None
    clock.now += 1
    left.add("one", "random", 1.0, found=False)
    assert left.seconds is None  # nothing is known of a learner
    assert str(left) == "1 of 16 cells, time left unknown"
    clock.now += 10
    left.add("one", "mdp-div", 10.0, found=False)
    # 3 more of random, 7 of mdp-div, 4 of another learner
    assert left.seconds == pytest.approx(3 * 1 + 7 * 10 + 4 * 10)
    clock.now += 40
    left.add("two", "mdp-div", 40.0, found=False)
    # on each topic set its own; the clock ran with the work
    assert left.seconds == pytest.approx(3 * 1 + 3 * 10 + 3 * 40 + 4 * 25)
    assert str(left) == "3 of 16 cells, about 0:04:13 left"


def test_two_processes_halve_the_time(recipe: Recipe) -> None:
    clock = Clock()
    left = TimeLeft(recipe, clock)
    clock.now += 10
    left.add("one", "mdp-div", 10.0, found=False)
    left.add("one", "mdp-div", 10.0, found=False)
    assert left.seconds == pytest.approx((6 * 10 + 4 * 10) / 2)


def test_cells_of_earlier_runs_teach_but_take_no_time(recipe: Recipe) -> None:
    clock = Clock()
    left = TimeLeft(recipe, clock)
    for _ in range(4):
        left.add("one", "mdp-div", 7.0, found=True)
    assert left.seconds == pytest.approx(4 * 7 + 4 * 7)
    clock.now += 7
    left.add("two", "mdp-div", 7.0, found=False)
    assert left.seconds == pytest.approx(3 * 7 + 4 * 7)


def test_at_the_end_nothing_is_left(recipe: Recipe) -> None:
    left = TimeLeft(recipe, Clock())
    for topics in ("one", "two"):
        for row, count in (("random", 2), ("mdp-div", 4), ("other", 2)):
            for _ in range(count):
                left.add(topics, row, 3.0, found=False)
    assert str(left) == "16 of 16 cells"
    assert left.seconds == 0.0


def test_the_bar_moves_within_a_cell_and_ends_at_whole_cells(
    srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[float] = []
    monkeypatch.setattr(Output, "progress", lambda *_: contextlib.nullcontext(steps.append))
    learner = 'ranker = "listmle"\nconfig = { epochs = 3, patience = 0 }'
    srd.works("benchmark", recipe_file(tmp_path, "mmr", learner), "--out", tmp_path / "out")
    assert sum(steps) == 2.0
    assert sum(0 < step < 1 for step in steps) >= 3


def test_what_is_missing_is_told_before_the_first_cell(
    srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SRD_DATA_DIR", raising=False)
    weights = 'ranker = "relational-pretrained"\nconfig = { checkpoint = "none/seed-{seed}.npz" }'
    tiny = 'source = "synthetic:tiny:12"'
    for ranker, topics, message in (
        (weights, tiny, "row 'relational-pretrained' .*none/seed-0.npz"),
        ("mmr", f'{tiny}\n[[topics]]\nname = "real"\nsource = "ambient"', "real files, but SRD_DATA_DIR is unset"),
        ("mmr", f'source = "{tmp_path}/none.parquet"', "topic file.*none.parquet"),
    ):
        recipe = recipe_file(tmp_path, "random", ranker, topics=topics)
        assert re.search(message, srd.fails("benchmark", recipe, "--out", tmp_path / "out"))
        assert not (tmp_path / "out").exists()


def test_recipes_say_how_long_they_train_and_what_they_need(srd: Srd) -> None:
    text = srd.works("benchmark", "--help").out
    assert re.search(r"smoke .* \(1\.5 min\)\n", text)
    assert re.search(r"transfer-indri .* \(2 min; needs trec-web/, weights of srd pretrain\)\n", text)


def test_every_finished_cell_tells_the_time_left(srd: Srd, tmp_path: Path) -> None:
    recipe = recipe_file(tmp_path, "mmr", "random", topics='source = "synthetic:tiny:12"\nfolds = 3')
    lines = srd.works("benchmark", recipe, "--out", tmp_path / "out").err.splitlines()
    told = [line for line in lines if "cells" in line]
    assert len(told) == 6
    assert re.search(r"; 1 of 6 cells, about \d:\d\d:\d\d left$", told[0])
    assert told[-1].endswith("; 6 of 6 cells")
