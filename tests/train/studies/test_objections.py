"""The ten objections on the page of benchmarks are answered with the figures that the scores and the topics have."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from srd_gym.topic import FloatArray, TopicSet
from srd_train.experiment.folds import fold_of
from srd_train.experiment.recipe import load_recipe
from srd_train.experiment.sources import load_entry
from srd_train.report.significance import adjusted_tests, paired_test
from studies.results.run import DOCS
from studies.results.stored import Stored

FIRST = "MiniLM, cosine, 1,000 training queries"
SECTION = " ".join((DOCS / "benchmark.md").read_text(encoding="utf-8").partition("## Ten objections")[2].split())


def test_settings_tests_and_episodes_are_those_of_the_page() -> None:
    settings = {entry.name: len(entry.resolved.choices) for entry in load_recipe("medical").rankers}
    stored = Stored(DOCS / "results")
    table = stored.set("medical", FIRST)
    counts = table.records[0]["topic_set"]
    scores = {row.ranker: [table.scores[table.measures[0]][row.ranker]] for row in table.competitors}
    tests = adjusted_tests(scores, [name for name in (table.reference, table.second_reference) if name], paired_test)
    episodes = {row.ranker: row.medians.get("environment_episodes", 0) for row in table.rows}
    assert episodes["reinforce"] == episodes["maskable-ppo"]
    for words in (
        f"{counts['validation']} validation queries choose among {settings['mmr, chosen']} settings for MMR, "
        f"{settings['mdp-div-batched']} for MDP-DIV, {settings['maskable-ppo']} for MaskablePPO",
        f"the {counts['train']:,} training queries' texts",
        f"{len(tests)} in the first",
        f"{episodes['reinforce']:,.0f} episodes for `reinforce` and MaskablePPO, "
        f"{episodes['reinforce-subtopics']:,.0f} for `reinforce-subtopics`",
    ):
        assert words in SECTION
    assert settings["reinforce"] == 1
    share = [
        np.mean(table.scores[table.measures[0]][name]) for name in ("mmr, chosen", "relevance", "reinforce-subtopics")
    ]
    assert share[1] - share[0] > (share[2] - share[0]) / 2


def test_twins_are_counted() -> None:
    root = os.environ.get("SRD_DATA_DIR", "")
    if not (Path(root) / "texts" / "medical-questions").is_dir() or not root:
        pytest.skip("the medical questions are not here")
    entry = next(one for one in load_recipe("medical").topics if one.name == FIRST)
    topics = load_entry(replace(entry, retrieve="none"))  # their candidates do not matter
    among = _near(topics, topics)
    np.fill_diagonal(among, False)
    assert f"{among.any(axis=1).sum()} of {len(topics):,} have one (MiniLM cosine above `0.9`)" in SECTION
    for fold in entry.fold_numbers:
        split = fold_of(topics, entry, fold)
        assert split.test is not None
        assert not _near(split.test, split.train).any()
        assert not _near(split.test, split.validation).any()


def _near(some: TopicSet, others: TopicSet) -> FloatArray:
    """Whether queries have a cosine above 0.9: [T, U]."""
    units = []
    for topics in (some, others):
        vectors = np.stack([np.asarray(topic.query_vector, dtype=np.float64) for topic in topics])
        units.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return units[0] @ units[1].T > 0.9
