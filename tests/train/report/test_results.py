from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import cells, recipe, record, table_of, write_records

from srd_train.experiment.benchmark import write_recipe
from srd_train.experiment.recipe import load_recipe
from srd_train.report.markup import as_markdown
from srd_train.report.page import report
from srd_train.report.results import read_results
from srd_train.report.significance import difference_interval
from srd_train.report.tables import complete_tables


def test_a_cut_off_record_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    write_records(tmp_path, [record("mmr"), record("random"), record("oracle")])
    broken = tmp_path / "cells" / "made.random.fold1.seed0.json"
    broken.write_text(broken.read_text()[:300])
    found, problems = read_results(tmp_path)
    assert [one["ranker"] for one in found] == ["mmr", "oracle"]
    (problem,) = problems
    assert problem.kind == "unreadable"
    assert problem.what == str(broken)
    assert "is it cut off?" in problem.why


@pytest.mark.parametrize(("changes", "said"), [
    ({"schema_version": 1}, "written by another version (schema 1, expected 2); run its benchmark again"),
    ({"per_topic": {"q": {"alpha_nDCG@5": float("nan")}}}, "in 'q' in per_topic must be a finite number"),
    ({"per_topic": {"q": {"other": 1.0}}}, "topic 'q': expected scores of alpha_nDCG@5 and of nothing else"),
    ({"per_topic": {}}, "it scores nothing"),
    ({"topic_set": {"name": "made"}}, "full_name is missing"),
    (
        {"history": {"measure": "alpha_nDCG@5", "records": [{"episodes": 3}]}},
        "its history: epoch of record 1 must be a whole number",
    ),
    ({"measures": {"alpha_nDGC@5": 1.0}, "per_topic": {"q": {"alpha_nDGC@5": 1.0}}}, "Did you mean alpha_nDCG"),
])  # fmt: skip
def test_what_is_no_record_is_named(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    write_records(tmp_path, [record("mmr"), record("random", **changes)])
    found, problems = read_results(tmp_path)
    (problem,) = problems
    assert said in problem.why
    assert [one["ranker"] for one in found] == ["mmr"]


def line(**figures: float) -> dict[str, object]:
    """A history of two epochs; the last has these figures too."""
    lines = [{"epoch": 0, "topics": 0}, {"epoch": 1, "topics": 3, "validation": 0.5, "episodes": 3, "steps": 9}]
    return {"history": {"measure": "alpha_nDCG@5", "records": [*lines, {**lines[1], "epoch": 2, **figures}]}}


@pytest.mark.parametrize(("changes", "said"), [
    ({"normalizer": "pol"}, "unknown normalizer: 'pol'. Did you mean pool"),
    ({"normalizer": None}, "normalizer must be"),
    ({"depth": 0}, "depth must be at least 1"),
    ({"history": {}}, None),
    ({"fold": 2**62}, None),
    (line(episodes=-5, steps=-5), None),
    (line(episodes=6, validation=0.7), None),
])  # fmt: skip
def test_one_odd_field_of_a_record_does_not_stop_a_report(
    tmp_path: Path, changes: dict[str, object], said: str | None
) -> None:
    write_records(tmp_path, [record("mmr"), record("random"), record("x", **changes)])
    _, problems = report(tmp_path).html()
    unreadable = [problem for problem in problems if problem.kind == "unreadable"]
    assert [said in problem.why for problem in unreadable] == ([] if said is None else [True])


@pytest.mark.parametrize("text", ['{"name": ".."}', "{", "[]", '{"topics": 1}', "\\xff"])
def test_an_odd_recipe_beside_the_results_does_not_stop_a_report(tmp_path: Path, text: str) -> None:
    write_records(tmp_path, [record("mmr"), record("random")])
    (tmp_path / "recipe.json").write_text(text)
    (tmp_path / "cells" / "folder.json").mkdir()
    made = report(tmp_path)
    assert made.recipe is None
    assert [(problem.kind, problem.what) for problem in made.problems] == [
        ("unreadable", str(tmp_path / name)) for name in ("recipe.json", "cells/folder.json")
    ]
    assert [row.ranker for row in made.tables[0].rows] == ["mmr", "random"]


def test_a_failed_cell_is_shown_with_its_reason_and_its_seed_is_left_out(tmp_path: Path) -> None:
    broken = {"schema_version": 2, "cell": "made.random.fold2.seed0", "error": "ZeroDivisionError: by zero"}
    there = {"q9": {"alpha_nDCG@5": 0.5}}
    second = record("mmr", cell="made.mmr.fold2.seed0", fold=2, per_topic=there)
    write_records(tmp_path, [record("mmr"), second, record("random"), broken])
    found, problems = read_results(tmp_path)
    assert [str(problem) for problem in problems] == ["made.random.fold2.seed0: ZeroDivisionError: by zero"]
    (table,), lacking = complete_tables(found)
    assert [row.ranker for row in table.rows] == ["mmr"]
    assert lacking[0].what == "made, random, seed 0"
    assert "1 of 4 test topics have no scores" in lacking[0].why


def test_of_two_runs_of_a_cell_the_later_counts(tmp_path: Path) -> None:
    old = record("mmr", cell="made.mmr.old", per_topic={f"q{i}": {"alpha_nDCG@5": 0.9} for i in range(3)})
    write_records(tmp_path, [old, record("mmr")])
    os.utime(tmp_path / "cells" / "made.mmr.old.json", (1, 1))
    found, problems = read_results(tmp_path)
    assert [one["cell"] for one in found] == ["made.mmr.fold1.seed0"]
    assert [problem.kind for problem in problems] == ["twice"]


def test_cells_of_earlier_recipes_do_not_count(tmp_path: Path) -> None:
    write_records(tmp_path, [record("mmr"), record("random"), record("msd", cell="made.msd.old")])
    write_recipe(tmp_path, recipe("mmr", "random"))
    assert len(read_results(tmp_path)[0]) == 3, "not all of it was run yet"
    write_recipe(tmp_path, recipe("mmr", "random"), [record("mmr")["cell"], record("random")["cell"]])
    assert [one["ranker"] for one in read_results(tmp_path)[0]] == ["mmr", "random"]
    assert report(tmp_path).recipe == recipe("mmr", "random")
    write_recipe(tmp_path, recipe("mmr", "random"), [record("mmr")["cell"], "made.stored.fold1.seed0"])
    (lacking,) = read_results(tmp_path)[1]
    assert "1 of 2 cells have no record here (made.stored.fold1.seed0); left out" in str(lacking)


def test_the_order_of_seeds_changes_nothing_where_each_fold_has_its_own() -> None:
    def row(name: str, seeds: Sequence[int]) -> list[dict[str, Any]]:
        scores = np.random.default_rng(len(name)).random((3, 4))
        return [
            record(
                name, cell=f"{name}.{fold}", fold=fold, seed=seed, history={"measure": "", "records": []},
                per_topic={f"q{fold}{i}": {"alpha_nDCG@5": value} for i, value in enumerate(scores[fold - 1])},
            )
            for fold, seed in enumerate(seeds, start=1)
        ]  # fmt: skip

    ends = []
    for seeds in ((0, 1, 2), (2, 0, 1)):
        table = table_of([*row("mmr", (0, 1, 2)), *row("random", seeds)])
        ends.append(difference_interval((table.scores["alpha_nDCG@5"]["random"], table.scores["alpha_nDCG@5"]["mmr"])))
    assert ends[0] == ends[1]
    every = [{**one, "seed": seed, "cell": f"{one['cell']}.{seed}"} for one in row("msd", (0, 0, 0)) for seed in (0, 1)]
    assert len(table_of([*row("mmr", (0, 1, 2)), *every]).rows) == 2, "beside one with all seeds on each fold"


def test_other_topics_or_measures_are_other_tables(tmp_path: Path) -> None:
    other = {**record()["topic_set"], "fingerprint": "1" * 16}
    own = [record("mmr"), record("random")]
    others = [record("mmr", cell="other", topic_set=other), record("oracle", topic_set=other)]
    tables, _ = complete_tables(read_results(write_records(tmp_path, own + others))[0])
    assert [[row.ranker for row in table.rows] for table in tables] == [["mmr", "random"], ["mmr", "oracle"]]


def test_the_numbers_are_those_of_the_records(tmp_path: Path) -> None:
    scores = {"mmr": (0.2, 0.5, 0.5, 0.1), "random": (0.3, 0.5, 0.4, 0.0)}
    four, records = {**record()["topic_set"], "test": 4}, []
    for name, seed in (("mmr", 0), ("random", 0), ("random", 1)):
        about = {"cell": f"made.{name}.{seed}", "seed": seed, "topic_set": four, "rank_cpu_seconds": 0.3 + 0.2 * seed}
        per_topic = {f"q{i}": {"alpha_nDCG@5": value} for i, value in enumerate(scores[name])}
        records.append(record(name, **about, per_topic=per_topic))
    made = table_of(read_results(write_records(tmp_path, records))[0])
    by_name = {row.ranker: row for row in made.rows}
    assert by_name["random"].wins_ties_losses == (1, 1, 2)
    assert by_name["mmr"].wins_ties_losses is None
    assert by_name["random"].medians["rank_milliseconds"] == pytest.approx(400 / 4)
    assert made.topic_ids == ("q0", "q1", "q2", "q3")
    np.testing.assert_allclose(made.scores["alpha_nDCG@5"]["random"], [scores["random"]] * 2)  # by seed and topic
    assert by_name["random"].verdict == "level"
    assert made.reference == "mmr"


def test_what_was_trained_with_too_few_seeds_is_marked_and_not_tested() -> None:
    history = {"measure": "alpha_nDCG@5", "records": []}
    learner, once, twice = (cells(f"trained {n}", 0.3 + 0.1 * n, n, history=history) for n in (5, 1, 4))
    table = table_of([*cells("mmr", 0.2), *cells("heuristic", 0.3), *learner, *once, *twice])
    rows = {row.ranker: row for row in table.rows}
    assert [name for name, row in rows.items() if row.too_few_seeds] == ["trained 1", "trained 4"]
    assert [name for name, row in rows.items() if row.verdict == "above"] == ["heuristic", "trained 5"]
    assert rows["trained 1"].p_value is rows["trained 1"].second_p_value is None
    assert table.best("alpha_nDCG@5") == rows["trained 5"].means["alpha_nDCG@5"]
    assert "† Trained with fewer than 5 seeds, so not tested: trained 1; trained 4." in as_markdown([table])
    assert "| trained 1 | 0.4100 † |" in as_markdown([table])
    against = table_of([*cells("mmr", 0.2), *learner, *once], reference="trained 1")
    assert all(row.p_value is None for row in against.rows)


def test_without_mmr_the_best_competitor_is_the_reference(tmp_path: Path) -> None:
    means = {"one": 0.4, "two": 0.6, "oracle": 1.0}
    records = [record(name, measures={"alpha_nDCG@5": mean}) for name, mean in means.items()]
    found = read_results(write_records(tmp_path, records))[0]
    assert table_of(found).reference == "two"
    assert table_of(found, reference="one").reference == "one"


def test_what_is_missing_or_has_changed_is_left_out(small_run: tuple[Path, Path], tmp_path: Path) -> None:
    results, recipe = small_run
    copy = tmp_path / "results"
    shutil.copytree(results, copy)
    gone = next((copy / "runs").glob("web.mmr.*"))
    gone.unlink()
    broken = next((copy / "runs").glob("web.random.*"))
    broken.write_text("not a run\n")
    made = report(copy)
    text, problems = made.html()
    runs = {problem.what: problem.why for problem in problems if problem.kind == "run"}
    assert set(runs) == {f"runs/{gone.name}", f"runs/{broken.name}"}
    assert f"runs/{gone.name}" in text
    changed = recipe.read_text().replace("synthetic:web:9:0", "synthetic:web:9:1")
    lost = changed.replace("topics.parquet", "lost.parquet")
    recipe.with_name("other.toml").write_text(lost)
    write_recipe(copy, load_recipe(str(recipe.with_name("other.toml"))))
    _, problems = report(copy).html()
    reasons = {problem.what: problem.why for problem in problems if problem.kind == "texts"}
    assert "cannot be read: " in reasons["tiny & <b>bold</b>"]
    assert "lost.parquet" in reasons["tiny & <b>bold</b>"]
    assert "are no longer those that were ranked" in reasons["web"]
    (copy / "recipe.json").unlink()
    _, problems = report(copy).html()
    assert any("no recipe beside the results" in problem.why for problem in problems)


def test_a_record_cannot_make_the_page_show_files_from_elsewhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.run"
    secret.write_text("q0 Q0 secret-document 1 1 x\n")
    write_records(tmp_path / "results", [record("mmr", run="../secret.run"), record("random", run=str(secret))])
    text, problems = report(tmp_path / "results").html()
    assert "secret-document" not in text
    assert [problem.why for problem in problems if problem.kind == "run"] == [
        "it leads out of the folder of results; its rankings are not shown"
    ] * 2
