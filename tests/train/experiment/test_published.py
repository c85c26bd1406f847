"""Published figures in a recipe: checked against its rows, shown beside ours, and no part of a cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_srd import Srd

from srd_train.experiment.cells import tasks
from srd_train.experiment.recipe import load_recipe, recipe_from

RECIPE = """
title = "mine"
reference = "mmr"
measures = ["alpha_nDCG@5", "StRecall@5"]
[[topics]]
name = "one"
source = "synthetic:tiny:12:0"
run_folds = [2]
published_source = "A paper, Table 1, alpha_nDCG@5"
[topics.published]
mmr = 0.25
"very random" = 0.125
[[topics]]
name = "two"
source = "synthetic:tiny:12:1"
run_folds = [2]
[[rankers]]
ranker = "mmr"
[[rankers]]
ranker = "random"
name = "very random"
[[rankers]]
ranker = "oracle"
"""


def test_published_figures_stand_beside_ours(srd: Srd, tmp_path: Path) -> None:
    path, page = tmp_path / "mine.toml", tmp_path / "page.md"
    path.write_text(RECIPE)
    shown = srd.works("benchmark", path, "--out", tmp_path / "out", "--markdown", page)
    assert "Published: A paper, Table 1, alpha_nDCG@5." in shown.out
    one, two = page.read_text().split("**two:")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in one.splitlines() if line.startswith("| ")]
    heads, _, *rows = rows
    assert heads[:4] == ["ranker", "alpha_nDCG@5", "published", "95% interval"]
    assert {row[0]: row[2] for row in rows} == {"mmr": "0.2500", "very random": "0.1250", "oracle": "-"}
    assert all(len(row) == len(heads) for row in rows)
    assert one.rstrip().endswith("Published: A paper, Table 1, alpha_nDCG@5.")
    assert "| published |" not in two
    assert "Published:" not in two

    # Other figures are the same cells.
    path.write_text(RECIPE.replace("0.25", "0.375").replace("A paper", "Another"))
    again = srd.works("benchmark", path, "--out", tmp_path / "out", "--json")
    assert "6 of 6 cells were finished before" in again.err
    first, second = again.json["tables"]
    assert first["published"] == {"mmr": 0.375, "very random": 0.125}
    assert first["published_source"] == "Another, Table 1, alpha_nDCG@5"
    assert second["published"] == {}


def test_published_figures_do_not_rename_a_cell() -> None:
    def ids(**changes: Any) -> list[str]:
        entry = {"name": "t", "source": "synthetic:tiny:12:0", **changes}
        content = {"title": "t", "reference": "random", "topics": [entry], "rankers": [{"ranker": "random"}]}
        return [cell.id for task in tasks(recipe_from(content, "r", "r.toml")) for cell in task.cells]

    assert ids(published={"random": 0.5}, published_source="a paper") == ids()
    assert ids(folds=4) != ids()


def test_figures_of_no_row_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(RECIPE.replace('"very random" = ', '"very randon" = '))
    with pytest.raises(
        ValueError, match=r"line 12: unknown row of a published figure .*: 'very randon'\. Did you mean very"
    ):
        load_recipe(str(path))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"published": {"mmr": 0.5}}, "published figures and published_source belong together"),
        ({"published_source": "a paper"}, "published figures and published_source belong together"),
        ({"published": {"mmr": "0.5"}, "published_source": "a"}, "'mmr' in published must be a number, got '0.5'"),
        ({"published": {"mmr": True}, "published_source": "a"}, "must be a number, got True"),
        ({"published": {"mmr": float("nan")}, "published_source": "a"}, "must be a finite number, got nan"),
        ({"published": [0.5], "published_source": "a"}, r"published must be a table"),
    ],
)
def test_figures_that_say_too_little_are_refused(changes: dict[str, Any], message: str) -> None:
    entry = {"name": "one", "source": "synthetic:tiny", **changes}
    with pytest.raises(ValueError, match=message):
        recipe_from({"title": "t", "reference": "mmr", "topics": [entry], "rankers": [{"ranker": "mmr"}]}, "r", "R")
