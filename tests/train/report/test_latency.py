"""Quality against the time to rank."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_srd import Srd

from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.recipe import RankerEntry, Recipe, TopicsEntry, View
from srd_train.report.latency import _figure, boards
from srd_train.report.tables import ResultTable, tables


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[ResultTable]:
    """Tables of two topic sets; a learner that ranks in four ways."""
    small = {"epochs": 1, "simulations": 2, "hidden": 2, "horizon": 2}
    views = (
        View(name="search 40", config={"rank_by": "search", "rank_simulations": 40}),
        View(name="search 4", config={"rank_by": "search", "rank_simulations": 4}),
        View(name="value", config={"rank_by": "value"}),
    )
    recipe = Recipe(
        name="r",
        title="r",
        topics=tuple(TopicsEntry(name=f"tiny {n}", source=f"synthetic:tiny:{n}:0", run_folds=(1,)) for n in (15, 20)),
        rankers=(
            RankerEntry(ranker="random"),
            RankerEntry(ranker="mcts", name="raw", config=small, views=views, seeds=(0, 1)),
            RankerEntry(ranker="oracle"),
        ),
        reference="random",
    )
    return tables(run_benchmark(recipe, tmp_path_factory.mktemp("results")), "random", resamples=50)


def test_rows_of_one_fit_that_differ_in_numbers_alone_are_joined(found: list[ResultTable]) -> None:
    boarded = boards(found)
    assert [board.topics for board in boarded] == ["tiny 15", "tiny 20"]
    # By rising time: 40 simulations take longer than 4, whatever the order in the recipe. The oracle is no competitor.
    names = [[row.ranker for row in family.rows] for family in boarded[0].families]
    assert names == [["random"], ["raw"], ["search 4", "search 40"], ["value"]]
    assert [family.fitted_as for family in boarded[0].families] == ["random", "raw", "raw", "raw"]


def test_boards_have_every_competitor_of_their_table_and_its_first_measure(found: list[ResultTable]) -> None:
    for board, table in zip(boards(found), found, strict=True):
        assert board.measure == table.measures[0]
        rows = [row for family in board.families for row in family.rows]
        assert sorted(row.ranker for row in rows) == sorted(row.ranker for row in table.competitors)
        assert all(row in table.rows for row in rows)


def test_points_stand_where_the_tables_say(found: list[ResultTable]) -> None:
    pytest.importorskip("matplotlib")
    figure = _figure(boards(found))
    for axes, table in zip(figure.axes, found, strict=True):
        drawn = {bars.get_label(): bars.lines[0].get_xydata()[0].tolist() for bars in axes.containers}
        first = table.measures[0]
        assert drawn == {row.ranker: [row.medians["rank_milliseconds"], row.means[first]] for row in table.competitors}


def test_a_benchmark_page_shows_quality_against_time(srd: Srd, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        'title = "Small"\nreference = "random"\n'
        '[[topics]]\nname = "tiny"\nsource = "synthetic:tiny:15:0"\nrun_folds = [1]\n'
        '[[rankers]]\nranker = "random"\n[[rankers]]\nranker = "mmr"\n'
    )
    page, picture = tmp_path / "docs" / "r.md", tmp_path / "docs" / "pictures" / "r.svg"
    picture.parent.mkdir(parents=True)
    words = ["--out", tmp_path / "results", "--markdown", page, "--latency", picture]
    srd.works("benchmark", recipe, *words)
    text = picture.read_text()
    for words_in_it in ("random", "mmr", "processor time to rank a topic, ms", "alpha_nDCG@5, test"):
        assert words_in_it in text
    assert "](pictures/r.svg)" in page.read_text()
    assert "--latency r.svg`, cells at commit" in page.read_text()
    srd.works("benchmark", recipe, *words)
    assert picture.read_text() == text
    assert "ending in .png or .svg" in srd.fails("benchmark", recipe, "--out", tmp_path / "new", "--latency", page)
    assert not (tmp_path / "new").exists()
