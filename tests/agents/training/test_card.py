"""Cards of trained rankers: what the hub reads in them, and what people do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from noisy_linear import NoisyLinear, NoisyLinearConfig
from small_topics import refused

from srd_agents import load_ranker
from srd_agents.training import write_card
from srd_gym.data import generate
from srd_train.cli import main

TOPICS = generate("tiny", n_topics=15, seed=0)


def front(card: Path) -> dict[str, Any]:
    """The entries of the front matter, each a line of JSON."""
    begin, lines, body = card.read_text(encoding="utf-8").split("---\n", 2)
    assert begin == ""
    assert body.startswith("\n# ")
    return {name: json.loads(value) for name, value in (line.split(": ", 1) for line in lines.splitlines())}


def test_the_card_holds_what_the_folder_records(tmp_path: Path) -> None:
    learner = NoisyLinear(NoisyLinearConfig(epochs=2))
    history = learner.fit(TOPICS[:10], TOPICS[10:], seed=3)
    learner.save(tmp_path)
    entries = front(write_card(tmp_path))
    assert entries["library_name"] == "srd-gym"
    assert entries["tags"] == ["search-result-diversification", learner.name]
    assert "license" not in entries, "nobody said which"
    ((metric,),) = [result["metrics"] for result in entries["model-index"][0]["results"]]
    assert (metric["type"], metric["value"]) == (history.measure, history.best_validation)
    refused(lambda: write_card(tmp_path), "README.md is there already; delete", FileExistsError)
    (tmp_path / "README.md").unlink()
    entries = front(write_card(tmp_path, license="mit", tags=["medical", learner.name]))
    assert entries["license"] == "mit"
    assert entries["tags"][2:] == ["medical"]


def test_what_srd_train_leaves_of_a_heuristic_has_a_card_and_still_ranks(tmp_path: Path) -> None:
    assert main(["train", "mmr", "--topics", "synthetic:tiny:20", "--out", str(tmp_path / "mmr")]) == 0
    card = write_card(tmp_path / "mmr")
    assert "model-index" not in front(card), "no measure is stored"
    text = card.read_text(encoding="utf-8")
    assert "`lambda_=" in text
    assert "synthetic:tiny (simulated vectors)" in text
    assert len(load_ranker(tmp_path / "mmr").rank(TOPICS[0], 3)) == 3


def test_wrong_folders_and_arguments_are_named(tmp_path: Path) -> None:
    refused(lambda: write_card(tmp_path), "config of a trained ranker", FileNotFoundError)
    refused(lambda: write_card(tmp_path, tags="mit"), "tags must be a list of texts", TypeError)
    refused(lambda: write_card(tmp_path, tags=[3]), "tags must be a list of texts", TypeError)  # type: ignore[list-item]
    refused(lambda: write_card(tmp_path, license=3), "license", TypeError)  # type: ignore[arg-type]


def test_yaml_reads_the_front_matter(tmp_path: Path) -> None:
    learner = NoisyLinear(NoisyLinearConfig(epochs=1))
    learner.fit(TOPICS[:10], TOPICS[10:], seed=3)
    learner.save(tmp_path)
    card = write_card(tmp_path, license="mit")
    assert yaml.safe_load(card.read_text(encoding="utf-8").split("---\n")[1]) == front(card)
