"""The TIST paper's recipe: its years, and that it and its companion name what exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from srd_agents.registry import RANKERS
from srd_train.experiment.recipe import TopicsEntry, load_recipe
from srd_train.experiment.sources import load_entry


def test_only_trec_indri_has_years() -> None:
    with pytest.raises(ValueError, match=r"topics 'mine': only trec-indri has years to choose, not 'ambient'"):
        TopicsEntry(name="mine", source="ambient", years=(2009,))


@pytest.mark.parametrize("name", ["tist", "tist-texts", "tist-du-div"])
def test_recipes_can_be_configured(name: str) -> None:
    recipe = load_recipe(name)
    for entry in recipe.rankers:
        config = RANKERS[entry.ranker].configure(**entry.config)
        if "(" in entry.name and hasattr(config, "measure"):
            measure = entry.name.split("(")[1].rstrip(")")
            assert config.measure == config.validation_measure == f"{measure}@20"


@pytest.mark.data
def test_years_choose_topics(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRD_DATA_DIR", str(data_dir))
    one = load_entry(TopicsEntry(name="one", source="trec-indri", years=(2010,)))
    assert {int(topic.query_id) for topic in one} <= set(range(51, 101))
    two = load_entry(TopicsEntry(name="two", source="trec-indri", years=(2009, 2010)))
    assert two.query_ids[-len(one) :] == one.query_ids
    assert len(two) > len(one) + 40
    with pytest.raises(FileNotFoundError, match=r"2008.indri.run"):
        load_entry(TopicsEntry(name="none", source="trec-indri", years=(2008,)))
