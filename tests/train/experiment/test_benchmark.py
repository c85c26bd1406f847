from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import TINY, recipe, recipe_file, table_of, timeless
from run_srd import Srd
from small_topics import refused

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from srd_gym.trec_files import read_run
from srd_train.experiment.benchmark import CellResult, in_process, run_benchmark, run_fit
from srd_train.experiment.cells import Cell, Task, tasks
from srd_train.experiment.recipe import RankerEntry, Recipe, chosen_at_edges
from srd_train.experiment.sources import TopicsEntry
from srd_train.report.markup import plain_cells
from srd_train.report.results import read_scores

PRODUCT = recipe(
    "random",
    RankerEntry(ranker="mmr", grid={"lambda_": (0.2, 0.8)}, seeds=(0,)),
    RankerEntry(ranker="oracle", seeds=(0,)),
    measures=("alpha_nDCG@5", "StRecall@5"),
    seeds=(0, 1),
)


def ids(made: Recipe) -> set[str]:
    """The names of its cells."""
    return {cell.id for task in tasks(made) for cell in task.cells}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("results")
    return out, run_benchmark(PRODUCT, out)


def test_a_benchmark_is_the_product_of_its_lists_and_each_cell_leaves_a_line_and_a_run(
    finished: tuple[Path, list[dict[str, Any]]],
) -> None:
    out, records = finished
    expected = {("random", fold, seed) for fold in (1, 2, 3) for seed in (0, 1)}
    expected |= {(name, fold, 0) for name in ("mmr", "oracle") for fold in (1, 2, 3)}
    assert {(record["ranker"], record["fold"], record["seed"]) for record in records} == expected
    assert len(records) == len(expected)
    for record in records:
        text = (out / "cells" / f"{record['cell']}.json").read_text()
        assert text.count("\n") == 1
        assert json.loads(text) == record
        assert set(read_run(out / record["run"]).rankings) == set(record["per_topic"])
        assert {"config", "commit", "versions", "wall_seconds", "cpu_seconds", "environment_steps"} <= record.keys()


@given(lost=st.sets(st.integers(0, 11)), how=st.sampled_from(["record", "run", "truncated", "garbled"]))
@settings(max_examples=8, deadline=None)
def test_what_is_missing_is_run_again_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, finished: tuple[Path, list[dict[str, Any]]], lost: set[int], how: str
) -> None:
    out, before = finished
    for index in lost:
        record = out / "cells" / f"{before[index]['cell']}.json"
        if how == "run":
            (out / before[index]["run"]).unlink()
        elif how == "record":
            record.unlink()
        elif how == "garbled":
            content = json.loads(record.read_text())
            record.write_text(json.dumps({name: value for name, value in content.items() if name != "per_topic"}))
        else:
            record.write_text(record.read_text()[: len(record.read_text()) // 2])
    seen: list[bool] = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        after = run_benchmark(PRODUCT, out, report=lambda _cell, _record, found: seen.append(found))
    assert len(said) == (len(lost) if how in ("truncated", "garbled") else 0)
    assert all("Its cell is run again" in str(one.message) for one in said)
    assert [i for i, found in enumerate(seen) if not found] == sorted(lost)
    assert timeless(after) == timeless(before)
    assert not list(out.rglob("*.partial"))


def test_only_what_a_killed_run_was_writing_is_removed(tmp_path: Path) -> None:
    left = [tmp_path / folder / ".cell.json.0123abcd.partial" for folder in ("cells", "runs", "failed", "mine")]
    left.append(tmp_path / "runs" / ".notes.partial")
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    run_benchmark(recipe("random"), tmp_path)
    assert [path.exists() for path in left] == [False, False, False, True, True]


def test_an_interrupted_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    ran: list[bool] = []

    def interrupt(*_: object) -> None:
        ran.append(True)
        if len(ran) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_benchmark(PRODUCT, tmp_path, report=interrupt)
    again: list[bool] = []
    run_benchmark(PRODUCT, tmp_path, report=lambda _cell, _record, found: again.append(found))
    assert again == [True] * 4 + [False] * 8


def test_a_run_that_is_made_anew_is_never_beside_the_record_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run_benchmark(recipe("random"), tmp_path)
    assert len(list((tmp_path / "cells").iterdir())) == 3
    monkeypatch.setattr("srd_train.experiment.benchmark.write_run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(recipe("random"), tmp_path, fresh=True)
    assert len(list((tmp_path / "cells").iterdir())) == 2


@pytest.mark.parametrize(
    ("more", "again"), [((), "the same command"), (("--fresh",), "the same command without --fresh")]
)
def test_an_interrupted_benchmark_says_how_to_go_on(
    srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], again: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("srd_train.commands.benchmark.run_benchmark", interrupt)
    done = srd("benchmark", "smoke", "--out", tmp_path, *more)
    assert done.err == f"error: interrupted; {again} goes on with the runs that are not finished\n"


def test_other_options_topics_or_measures_are_other_cells_and_what_tables_add_is_not(tmp_path: Path) -> None:
    def changed(**options: Any) -> Recipe:
        return replace(PRODUCT, topics=(replace(TINY, **options),))

    first = ids(PRODUCT)
    assert ids(PRODUCT) == first == ids(changed(published={"mmr": 0.5}, published_source="a paper"))
    assert not first & ids(replace(PRODUCT, depth=6))
    assert not first & ids(replace(PRODUCT, measures=("alpha_nDCG@5",)))
    assert not first & ids(changed(source="synthetic:tiny:15:1"))
    assert not first & ids(changed(folds=4))
    file = tmp_path / "t.parquet"
    write_topics(file, generate("tiny", n_topics=15, seed=0))
    kept = ids(changed(source=str(file)))
    write_topics(file, generate("tiny", n_topics=15, seed=2))
    assert not kept & ids(changed(source=str(file)))


def test_a_model_or_folds_that_have_changed_make_other_cells(
    srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def train(seed: int) -> None:
        shutil.rmtree("model", ignore_errors=True)
        srd.works("train", "r-ltr", "--topics", "synthetic:tiny:12", "--out", "model", "--epochs", 1, "--seed", seed)

    def folds(*tests: str) -> None:
        Path("folds.yml").write_text("".join(f"fold{i}: [tiny-0-{j}]\n" for i, j in enumerate(tests, start=1)))

    train(0)
    folds("0", "1", "2")
    pruned = 'ranker = "mdp-div"\nconfig = { epochs = 1, pruning = "knn:0.1+ranker:0.9:reset:model" }'
    topics = 'source = "synthetic:tiny:12:0"\nfolds_file = "folds.yml"\nrun_folds = [1]'
    words = ("benchmark", recipe_file(tmp_path, pruned, "mmr", topics=topics), "--out", "out")
    srd.works(*words)
    assert "2 of 2 runs were finished before" in srd.works(*words).err
    train(1)
    assert "1 of 2 runs were finished before" in srd.works(*words).err
    folds("0", "2", "1")
    assert "finished before" not in srd.works(*words).err


def test_folds_below_the_folder_of_data_that_have_changed_are_run_again(
    srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SRD_DATA_DIR", str(tmp_path))
    topics = 'source = "synthetic:tiny:12:0"\nfolds_file = "f.yml"\nrun_folds = [1]'
    words = ("benchmark", recipe_file(tmp_path, "mmr", topics=topics), "--out", tmp_path / "out")
    for query, said in (("0", False), ("0", True), ("5", False)):
        text = "".join(f"fold{i}: [tiny-0-{j}]\n" for i, j in enumerate((query, "1", "2"), start=1))
        (tmp_path / "f.yml").write_text(text)
        assert ("1 of 1 runs were finished before" in srd.works(*words).err) == said


def test_a_recipe_of_something_else_is_kept(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text('{"name": "Pancakes"}')
    refused(lambda: run_benchmark(recipe("random"), tmp_path), "is not a recipe of benchmarks")
    assert [path.name for path in tmp_path.iterdir()] == ["recipe.json"]


def test_runs_of_other_code_are_told_where_a_benchmark_goes_on(
    srd: Srd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("benchmark", recipe_file(tmp_path, "random", "mmr"), "--out", tmp_path / "out")
    srd.works(*words)
    assert "2 of 2 runs were finished before (--fresh" in srd.works(*words).err
    monkeypatch.setattr("srd_train.commands.benchmark.commit", lambda: "another")
    said = "2 of 2 runs were finished before, 2 of them by other code or versions (--fresh repeats them)"
    assert said in srd.works(*words).err


def test_names_of_any_length_make_file_names_that_differ() -> None:
    one, other = (ids(recipe("random", topics=(replace(TINY, name="x" * 500 + end, run_folds=(1,)),))) for end in "ab")
    assert not one & other
    assert len(f".{one.pop()}.json.part") < 200


def scrambled(topics: TopicSet, query_ids: tuple[str, ...]) -> TopicSet:
    """The same set with other judgments for these topics."""
    rng = np.random.default_rng(0)
    mixed = {t.query_id: replace(t, judgments=rng.permuted(t.judgments, axis=0)) for t in topics.select(query_ids)}
    return topics.replace(mixed.get(topic.query_id, topic) for topic in topics)


def result_of(cell: Cell, topics: TopicSet) -> CellResult:
    (result,) = run_fit([cell], topics)
    assert not result.failed, result.record["error"]
    return result


@pytest.mark.parametrize("entry", [
    RankerEntry(ranker="mmr"),
    RankerEntry(ranker="mdp-div", config={"epochs": 2}),
    RankerEntry(ranker="reinforce", grid={"learning_rate": (0.001, 0.1)}, config={"epochs": 2}),
])  # fmt: skip
def test_test_judgments_change_nothing_but_scores(entry: RankerEntry) -> None:
    task = next(tasks(recipe(entry)))
    honest = result_of(task.cells[0], task.topics)
    test_ids = tuple(honest.record["per_topic"])
    blind = result_of(task.cells[0], scrambled(task.topics, test_ids))
    assert blind.rankings == honest.rankings
    assert blind.record["per_topic"] != honest.record["per_topic"]
    for key in ("chosen", "trials", "validation", "config"):
        assert blind.record[key] == honest.record[key]


def test_a_grid_tried_with_one_seed_chooses_for_the_others_on_the_rows_own_measure() -> None:
    config, grid = {"epochs": 2}, {"learning_rate": (0.001, 0.5, 0.01)}
    entry = RankerEntry(ranker="mdp-div", config=config, grid=grid, grid_seed=0, select_by="StRecall@5")
    made = list(tasks(recipe(entry, seeds=(0, 1))))
    zero, one = (result_of(task.cells[0], task.topics).record for task in made[:2])
    assert (zero["seed"], one["seed"], zero["fold"], one["fold"]) == (0, 1, 1, 1)
    assert [trial["values"]["learning_rate"] for trial in zero["trials"]] == [0.001, 0.5, 0.01]
    assert (one["chosen"], one["trials"], one["select_by"]) == (zero["chosen"], zero["trials"], "StRecall@5")
    ends = chosen_at_edges(recipe(entry), [{**zero, "chosen": {"learning_rate": value}} for value in (0.001, 0.01)])
    assert list(ends) == [
        "tiny, mdp-div: learning_rate=0.001 was chosen at an end of its grid (fold 1); widen the grid"
    ]
    fixed = next(tasks(recipe(RankerEntry(ranker="mdp-div", config=config | one["chosen"]), seeds=(1,))))
    alone = result_of(fixed.cells[0], fixed.topics).record
    assert (alone["per_topic"], alone["config"]) == (one["per_topic"], one["config"])


def test_a_grid_that_one_seed_tries_comes_first_and_is_not_tried_again(tmp_path: Path) -> None:
    entry = RankerEntry(ranker="mdp-div", config={"epochs": 2}, grid={"learning_rate": (0.001, 0.5)}, grid_seed=1)
    topics = (
        replace(TINY, run_folds=(1, 2)),
        replace(TINY, name="again", source="synthetic:tiny:12:1", run_folds=(1,)),
    )
    product = recipe(entry, topics=topics, seeds=(0, 1))
    order = []

    def engine(given: Iterable[Task]) -> Iterator[tuple[Cell, CellResult]]:
        for task in given:
            order.append((task.cells[0].topics.name, task.cells[0].fold, task.cells[0].seed))
            assert (task.choice is None) == (task.cells[0].seed == 1)
            yield from in_process([task])

    records = run_benchmark(product, tmp_path, engine=engine)
    assert order == [("tiny", 1, 1), ("tiny", 2, 1), ("tiny", 1, 0), ("tiny", 2, 0), ("again", 1, 1), ("again", 1, 0)]
    assert [(record["fold"], record["seed"]) for record in records] == [(1, 0), (1, 1), (2, 0), (2, 1), (1, 0), (1, 1)]
    for zero, one in zip(records[::2], records[1::2], strict=True):
        assert (zero["trials"], zero["chosen"]) == (one["trials"], one["chosen"])
        cell = next(task for task in tasks(product) if task.cells[0].id == zero["cell"])
        assert result_of(cell.cells[0], cell.topics).record["per_topic"] == zero["per_topic"]
    # A run that was cut off goes on with what had been chosen.
    (tmp_path / "cells" / f"{records[0]['cell']}.json").unlink()
    order.clear()
    again = run_benchmark(product, tmp_path, engine=engine)
    assert (order, again[0]["per_topic"]) == ([("tiny", 1, 0)], records[0]["per_topic"])


def test_tables_say_what_the_records_say(finished: tuple[Path, list[dict[str, Any]]]) -> None:
    _, records = finished
    table = table_of(records, PRODUCT, reference="mmr")
    assert table.title == "tiny: 15 test topics, folds 1 to 3, simulated vectors, ideal of the candidates"
    rows = {row.ranker: row for row in table.rows}
    assert list(rows) == ["random", "mmr", "oracle"]
    scores = [s["alpha_nDCG@5"] for r in records if r["ranker"] == "random" for s in r["per_topic"].values()]
    assert rows["random"].means["alpha_nDCG@5"] == pytest.approx(np.mean(scores))
    assert rows["random"].seeds == (0, 1)
    assert [row.seed_spread["alpha_nDCG@5"] is None for row in table.rows] == [False, True, True]
    assert [row.p_value is None for row in table.rows] == [False, True, True]
    both = table_of(records, replace(PRODUCT, reference="mmr", second_reference="random"))
    assert [row.p_value for row in both.rows] == [row.p_value for row in table.rows]
    assert [row.second_p_value for row in both.rows] == [row.p_value for row in table_of(records, PRODUCT).rows]
    assert plain_cells(both)[0][4:6] == ["p against mmr", "p against random"]


def test_the_command_runs_a_recipe_of_ones_own_and_shows_published_figures(srd: Srd, tmp_path: Path) -> None:
    topics = 'source = "synthetic:tiny:12:0"\nrun_folds = [2]\npublished_source = "A paper"\n'
    topics += 'published = { mmr = 0.25, "short | one" = 0.125 }'
    learner = 'ranker = "mdp-div"\nname = "short | one"\nconfig = { epochs = 1 }'
    path = recipe_file(tmp_path, learner, "oracle", "mmr", topics=topics)
    words, page = ("benchmark", path, "--out", tmp_path / "out"), tmp_path / "page.md"
    first = srd.works(*words, "--markdown", page)
    assert "Published: A paper." in first.out
    assert "fold 2, seed 0: alpha_nDCG@5" in first.err
    text = page.read_text()
    assert text.startswith("# Small\n")
    assert "at commit" in text
    assert "| ranker | alpha_nDCG@5 | published | 95% interval |" in text
    for name, figure in (("mmr", "0.2500"), (r"short \| one", "0.1250"), ("oracle", "-")):
        assert re.search(rf"^\| {re.escape(name)} \| [\d. †]+ \| {figure} \|", text, re.MULTILINE)
    # Other figures are the same cells.
    path.write_text(path.read_text().replace("0.25", "0.375"))
    again = srd.works(*words, "--json")
    assert "3 of 3 runs were finished before" in again.err
    (table,) = again.json["tables"]
    assert [row["ranker"] for row in table["rows"]] == ["short | one", "oracle", "mmr"]
    assert table["published"]["mmr"] == 0.375
    assert "finished before" not in srd.works(*words, "--fresh").err
    path.write_text(path.read_text().replace("mmr = 0.375", "mrm = 0.375"))
    assert "unknown row of a published figure of topics 'tiny': 'mrm'. Did you mean mmr" in srd.fails(*words)
    assert "Did you mean smoke" in srd.fails("benchmark", "smoek")


def test_a_device_is_that_of_every_learner_that_has_one(srd: Srd, tmp_path: Path) -> None:
    learner = 'ranker = "mdp-div-batched"\nconfig = { epochs = 1, rollouts = 2 }'
    words = ("benchmark", recipe_file(tmp_path, learner, "random"), "--out", tmp_path / "out", "--json")
    plain, same = srd.works(*words).json["tables"], srd.works(*words, "--device", "cpu").json["tables"]
    assert [row["means"] for row in plain[0]["rows"]] == [row["means"] for row in same[0]["rows"]]
    (failed,) = srd(*words, "--device", "nowhere").json["failed"]
    assert failed["ranker"] == "mdp-div-batched"
    assert "got 'nowhere'" in failed["error"]["message"]


def test_stored_runs_stand_beside_rows_of_ones_own(srd: Srd, tmp_path: Path) -> None:
    stored, both = tmp_path / "stored.parquet", tmp_path / "both.parquet"
    known = ('ranker = "mmr"\ngrid = { lambda_ = [0.1, 0.9] }', "oracle", "random")
    srd.works("benchmark", recipe_file(tmp_path, *known), "--out", tmp_path / "theirs", "--scores", stored)
    path = recipe_file(tmp_path, *known, 'ranker = "random"\nname = "mine"')
    first = srd.works("benchmark", path, "--out", tmp_path / "mine", "--beside", stored, "--scores", both)
    assert first.err.count("alpha_nDCG@5 0.") == len(list((tmp_path / "mine" / "cells").iterdir()))
    assert "mine, fold" in first.err
    assert "oracle, fold" not in first.err
    assert all(name in first.out for name in ("mine", "mmr", "oracle"))
    assert "differ" not in srd.works("benchmark", path, "--out", tmp_path / "anew", "--check", both).err
    theirs = {record["cell"]: record for record in read_scores(stored)}
    again = {record["cell"]: record for record in read_scores(both)}
    assert {name: again[name] for name in theirs} == theirs
    assert len(again) > len(theirs)


BARE = {"doc_vectors": None, "query_vector": None, "subtopic_vectors": None}
UNJUDGED = {"judgments": None, "pool": None, "pool_ids": None}


@pytest.mark.parametrize(("row", "changes", "entry", "message"), [
    ("mmr", BARE, {}, "row 'mmr' .* no document vectors"),
    ("xquad", {"subtopic_vectors": None}, {}, "row 'xquad' .* subtopic vectors"),
    ("listmle", {}, {"vectors": "lsa"}, "row 'random' .* no document texts"),
    ("listmle", UNJUDGED, {}, "row 'listmle' .* have no judgments"),
    (RankerEntry(ranker="mmr", grid={"lambda_": (0.1, 0.2)}), UNJUDGED, {}, "row 'mmr' .* have no judgments"),
    ("mmr", {}, {"run_folds": (7,)}, "row 'random' .* there is no fold 7"),
    ("mmr", {}, {"folds": 30}, "row 'random' .* expected 3 to 12 folds"),
    ("mmr", {}, {"folds_file": "folds.yml", "folds": 5}, "row 'random' .* has 4 folds; set folds = 4"),
    ("mmr", {}, {"train_queries": 100}, "row 'random' .* at most 4 queries"),
    ("mmr", {}, {"train_subtopics": ("99",)}, "row 'random' .*99"),
])  # fmt: skip
def test_a_row_that_cannot_run_fails_before_the_first_cell(
    row: RankerEntry | str,
    changes: dict[str, Any],
    entry: dict[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even where it is the second topic set's, and one topic of many lacks what it needs."""
    topics = generate("tiny", n_topics=12, seed=0)
    monkeypatch.chdir(tmp_path)
    Path("folds.yml").write_text("".join(f"fold{i}: [tiny-0-{i}]\n" for i in range(4)))
    every = changes == BARE  # a set has one width
    mine = (replace(topic, **changes) if every or i == 7 else topic for i, topic in enumerate(topics))
    write_topics(tmp_path / "t.parquet", topics.replace(mine))
    second = TopicsEntry(name="mine", source=str(tmp_path / "t.parquet"), **{"folds": 3, **entry})
    made = recipe("random", row, topics=(TINY, second))
    refused(lambda: run_benchmark(made, tmp_path / "out"), f"^topics 'mine', {message}")
    textless = recipe("random", "svm-div")
    refused(lambda: run_benchmark(textless, tmp_path / "out"), "row 'svm-div' .* needs document texts")
    assert not list(tmp_path.glob("out/**/*.json"))
