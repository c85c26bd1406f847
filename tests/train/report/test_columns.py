"""One list of columns feeds every form of a table."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from made_results import recipe, record, table_of, write_records

from srd_train.experiment.sources import TopicsEntry
from srd_train.report.markup import columns, write_page
from srd_train.report.page import Report, report
from srd_train.report.results import read_results
from srd_train.report.tables import complete_tables


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Three rankers, and a number that no column shows."""
    return write_records(tmp_path / "results", [record(name, joules=1_234.5) for name in ("mmr", "random", "oracle")])


def forms(made: Report) -> list[str]:
    return [made.markdown(), html.unescape(made.html()[0])]


def test_every_form_has_the_heads_and_cells_of_the_list(results: Path) -> None:
    table = table_of(read_results(results)[0])
    assert {row.medians["joules"] for row in table.rows} == {1_234.5}, "a column of it would be one entry"
    shown = columns(table)
    markdown, page = (" ".join(form.split()) for form in forms(report(results)))
    for column in shown:
        texts = [column.text(row) for row in table.rows]
        for form in (page,) if column.page_only else (markdown, page):
            assert column.head in form or column.below is not None
            assert all(text in form.replace("$", "").replace("blacktriangle", "▲") for text in texts if text[0] != "<")


def test_columns_have_a_value_in_some_row_and_sort_as_their_texts_say(results: Path) -> None:
    table = table_of(read_results(results)[0])
    by_head = {column.head: column for column in columns(table)}
    assert list(by_head) == [
        "ranker", "alpha_nDCG@5", "95% interval", "p against mmr", "wins / ties / losses", "training, CPU s",
        "ms per query",
    ]  # fmt: skip
    wins = by_head["wins / ties / losses"]
    assert [wins.value(row) for row in table.rows] == [None, 3, 3]
    assert [wins.text(row) for row in table.rows] == ["-", "3 / 0 / 0", "3 / 0 / 0"]


def test_a_page_with_marks_keeps_its_text_and_one_without_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_page(page, "smoke", "Whole", "| table |")
    assert page.read_text() == "# Whole\n\n<!-- smoke: begin -->\n| table |\n<!-- smoke: end -->\n"
    page.write_text("Mine.\n<!-- smoke: begin -->\nold\n<!-- smoke: end -->\nMine too.\n")
    write_page(page, "smoke", "Whole", "| new |")
    assert page.read_text() == "Mine.\n<!-- smoke: begin -->\n| new |\n<!-- smoke: end -->\nMine too.\n"
    page.write_text("Mine.\n")
    with pytest.raises(ValueError, match="has no marks <!-- smoke: begin -->"):
        write_page(page, "smoke", "Whole", "| new |")
    assert page.read_text() == "Mine.\n"


def of_folds(ranker: str, mean: float, folds: int, **changes: object) -> list[dict[str, object]]:
    """Records of a ranker that was trained once on each fold, with its own seed and two test topics."""
    learned = {"measure": "alpha_nDCG@5", "records": []}
    return [
        record(
            ranker,
            **{
                "cell": f"made.{ranker}.{fold}",
                "fold": fold,
                "seed": fold + 6,
                "per_topic": {f"q{fold}{i}": {"alpha_nDCG@5": mean + 0.1 * i + 0.01 * fold * fold} for i in range(2)},
                "history": learned,
            }
            | changes,
        )
        for fold in range(1, folds + 1)
    ]


def test_folds_with_a_seed_each_are_one_row_in_all_forms(tmp_path: Path) -> None:
    records = of_folds("daletor", 0.3, 5) + of_folds("mmr", 0.2, 5, history=None, seed=0)
    table = table_of(records)
    row = next(row for row in table.rows if row.ranker == "daletor")
    assert (row.seeds, row.too_few_seeds, table.tested) == ((7, 8, 9, 10, 11), False, 10)
    assert row.means["alpha_nDCG@5"] == pytest.approx(0.35 + 0.01 * 11)
    assert row.seed_spread["alpha_nDCG@5"] is None, "folds differ in their topics, too"
    assert row.p_value is not None
    assert row.wins_ties_losses == (10, 0, 0)
    write_records(tmp_path / "results", records)
    assert all("daletor" in form for form in forms(report(tmp_path / "results")))


@pytest.mark.parametrize("apart", [True, False])
def test_seeds_that_lack_folds_are_left_out_unless_each_fold_has_its_own(apart: bool) -> None:
    entry = TopicsEntry(name="made", source="synthetic:tiny:15:0", run_folds=(1, 2), one_seed_a_fold=apart)
    records = of_folds("random", 0.3, 2, history=None) + of_folds("mmr", 0.2, 2, history=None, seed=7)
    (table,), problems = complete_tables(records, recipe("mmr", "random", topics=(entry,), seeds=(7, 8)))
    assert [row.ranker for row in table.rows] == ["mmr", "random"][: 1 + apart]
    lacking = [] if apart else [f"made, random, seed {seed}: 2 of 4" for seed in (7, 8)]
    assert [str(problem)[: len("made, random, seed 7: 2 of 4")] for problem in problems] == lacking


def test_a_fold_that_is_missing_leaves_the_row_out() -> None:
    records = of_folds("daletor", 0.3, 4) + of_folds("mmr", 0.2, 5, history=None, seed=0)
    (table,), (problem,) = complete_tables(records)
    assert [row.ranker for row in table.rows] == ["mmr"]
    assert str(problem).startswith("made, daletor: 2 of 10 test topics have no scores")
