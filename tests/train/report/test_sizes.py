"""Learning curves over training queries: the table on a page, and the picture of stored scores."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from made_results import cells, recipe_file
from run_srd import Srd

from srd_train.experiment.recipe import Recipe, recipe_from
from srd_train.report.sizes import sizes_markdown, sizes_of
from srd_train.report.tables import complete_tables

SOURCE: dict[str, Any] = {"source": "synthetic:tiny:40:0", "shares": [2, 1, 1]}
RANKERS = [{"ranker": "random"}, {"ranker": "mmr"}, {"ranker": "daletor"}]


def made(*topics: dict[str, Any]) -> Recipe:
    """A recipe with these topic sets."""
    content = {
        "title": "r",
        "reference": "mmr",
        "second_reference": "random",
        "topics": list(topics),
        "rankers": RANKERS,
    }
    return recipe_from(content, "r", "r.toml")


def test_topic_sets_that_differ_in_size_alone_are_one_curve() -> None:
    recipe = made(
        {"name": "a, b, 20", "train_queries": 20, **SOURCE},
        {"name": "a, b, 5", "train_queries": 5, "epochs_factor": 4, **SOURCE},
        {"name": "a, b, some rows", "train_queries": 10, "rankers": ["mmr"], **SOURCE},
        {"name": "fewer candidates", "train_queries": 5, "candidates": 3, **SOURCE},
        {"name": "other folds", "train_queries": 5, "folds": 4, **SOURCE},
        {"name": "whole", **SOURCE},
    )
    (sizes,) = sizes_of(recipe)
    assert sizes.name == "a, b"
    assert list(sizes.topics.items()) == [
        (5, "a, b, 5"), (10, "a, b, some rows"), (20, "a, b, 20"),
    ]  # fmt: skip


def test_the_table_shows_means_by_size_gains_and_cost() -> None:
    recipe = made(*({"name": f"made, {size}", "train_queries": size, **SOURCE} for size in (20, 5)))
    records = []
    for size, learned in ((5, 0.4), (20, 0.7)):
        for ranker, mean, seeds in (("random", 0.3, 1), ("mmr", 0.5, 1), ("daletor", learned, 5)):
            own = cells(ranker, mean, seeds)
            records += [one | {"topic_set": one["topic_set"] | {"name": f"made, {size}"}} for one in own]
    records = [one for one in records if (one["ranker"], "5" in one["topic_set"]["name"]) != ("mmr", True)]
    text = sizes_markdown(complete_tables(records, recipe)[0], recipe)
    assert "**made: alpha_nDCG@5 by training queries**" in text
    heads, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    assert heads == ["ranker", "5", "20", "over random", "over mmr", "training, s"]
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["random"] == ["0.310", "0.310", "-", "-0.200 [-0.200, -0.200]", "-"]
    assert by_name["mmr"] == ["-", "0.510", "+0.200 [+0.200, +0.200]", "-", "-"]
    assert by_name["daletor"][:2] == ["0.411", "0.711"]
    assert re.fullmatch(r"\+0\.401 \[\+0\.\d{3}, \+0\.\d{3}\]", by_name["daletor"][2])
    assert by_name["daletor"][-1] == "1.00"


def test_a_benchmark_of_several_sizes_gets_its_table(srd: Srd, tmp_path: Path) -> None:
    learner = 'ranker = "daletor"\nseeds = [0, 1]\nconfig = { epochs = 2, width = 8 }'
    source = 'source = "synthetic:tiny:40:0"\nshares = [2, 1, 1]\ntrain_queries = '
    topics = f'{source}20\n[[topics]]\nname = "tiny, 5"\n{source}5'
    recipe, page = recipe_file(tmp_path, learner, "random", "mmr", topics=topics), tmp_path / "page.md"
    srd.works("benchmark", recipe, "--out", tmp_path / "results", "--markdown", page)
    text = page.read_text()
    assert text.index("alpha_nDCG@5 by training queries**") < text.index("**tiny: 10 test topics")
    assert "**tiny, 5: 10 test topics" not in text
