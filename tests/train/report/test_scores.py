from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from made_results import recipe_file, record
from run_srd import Srd
from small_topics import refused

from srd_train.experiment.recipe import load_recipe
from srd_train.report.results import differences, equal_cells, read_results, read_scores, write_scores
from srd_train.report.tables import complete_tables


def test_tables_of_stored_scores_are_those_of_the_records(small_run: tuple[Path, Path], tmp_path: Path) -> None:
    results, recipe = small_run
    records = read_results(results)[0]
    write_scores(tmp_path / "kept.parquet", records)
    made_of = load_recipe(str(recipe))
    kept, problems = complete_tables(read_scores(tmp_path / "kept.parquet"), made_of)
    assert not problems
    for table, original in zip(kept, complete_tables(records, made_of)[0], strict=True):
        assert (table.title, table.commits, table.folds) == (original.title, original.commits, original.folds)
        for row, other in zip(table.rows, original.rows, strict=True):
            assert (row.ranker, row.seeds, row.verdict) == (other.ranker, other.seeds, other.verdict)
            assert row.means == pytest.approx(other.means, abs=1e-7)
            assert row.medians == pytest.approx({key: other.medians[key] for key in row.medians}, rel=1e-6)


def test_any_tool_can_read_them_and_equal_records_make_equal_files(tmp_path: Path) -> None:
    for name in ("kept", "again"):
        write_scores(tmp_path / f"{name}.parquet", [record("mmr"), record("oracle")])
    assert (tmp_path / "kept.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
    rows = pq.read_table(tmp_path / "kept.parquet").to_pylist()
    shown = ("topics", "ranker", "fold", "seed", "topic")
    assert [rows[0][key] for key in shown] == ["made", "mmr", 1, 0, "q0"]
    assert rows[4]["alpha_nDCG@5"] == pytest.approx(0.16)
    assert len(rows) == 6


def test_what_is_no_file_of_scores_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kept.parquet"
    refused(lambda: read_scores(path), "", FileNotFoundError)
    write_scores(path, [record("mmr")])
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    refused(lambda: read_scores(path), "version None, expected '1'")
    path.write_bytes(b"none")
    refused(lambda: read_scores(path), r"kept\.parquet")


def test_options_that_validation_chose_are_stored(tmp_path: Path) -> None:
    write_scores(tmp_path / "kept.parquet", [record("mmr", chosen={"lambda_": 0.3}), record("oracle")])
    assert [one["chosen"] for one in read_scores(tmp_path / "kept.parquet")] == [{"lambda_": 0.3}, None]


@pytest.mark.parametrize(("changes", "said"), [
    ({}, []),
    ({"per_topic": {"q0": {"alpha_nDCG@5": 0.9}}}, ["made, mmr, fold 1, seed 0: alpha_nDCG@5 ", "topics differ)"]),
    (
        {"topic_set": {"name": "made", "fingerprint": "1" * 16, "marks": ["simulated"]}},
        ["made: fingerprint 1111111111111111, stored 0000", "other topics"],
    ),
    ({"seed": 9}, []),
])  # fmt: skip
def test_what_differs_from_stored_scores_is_told(changes: dict[str, Any], said: list[str]) -> None:
    found = list(differences([record("mmr", **changes)], [record("mmr")]))
    assert len(found) == bool(said)
    assert all(words in found[0] for words in said)


def changed(stored: Path) -> bytes:
    """Another file of scores than before."""
    records = read_scores(stored)
    records[0]["per_topic"] = {topic: {"alpha_nDCG@5": 0.5} for topic in records[0]["per_topic"]}
    write_scores(stored, records)
    return stored.read_bytes()


def test_a_check_changes_nothing_and_says_how_many_are_equal(tmp_path: Path, srd: Srd) -> None:
    stored, out = tmp_path / "kept.parquet", tmp_path / "results"
    words = ("benchmark", recipe_file(tmp_path, "random", "mmr"), "--out", out)
    srd.works(*words, "--scores", stored)
    done = srd.works(*words, "--check", stored)
    assert f"{stored}: 2 of 2 equal\n" in done.out
    assert "DIFFERS" not in done.err
    before = changed(stored)
    for _ in range(2):
        done = srd(*words, "--check", stored)
        assert (done.code, done.err.count("DIFFERS")) == (1, 1)
        assert re.search(r"DIFFERS from what is stored: tiny, \w+, fold 1, seed 0: alpha_nDCG@5 ", done.err)
        assert f"{stored}: 1 of 2 equal" in done.out
        assert stored.read_bytes() == before
    told = srd(*words, "--check", stored, "--json")
    assert (told.code, {key: told.json["check"][key] for key in ("file", "equal", "of")}) == (
        1, {"file": str(stored), "equal": 1, "of": 2},
    )  # fmt: skip
    assert len(told.json["check"]["differences"]) == 1
    fewer = ("benchmark", recipe_file(tmp_path, "random"), "--out", out, "--check", stored)
    assert "tiny, mmr, fold 1, seed 0: stored, and not in this run" in srd(*fewer).err


def test_a_check_sees_cells_that_only_one_side_has(tmp_path: Path) -> None:
    run, stored = [record("mmr"), record("oracle")], [record("mmr"), record("random")]
    assert equal_cells(run, stored) == 1
    assert list(differences(run, stored, whole=True)) == [
        "made, oracle, fold 1, seed 0: not stored",
        "made, random, fold 1, seed 0: stored, and not in this run",
    ]
    assert list(differences(run, stored)) == []
    topics = {"topic_set": {**record("mmr")["topic_set"], "fingerprint": "1" * 16}}
    assert equal_cells([record("mmr", **topics)], [record("mmr")]) == 0


def test_scores_that_exist_are_replaced_only_where_that_is_asked_for(tmp_path: Path, srd: Srd) -> None:
    stored, out = tmp_path / "kept.parquet", tmp_path / "results"
    words = ("benchmark", recipe_file(tmp_path, "random"), "--out", out, "--scores", stored)
    srd.works(*words)
    first, before = stored.read_bytes(), changed(stored)
    assert f"{stored} exists: compare with it by --check {stored}, or replace it with --force" in srd.fails(*words)
    assert stored.read_bytes() == before
    done = srd.works(*words, "--force")
    assert "DIFFERS from what is stored: tiny, random, fold 1, seed 0: alpha_nDCG@5" in done.err
    assert stored.read_bytes() == first
    stored.write_bytes(b"something else")
    assert "kept.parquet" in srd.fails(*words, "--force")
    assert stored.read_bytes() == b"something else"
    assert "no file" in srd.fails(*words[:-2], "--check", tmp_path / "none.parquet").lower()


def test_a_page_without_marks_is_refused_before_anything_runs(tmp_path: Path, srd: Srd) -> None:
    page, out = tmp_path / "README.md", tmp_path / "results"
    page.write_text("Mine.\n")
    words = ("benchmark", recipe_file(tmp_path, "random"), "--out", out, "--markdown", page)
    assert "README.md has no marks <!-- small: begin --> and <!-- small: end -->" in srd.fails(*words)
    assert (page.read_text(), out.exists()) == ("Mine.\n", False)


def test_a_page_s_scores_are_of_one_kind_of_processor(
    tmp_path: Path, srd: Srd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("srd_train.commands.benchmark.PAGES", tmp_path)
    words, page = ("benchmark", "words", "--out", tmp_path / "results"), tmp_path / "words.parquet"
    srd.works(*words, "--scores", page)
    assert f"{page}: 20 of 20 equal" in srd.works(*words, "--check", page).out
    records = read_scores(page)
    records[0]["per_topic"] = {topic: dict.fromkeys(scores, 0.5) for topic, scores in records[0]["per_topic"].items()}
    write_scores(page, records)
    for kind, told in (("SKYLAKEX", True), ("HASWELL", False)):
        monkeypatch.setenv("OPENBLAS_CORETYPE", kind)
        said = srd.works(*words).err
        assert "DIFFERS from what is stored: words" in said
        assert ("scores are of OPENBLAS_CORETYPE=HASWELL" in said) is told
