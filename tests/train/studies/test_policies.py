"""The policies that load by name are made by one command, bit for bit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from run_srd import Srd

from srd_agents.registry import load_ranker, load_trained, model_folder, pretrained_names
from srd_agents.training.files import ModelInfo
from studies.pretrain.policies import PLANS


def test_the_command_makes_folders_with_cards(tmp_path: Path, study: Srd) -> None:
    words = ("--topics", 20, "--judged", 10, "--epochs", 1)
    for name in ("a", "b"):
        shown = study.works("policies", *words, "--out", tmp_path / name).out
    assert {folder.name for folder in (tmp_path / "a").iterdir()} == set(PLANS)
    for folder in (tmp_path / "a").iterdir():
        assert (folder / "model.safetensors").read_bytes() == (
            tmp_path / "b" / folder.name / "model.safetensors"
        ).read_bytes()
        (score,) = re.findall(rf"`pretrained:{folder.name}` \| (.*) \|", (folder / "card.md").read_text())
        (same,) = re.findall(rf"{folder.name} +(0\.\d+)", shown)
        assert float(score) == pytest.approx(float(same), abs=6e-4)
        load_trained(folder)


@pytest.mark.filterwarnings("error")
def test_those_that_come_along_load_without_a_warning() -> None:
    for name in pretrained_names():
        load_ranker(name)


def test_those_that_come_along_are_of_the_plans() -> None:
    assert [name.removeprefix("pretrained:") for name in pretrained_names()] == sorted(PLANS)
    for name, (ranker, options) in PLANS.items():
        content = ModelInfo.read(model_folder(f"pretrained:{name}"))
        assert content.ranker == ranker
        assert {key: content.config[key] for key in options} == options
