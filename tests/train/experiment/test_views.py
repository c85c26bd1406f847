"""Rows that rank in several ways with one fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_results import TINY, recipe, table_of

from srd_agents.registry import make_ranker
from srd_gym.trec_files import read_run
from srd_train.experiment import benchmark
from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.cells import tasks
from srd_train.experiment.recipe import RankerEntry, Recipe, View
from srd_train.experiment.selection import ResolvedRanker
from srd_train.experiment.sources import load_entry
from srd_train.report.markup import notes

TOPICS = replace(TINY, run_folds=(1, 2))
OPTIONS = {"epochs": 1, "simulations": 4, "hidden_size": 3, "horizon": 3}
WAYS: dict[str, dict[str, Any]] = {
    "by value": {"rank_by": "value"},
    "search 0": {"rank_by": "search", "rank_simulations": 0},
    "search 9": {"rank_by": "search", "rank_simulations": 9},
}
VIEWS = tuple(View(name=name, config=config) for name, config in WAYS.items())


def with_views(views: tuple[View, ...] = VIEWS) -> Recipe:
    raw = RankerEntry(ranker="mcts", name="raw", config=OPTIONS, views=views)
    return recipe("random", raw, topics=(TOPICS,), reference="raw")


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rankers fitted from here on."""
    return counted_fits(monkeypatch)


def counted_fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    fit = benchmark.fit_ranker

    def counted(ranker: ResolvedRanker, *words: Any, **options: Any) -> Any:
        seen.append(ranker.spec.name)
        return fit(ranker, *words, **options)

    monkeypatch.setattr(benchmark, "fit_ranker", counted)
    return seen


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The folder and the records of a run in which one fit serves every view."""
    out = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        fits = counted_fits(patch)
        records = run_benchmark(with_views(), out)
    assert fits == ["random"] * 2 + ["mcts"] * 2  # one for each fold
    return out, records


def test_records_of_views_are_those_of_their_fit(finished: tuple[Path, list[dict[str, Any]]]) -> None:
    out, records = finished
    assert with_views().cells == len(records) == 2 * 5
    by_row = {record["ranker"]: record for record in records if record["fold"] == 1}
    assert list(by_row) == ["random", "raw", "by value", "search 0", "search 9"]
    learned = [by_row[name] for name in list(by_row)[1:]]
    assert {record["fitted_as"] for record in learned} == {"raw"}
    for key in ("fit_cpu_seconds", "history", "environment_steps", "validation"):
        assert all(record[key] == learned[0][key] for record in learned), key
    assert [record["config"]["rank_by"] for record in learned] == ["policy", "value", "search", "search"]
    assert all(record["rank_cpu_seconds"] > 0 for record in learned)
    for record in learned:
        assert set(read_run(out / record["run"]).rankings) == set(record["per_topic"])


def test_a_view_ranks_as_the_ranker_itself_would(finished: tuple[Path, list[dict[str, Any]]]) -> None:
    out, records = finished
    fold = load_entry(TOPICS).folds(3, seed=0)[0]
    ranker: Any = make_ranker("mcts", **OPTIONS)
    ranker.fit(fold.train, fold.validation, seed=0)
    for name, way in {"raw": {"rank_by": "policy"}, **WAYS}.items():
        record = next(record for record in records if record["ranker"] == name and record["fold"] == 1)
        rankings = read_run(out / record["run"]).rankings
        twin = ranker.ranking_with(**way)
        for topic in fold.test:
            expected = [topic.doc_ids[i] for i in twin.rank(topic, 5)]
            assert list(rankings[topic.query_id]) == expected


def test_only_the_views_that_are_missing_are_made(finished: tuple[Path, list[dict[str, Any]]], fits: list[str]) -> None:
    out, before = finished
    gone = next(record for record in before if record["ranker"] == "search 9")
    (out / gone["run"]).unlink()
    seen: list[tuple[str, int, bool]] = []
    after = run_benchmark(with_views(), out, report=lambda cell, _, found: seen.append((cell.row, cell.fold, found)))
    assert [place for *place, found in seen if not found] == [["search 9", gone["fold"]]]
    assert fits == ["mcts"]
    assert [record["per_topic"] for record in after] == [record["per_topic"] for record in before]


def test_other_views_do_not_rename_a_cell() -> None:
    def ids(made: Recipe) -> dict[tuple[str, int], str]:
        return {(cell.row, cell.fold): cell.id for task in tasks(made) for cell in task.cells}

    whole, bare = ids(with_views()), ids(with_views(views=()))
    assert all(whole[place] == name for place, name in bare.items())
    assert len(set(whole.values())) == len(whole)
    other = ids(with_views(views=(View(name="search 9", config={"rank_by": "search", "rank_simulations": 8}),)))
    assert other["search 9", 1] != whole["search 9", 1]


def test_tables_say_which_rows_share_a_fit(finished: tuple[Path, list[dict[str, Any]]]) -> None:
    _, records = finished
    table = table_of(records, with_views())
    assert "One fit (raw, a seed and fold) serves 4 rows: raw; by value; search 0; search 9." in notes(table)
    assert "random" not in " ".join(notes(table))
    rows = {row.ranker: row for row in table.rows}
    assert rows["raw"].means == rows["search 0"].means
