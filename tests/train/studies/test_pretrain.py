"""`make pretrain`: generated topics in, weights and a log out."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
from run_srd import Srd
from small_topics import refused

from srd_agents.relational.ranker import pretrained_weights, read_weights
from srd_agents.training.options import as_values
from studies.pretrain.run import Pretrain


def test_the_best_seed_is_kept_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    small = Pretrain(seeds=(3, 4), topics=6, validation=4, epochs=1, out=tmp_path)
    outcomes = small.trained()
    log = json.loads((tmp_path / "pretraining.json").read_text())
    best = max(outcomes, key=lambda outcome: outcome["validation"])["seed"]
    assert log["chosen_seed"] == best
    assert [entry["seed"] for entry in log["histories"]] == [3, 4]
    kept = read_weights(tmp_path / "pretrained.npz")
    np.testing.assert_array_equal(kept["out"], read_weights(tmp_path / f"seed-{best}.npz")["out"])
    before = (tmp_path / "pretrained.npz").read_bytes()
    assert [o["validation"] for o in small.trained()] == [o["validation"] for o in outcomes]
    assert (tmp_path / "pretrained.npz").read_bytes() == before


def test_the_weights_that_come_along_are_those_of_the_default_plan() -> None:
    log = json.loads(files("srd_agents.relational").joinpath("pretraining.json").read_text())
    plan = Pretrain()
    assert tuple(log["plan"]["seeds"]) == plan.seeds
    assert all(log["plan"][name] == getattr(plan, name) for name in ("topics", "validation", "epochs"))
    now = as_values(plan.config())
    assert log["config"].items() <= now.items()  # options that came later are not in it
    best = max(log["outcomes"], key=lambda outcome: outcome["validation"])
    assert log["chosen_seed"] == best["seed"]
    assert pretrained_weights()["hidden"].shape == (64, 32)


def test_another_plan_is_refused(tmp_path: Path, study: Srd) -> None:
    words = ("--seeds", "0", "--topics", "5", "--validation", "3", "--epochs", "1", "--out", str(tmp_path / "p"))
    assert "pretrained.npz" in study.works("pretrain", *words).out
    assert "training topics' fingerprint was" in study.fails("pretrain", *words, "--topics", "6")
    refused(lambda: Pretrain(seeds=(1, 1), out=tmp_path).trained(), r"different numbers, .*got \[1, 1\]")
