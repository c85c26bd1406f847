"""The picture of a benchmark's learning curves."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from made_results import recipe_file, record, write_records
from run_srd import Srd
from small_topics import refused

from srd_train.report.curves import panels
from studies.learning_curves import draw


def test_needless_digits_go_and_the_axes_keep_theirs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "c.svg"
    values = ((0, 0.001, 0.7), (100, 1, 0.701), (300, 3, 0.898))
    records = [{"episodes": e, "cpu_seconds": s, "validation": v} for e, s, v in values]
    draw(panels([record(history={"measure": "alpha_nDCG@10", "records": records})]), picture)
    text = picture.read_text()
    levels = [float(label) for label in re.findall(r">(0\.\d+)</text>", text)]
    steps = np.diff(sorted(set(levels)))
    np.testing.assert_allclose(steps, steps[0], atol=1e-9)  # 0.725 cut to 0.72 would break the row
    places = re.findall(r'[xy]="(\d+\.\d+)"', text)
    assert places
    assert all(len(place.split(".")[1]) <= 2 for place in places)


def test_the_curves_of_a_benchmark_are_drawn(srd: Srd, study: Srd, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    learner = 'ranker = "vdn"\nseeds = [0, 1]\nconfig = { epochs = 2 }'
    chosen = 'ranker = "mmr"\ngrid = { lambda_ = [0.2, 0.8] }'
    srd.works("benchmark", recipe_file(tmp_path, learner, chosen, "random"), "--out", tmp_path / "results")
    drawn = []
    for name in ("one.svg", "two.svg", "c.png"):
        study.works("learning-curves", tmp_path / "results", "--out", tmp_path / name)
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith(b"<?xml")
    assert len(drawn[0]) < 100_000
    for said in ("vdn (2 seeds)", "mmr", "environment episodes", "alpha_nDCG@10, validation"):
        assert said.encode() in drawn[0]  # letters stay letters: they can be searched
    assert drawn[2].startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_said(study: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("learning-curves", write_records(tmp_path, [record()]), "--out")
    for name, said in (("page.md", "ending in .png or .svg"), ("c.png", "no cell has a learning curve to draw")):
        assert said in study.fails(*words, tmp_path / name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(lambda: draw([], tmp_path / "c.png"), r"srd-gym\[render\]", ImportError)
    assert not list(tmp_path.glob("*.png"))
