"""A short run of every fuzzer, and a few kills; `make fuzz` and `make kills` are the long ones."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason='models and checkpoints need torch: pip install "srd-gym[agents]"')

from fuzz.kills import kill_all
from fuzz.run import run_all, write_markdown
from fuzz.subjects import SUBJECTS, WORST, judged
from fuzz.writers import write_together

CASES = 150


@pytest.mark.parametrize("name", SUBJECTS)
def test_damage_is_accepted_or_refused_in_one_way(name: str, tmp_path: Path) -> None:
    subject = SUBJECTS[name]
    make = subject.prepare(tmp_path)
    for index in range(CASES):
        end, error = judged(subject, tmp_path, make(random.Random(f"{name}/short/{index}")))
        assert end not in WORST, f"case {index} of {name} ended as {end!r}: {error!r}"


def test_the_long_run_counts_and_writes_its_table(tmp_path: Path) -> None:
    tallies, page = run_all(["folds"], cases=30, seed=0, processes=1, seconds=60), tmp_path / "page.md"
    assert sum(tallies["folds"].ends.values()) == 30
    page.write_text("before\n<!-- made by make fuzz -->\nstale words\n<!-- made by make fuzz -->\nafter\n")
    write_markdown(page, tallies, seed=0)
    assert re.fullmatch(
        r"(?s)before\n<!--.*seed 0: 30 cases, 30 of each subject\..*\| folds \| \d+ \| [\d,]+ \|\n.*-->\nafter\n",
        page.read_text(),
    )
    assert "stale words" not in page.read_text()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("command", ["train r-ltr", pytest.param("benchmark", marks=pytest.mark.slow)])
def test_what_is_killed_comes_to_the_same(command: str) -> None:
    for trials in kill_all([command], kills=4, seed=0):
        assert not trials.problems
        assert trials.counts["kills"] == 2
        assert trials.counts["identical results"] >= 1


@pytest.mark.skipif(os.name == "nt", reason="Windows locks no files here")
def test_many_writers_of_one_cache_and_one_output_leave_whole_files() -> None:
    count, problems = write_together(2.0)
    assert count > 0
    assert problems == []
