"""A command that runs on Ray and is killed ends as it does without Ray, and goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_train.cli import main

RECIPE = """
title = "mine"
reference = "random"
measures = ["StRecall@5"]
[[topics]]
name = "tiny"
source = "synthetic:tiny:15:0"
folds = 3
[[rankers]]
ranker = "random"
[[rankers]]
ranker = "reinforce"
config = { epochs = 40, horizon = 5, patience = 0 }
"""

SLOW = """
import time

import numpy as np


class Slow:
    def rank(self, topic, k):
        return self.rank_batch([topic], k)[0]

    def rank_batch(self, topics, k):
        open({begun!r}, "w").close()
        time.sleep(60)
        return [np.arange(min(k, topic.n_candidates)) for topic in topics]
"""


def killed(words: list[str], when: Path | float, number: int) -> tuple[int, str]:
    """Run a command on a Ray of its own and kill it, once a folder is there or after seconds; its code and words."""
    run = subprocess.Popen(
        [sys.executable, "-m", "srd_train", *words, "--engine", "ray"],
        env={**os.environ, "RAY_ADDRESS": "local"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + (120 if isinstance(when, Path) else when)
    while run.poll() is None and time.monotonic() < until and not (isinstance(when, Path) and any(when.glob("*.json"))):
        time.sleep(0.02)
    run.send_signal(number)
    said = run.communicate(timeout=60)[1]
    return run.returncode, said


def cells(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_text())["per_topic"] for path in (folder / "cells").glob("*.json")}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_benchmark_that_is_killed_goes_on(number: signal.Signals, tmp_path: Path, at_work: Any) -> None:
    recipe, out, whole = tmp_path / "mine.toml", tmp_path / "out", tmp_path / "whole"
    recipe.write_text(RECIPE)
    before = at_work()
    code, said = killed(["benchmark", str(recipe), "--out", str(out)], out / "cells", number)
    if number == signal.SIGKILL:
        assert code == -number
    else:
        assert (code, said.splitlines()[-1]) == (
            128 + number,
            f"error: stopped by {number.name}; the same command goes on with the runs that are not finished",
        )
        assert not list(out.rglob("*.partial"))
    until = time.monotonic() + 30
    while at_work() - before and time.monotonic() < until:
        time.sleep(0.1)
    assert not at_work() - before
    assert 1 <= len(cells(out)) < 6
    assert main(["benchmark", str(recipe), "--out", str(out)]) == 0
    assert main(["benchmark", str(recipe), "--out", str(whole)]) == 0
    assert cells(out) == cells(whole)
    assert not list(out.rglob("*.partial"))


@pytest.mark.parametrize("at", ["start", "work"])
def test_ranking_that_is_killed_while_ray_starts_or_works_writes_nothing(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, begun = tmp_path / "t.parquet", tmp_path / "begun"
    write_topics(topics, generate("tiny", n_topics=3, seed=0))
    begun.mkdir()
    (tmp_path / "slow.py").write_text(SLOW.format(begun=str(begun / "begun.json")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    words = ["rank", "slow:Slow", "--trust", "--topics", str(topics), "--out", str(tmp_path / "run")]
    code, said = killed(words, 3 if at == "start" else begun, signal.SIGTERM)
    told = (143, "error: stopped by SIGTERM; nothing is left half written")
    early = at == "start" and code == -signal.SIGTERM  # on a slow machine: before the command handles signals
    assert early or (code, said.splitlines()[-1]) == told
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"t.parquet", "slow.py", "begun"}
