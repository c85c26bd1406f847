"""Recipes of our own sources: their topic files are made, and are those that published scores are of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from markdown_code import ROOT
from small_wordnet import dictionary

from srd_gym.data import read_topics
from srd_train.experiment.recipe import load_recipe
from srd_train.experiment.sources import load_entry
from srd_train.experiment.split import split_topics
from studies.claims.stored import Stored
from studies.sources import RECIPES
from studies.sources import __main__ as study


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The words of commands, which do not run; in a folder without topic files."""
    words: list[list[str]] = []
    monkeypatch.setattr(study, "srd", lambda given: words.append(given) or 0)
    monkeypatch.chdir(tmp_path)
    return words


def test_every_file_of_a_recipe_is_one_that_is_made() -> None:
    named = {entry.source for file in RECIPES.glob("*.toml") for entry in load_recipe(str(file)).topics}
    assert {source for source in named if source.startswith("topics/")} == set(study.MADE)


def test_what_is_there_is_not_made_again(ran: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bm25s")
    monkeypatch.setenv("SRD_DATA_DIR", str(tmp_path))
    folder = dictionary().write(tmp_path / "wordnet")
    bank = {"document_ids": [f"{n:08d}-{kind}" for n in range(100) for kind in "nav"], "query_ids": ["bank"]}
    vectors = {f"{kind}_vectors": np.ones((len(bank[f"{kind}_ids"]), 2)) for kind in ("document", "query")}
    np.savez(folder / "minilm-384.npz", **bank, **vectors)
    assert study.main(["texts-tuned", "--jobs", "2"]) == 0
    assert ran == [["benchmark", str(RECIPES / "texts-tuned.toml"), "--jobs", "2"]]
    made = Path("topics/wordnet-minilm.parquet")
    assert (read_topics(made).name, read_topics(made).vector_width) == ("wordnet nouns", 2)
    before = made.stat().st_mtime_ns
    assert study.main(["texts-tuned"]) == 0
    assert made.stat().st_mtime_ns == before
    assert study.main(["ambient"]) == 2


@pytest.mark.data
@pytest.mark.usefixtures("data_dir", "ran")
@pytest.mark.parametrize("name", ["composed", "composed-trec"])
def test_topics_are_those_of_the_published_scores(name: str) -> None:
    study.main([name])
    stored = Stored(ROOT / "docs" / "results")
    for entry in load_recipe(str(RECIPES / f"{name}.toml")).topics:
        topics = load_entry(entry)
        (published,) = {record["topic_set"]["fingerprint"] for record in stored.table(name, entry.name).records}
        assert topics.fingerprint == published
        fold = split_topics(topics, fold=f"1/{entry.folds}")
        about = [{text for topic in part for text in topic.subtopic_texts or ()} for part in (fold.train, fold.test)]
        assert bool(about[0] & about[1]) == ("recur" in entry.name), "no subtopic is in two folds unless it is to recur"
