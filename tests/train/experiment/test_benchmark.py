from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_srd import Srd

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.data.trec import read_run
from srd_gym.topic import TopicSet
from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.cells import Cell, CellResult, run_fit, tasks
from srd_train.experiment.recipe import RankerEntry, Recipe, TopicsEntry
from srd_train.report.columns import plain_columns
from srd_train.report.results import Description
from srd_train.report.tables import complete_tables

TIMES = {"wall_seconds", "cpu_seconds", "fit_seconds", "fit_cpu_seconds", "rank_seconds", "rank_cpu_seconds"}
TIMES |= {"commit", "history"}


def recipe(*rankers: RankerEntry, **changes: Any) -> Recipe:
    entries = rankers or (
        RankerEntry(ranker="random"),
        RankerEntry(ranker="mmr", grid={"lambda_": (0.2, 0.8)}, seeds=(0,)),
        RankerEntry(ranker="oracle", seeds=(0,)),
    )
    options: dict[str, Any] = {
        "name": "r",
        "title": "r",
        "topics": (TopicsEntry(name="tiny", source="synthetic:tiny:15:0", folds=3),),
        "rankers": entries,
        "reference": entries[0].name,
        "measures": ("alpha_nDCG@5", "StRecall@5"),
        "seeds": (0, 1),
    }
    return Recipe(**(options | changes))


def timeless(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if key not in TIMES} for record in records]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("results")
    return out, run_benchmark(recipe(), out)


def test_a_benchmark_is_the_product_of_its_lists(finished: tuple[Path, list[dict[str, Any]]]) -> None:
    _, records = finished
    points = {(record["ranker"], record["fold"], record["seed"]) for record in records}
    expected = {("random", fold, seed) for fold in (1, 2, 3) for seed in (0, 1)}
    expected |= {(name, fold, 0) for name in ("mmr", "oracle") for fold in (1, 2, 3)}
    assert points == expected
    assert len(records) == len(expected)


def test_a_cell_leaves_a_json_line_and_a_run(finished: tuple[Path, list[dict[str, Any]]]) -> None:
    out, records = finished
    for record in records:
        text = (out / "cells" / f"{record['cell']}.json").read_text()
        assert text.count("\n") == 1
        assert json.loads(text) == record
        rankings = read_run(out / record["run"]).rankings
        assert set(rankings) == set(record["per_topic"])
        for key in ("config", "commit", "versions", "seed", "fold", "wall_seconds", "cpu_seconds", "environment_steps"):
            assert key in record


@given(lost=st.sets(st.integers(0, 11)), how=st.sampled_from(["record", "run", "truncated"]))
@settings(max_examples=8, deadline=None)
def test_what_is_missing_is_run_again_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
    finished: tuple[Path, list[dict[str, Any]]],
    lost: set[int],
    how: str,
) -> None:
    out, before = finished
    for index in lost:
        record = out / "cells" / f"{before[index]['cell']}.json"
        if how == "run":
            (out / before[index]["run"]).unlink()
        elif how == "record":
            record.unlink()
        else:
            record.write_text(record.read_text()[: len(record.read_text()) // 2])
    seen: list[bool] = []
    after = run_benchmark(recipe(), out, report=lambda _cell, _record, found: seen.append(found))
    assert [i for i, found in enumerate(seen) if not found] == sorted(lost)
    assert timeless(after) == timeless(before)
    assert not list(out.rglob("*.partial"))


def test_an_interrupted_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    ran: list[bool] = []

    def interrupt(*_: object) -> None:
        ran.append(True)
        if len(ran) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_benchmark(recipe(), tmp_path, report=interrupt)
    again: list[bool] = []
    run_benchmark(recipe(), tmp_path, report=lambda _cell, _record, found: again.append(found))
    assert again == [True] * 4 + [False] * 8


def test_other_options_topics_or_measures_are_other_cells(tmp_path: Path) -> None:
    def ids(made: Recipe) -> set[str]:
        return {cell.id for task in tasks(made) for cell in task.cells}

    first = ids(recipe())
    assert ids(recipe()) == first
    assert not first & ids(recipe(depth=5))
    assert not first & ids(recipe(measures=("alpha_nDCG@5",)))
    other = (TopicsEntry(name="tiny", source="synthetic:tiny:15:1", folds=3),)
    assert not first & ids(recipe(topics=other))
    file = tmp_path / "t.parquet"
    write_topics(file, generate("tiny", n_topics=15, seed=0))
    from_file = (TopicsEntry(name="tiny", source=str(file), folds=3),)
    kept = ids(recipe(topics=from_file))
    write_topics(file, generate("tiny", n_topics=15, seed=2))
    assert not kept & ids(recipe(topics=from_file))


def scrambled(topics: TopicSet, query_ids: tuple[str, ...]) -> TopicSet:
    """The same set with other judgments for these topics."""
    rng = np.random.default_rng(0)
    return topics.replace(
        dataclasses.replace(topic, judgments=rng.permuted(topic.judgments, axis=0))
        if topic.query_id in query_ids
        else topic
        for topic in topics
    )


def result_of(cell: Cell, topics: TopicSet) -> CellResult:
    (result,) = run_fit([cell], topics)
    assert not result.failed, result.record["error"]
    return result


@pytest.mark.parametrize(
    "entry",
    [
        RankerEntry(ranker="mmr"),
        RankerEntry(ranker="mdp-div", config={"epochs": 2}),
        RankerEntry(ranker="reinforce", grid={"learning_rate": (0.001, 0.1)}, config={"epochs": 2}),
    ],
)
def test_test_judgments_change_nothing_but_scores(entry: RankerEntry) -> None:
    task = next(tasks(recipe(entry, seeds=(0,))))
    honest = result_of(task.cells[0], task.topics)
    test_ids = tuple(honest.record["per_topic"])
    blind = result_of(task.cells[0], scrambled(task.topics, test_ids))
    assert blind.rankings == honest.rankings
    assert blind.record["per_topic"] != honest.record["per_topic"]
    for key in ("chosen", "trials", "validation", "config"):
        assert blind.record[key] == honest.record[key]


def test_environment_steps_are_counted() -> None:
    entry = RankerEntry(ranker="reinforce", config={"epochs": 2, "rollouts": 3, "horizon": 4, "patience": 0})
    task = next(tasks(recipe(entry, seeds=(0,))))
    record = result_of(task.cells[0], task.topics).record
    assert record["environment_steps"] == 2 * 3 * 4 * record["topic_set"]["train"]


def test_without_a_retrieval_order_there_is_no_such_row() -> None:
    entries = (RankerEntry(ranker="random"), RankerEntry(ranker="retrieval-order"))
    bare = TopicsEntry(name="t", source="synthetic:tiny:9:0", folds=3)
    topics = next(tasks(recipe(*entries, topics=(bare,)))).topics
    assert topics.has_retrieval_order
    names = {cell.ranker.name for task in tasks(recipe(*entries, topics=(bare,))) for cell in task.cells}
    assert names == {"random", "retrieval-order"}


def test_tables_say_what_the_records_say(finished: tuple[Path, list[dict[str, Any]]]) -> None:
    _, records = finished
    (table,), _ = complete_tables(records, Description(recipes=(recipe(),)), reference="mmr", resamples=500)
    assert table.tested == 15
    assert table.folds == (1, 2, 3)
    assert table.marks == ("simulated",)
    assert "simulated vectors" in table.title
    assert "ideal of the candidates" in table.title
    rows = {row.ranker: row for row in table.rows}
    assert list(rows) == ["random", "mmr", "oracle"]
    by_hand = [
        np.mean([record["per_topic"][query_id]["alpha_nDCG@5"] for record in records if record["ranker"] == "random"
                 and query_id in record["per_topic"]])
        for query_id in sorted({query_id for record in records for query_id in record["per_topic"]})
    ]  # fmt: skip
    assert rows["random"].means["alpha_nDCG@5"] == pytest.approx(np.mean(by_hand))
    assert rows["random"].seeds == (0, 1)
    assert rows["random"].seed_spread["alpha_nDCG@5"] is not None
    assert rows["mmr"].seed_spread["alpha_nDCG@5"] is None
    assert rows["mmr"].p_value is None
    assert rows["oracle"].p_value is None
    assert rows["random"].p_value is not None
    for row in table.rows:
        low, high = row.intervals["alpha_nDCG@5"]
        assert low <= row.means["alpha_nDCG@5"] <= high
    assert complete_tables(records, Description(recipes=(recipe(),)), reference="mmr", resamples=500) == ([table], [])
    two = Description(recipes=(recipe(reference="mmr", second_reference="random"),))
    (both,), _ = complete_tables(records, two, resamples=500)
    assert [row.p_value for row in both.rows] == [row.p_value for row in table.rows]
    (other,), _ = complete_tables(records, two, reference="random", resamples=500)
    assert [row.second_p_value for row in both.rows] == [row.p_value for row in other.rows]
    heads = [column.head for column in plain_columns(both)]
    assert heads[4:6] == ["p against mmr", "p against random"]


RECIPE = """
title = "mine"
reference = "mmr"
measures = ["alpha_nDCG@5"]
[[topics]]
name = "tiny | one"
source = "synthetic:tiny:12:0"
folds = 3
run_folds = [2]
[[rankers]]
ranker = "mmr"
[[rankers]]
ranker = "mdp-div"
name = "short"
config = { epochs = 1 }
"""


def test_the_command_runs_a_recipe_of_ones_own(srd: Srd, tmp_path: Path) -> None:
    path, out, page = tmp_path / "mine.toml", tmp_path / "out", tmp_path / "page.md"
    path.write_text(RECIPE)
    first = srd.works("benchmark", path, "--out", out, "--markdown", page)
    assert "short" in first.out
    assert "fold 2, seed 0: alpha_nDCG@5" in first.err
    again = srd.works("benchmark", path, "--out", out, "--json")
    assert "2 of 2 cells were finished before" in again.err
    (table,) = again.json["tables"]
    assert [row["ranker"] for row in table["rows"]] == ["mmr", "short"]
    text = page.read_text()
    assert text.startswith("# mine\n")
    assert "| short |" in text
    assert "at commit" in text
    fresh = srd.works("benchmark", path, "--out", out, "--fresh")
    assert "finished before" not in fresh.err
    assert "Did you mean smoke" in srd.fails("benchmark", "smoek")


def test_the_results_score_the_same_through_srd_evaluate(srd: Srd, tmp_path: Path) -> None:
    topics = generate("tiny", n_topics=12, seed=0)
    made = recipe(RankerEntry(ranker="mmr"), topics=(TopicsEntry(name="t", source="synthetic:tiny:12:0", folds=3),))
    qrels = tmp_path / "qrels"
    lines = [
        f"{topic.query_id} {s} {doc_id} {int(grade)}\n"
        for topic in topics
        if topic.judgments is not None
        for doc_id, row in zip(topic.doc_ids, topic.judgments, strict=True)
        for s, grade in zip(topic.subtopic_ids, row, strict=True)
    ]
    qrels.write_text("".join(lines))
    for record in run_benchmark(made, tmp_path / "out"):
        run = tmp_path / "out" / record["run"]
        words = ("evaluate", "--qrels", qrels, "--run", run, "--measures", "StRecall@5", "--json", "--per-topic")
        official = srd.works(*words).json["per_topic"]
        for query_id, values in record["per_topic"].items():
            assert official[query_id]["StRecall@5"] == pytest.approx(values["StRecall@5"])
