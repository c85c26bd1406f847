from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from made_results import recipe_file
from run_srd import Srd

from srd_train.commands.console import Output


def test_the_bar_moves_within_a_cell(srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[float] = []
    monkeypatch.setattr(Output, "progress", lambda *_: contextlib.nullcontext(steps.append))
    learner = 'ranker = "listmle"\nconfig = { epochs = 3, patience = 0 }'
    done = srd.works("benchmark", recipe_file(tmp_path, "mmr", learner), "--out", tmp_path / "out")
    told = [line.split("; ")[-1] for line in done.err.splitlines() if "runs" in line]
    assert told == ["1 of 2 runs", "2 of 2 runs"]
    assert sum(steps) == 2.0
    assert sum(0 < step < 1 for step in steps) >= 3


def test_what_is_missing_is_told_first(srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SRD_DATA_DIR", raising=False)
    weights = 'ranker = "relational-pretrained"\nconfig = { checkpoint = "none/weights.npz" }'
    tiny = 'source = "synthetic:tiny:12"'
    for ranker, topics, message in (
        (weights, tiny, "row 'relational-pretrained' .*none/weights.npz"),
        ("mmr", f'{tiny}\n[[topics]]\nname = "real"\nsource = "ambient"', "real files, but SRD_DATA_DIR is unset"),
        ("mmr", f'source = "{tmp_path}/none.parquet"', "no file at .*none.parquet"),
    ):
        recipe = recipe_file(tmp_path, "random", ranker, topics=topics)
        assert re.search(message, srd.fails("benchmark", recipe, "--out", tmp_path / "out"))
        assert not (tmp_path / "out").exists()


def test_recipes_say_how_long_they_train_and_what_they_need(srd: Srd) -> None:
    text = " ".join(srd.works("benchmark", "--help").out.split())
    assert re.search(r" smoke [^()]* \(1\.5 min\)", text)
    assert re.search(r" tist [^()]* \(\d+ min; needs trec-web/\)", text)
