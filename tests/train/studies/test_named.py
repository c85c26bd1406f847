"""The study of named subtopics: what is named, and its rows, on a few topics made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from srd_gym.data import generate
from srd_train.report.results import write_scores
from studies import named as study
from studies import named_tables
from studies.results.stored import Stored


@pytest.mark.parametrize(("kind", "right", "wrong"), [("all", 1, 0), ("half wrong", 0.5, 0.5), ("wrong", 0, 1)])
def test_what_is_named(kind: str, right: float, wrong: float) -> None:
    topics = generate("tiny", n_topics=5, seed=0)
    lists = [np.asarray(topic.subtopic_vectors) for topic in topics]
    for own, told in zip(lists, study.told(topics, lists, kind), strict=True):
        known = {tuple(row) for row in own.tolist()}
        rows = [tuple(row) for row in np.asarray(told.subtopic_vectors).tolist()]
        assert len([row for row in rows if row in known]) == int(np.ceil(right * len(own)))
        assert len([row for row in rows if row not in known]) == int(np.ceil(wrong * len(own)))
        assert told.judgments is None


def made(title: str = "made, MiniLM") -> study.Case:
    topics = generate("tiny", n_topics=6, seed=0)
    lists = {named_tables.JUDGES: [np.asarray(topic.subtopic_vectors) for topic in topics]}
    return study.Case(title=title, topics=topics, lists=lists)


def test_scores_of_each_list_are_stored_and_shown(tmp_path: Path) -> None:
    records = list(study.records_of(made()))
    write_scores(tmp_path / "named.parquet", records)
    stored = Stored(tmp_path)
    wanted = ["no names", "judges", "judges, half wrong", "judges, wrong"]
    assert [table.topics for table in stored.tables("named")] == [f"made, MiniLM, {name}" for name in wanted]
    means = {record["ranker"]: record["measures"][named_tables.MEASURE] for record in records[3:9]}
    assert list(means) == [named_tables.ORDER, named_tables.MMR, *named_tables.RANKERS]
    lines = named_tables.tables_of(stored.tables("named")).split("\n")
    _, head, _, first, none, judges, *_ = filter(None, lines)
    assert head == "| names | safe, MiniLM | query-expansion, MiniLM | gain of safe, MiniLM |"
    assert first == f"| initial ranking |{f' {means[named_tables.ORDER]:.3f} |' * 2} - |"
    assert none.startswith("| no names | ")
    cells = [cell.split()[0] for cell in judges.split("|")[2:5]]
    assert cells[:2] == [f"{means[ranker]:.3f}" for ranker in named_tables.SHOWN]
    assert float(cells[2]) == pytest.approx(means["safe"] - means[named_tables.ORDER], abs=1e-3)


def test_lists_of_a_model_and_of_judges_are_averaged_over_collections() -> None:
    names = [f"{name}, {rest}" for name in ("AMBIENT", "key-points") for rest in ("MiniLM, model", "MiniLM, judges")]
    recipe = named_tables.recipe_of([*names, "AMBIENT, LSA, model", "AMBIENT, MiniLM, model, half wrong"])
    averages = [(entry.average, entry.collection) for entry in recipe.topics]
    model, judges = named_tables.AVERAGES.values()
    assert averages == [
        (model, "AMBIENT"),
        (judges, "AMBIENT"),
        (model, "key-points"),
        (judges, "key-points"),
        *averages[4:],
    ]
    assert [average for average, _ in averages[4:]] == ["", ""]


@pytest.fixture(scope="module")
def means() -> dict[str, dict[str, float]]:
    """Topic set -> ranker -> mean of the stored scores."""
    tables = Stored(study.PAGE.parent).tables(named_tables.NAME)
    return {table.topics: {row.ranker: row.means[named_tables.MEASURE] for row in table.rows} for table in tables}


@pytest.mark.parametrize(("topics", "least"), [
    ("AMBIENT, MiniLM, judges", 0.80),
    ("AMBIENT, MiniLM, model", 0.73),
    ("AMBIENT, MiniLM, model, again", 0.71),
    ("AMBIENT, MiniLM, titles seen", 0.64),
    ("key-points, MiniLM, judges", 0.48),
    ("key-points, MiniLM, model", 0.45),
    ("perspectives, MiniLM, model", 0.575),
    ("medical-questions, MiniLM, model", 0.755),
    ("textbook-sections, MiniLM, model", 0.635),
    ("clarifying-questions, MiniLM, model", 0.66),
    ("expert-questions, MiniLM, model", 0.79),
])  # fmt: skip
def test_lists_bring_what_was_aimed_at(means: dict[str, dict[str, float]], topics: str, least: float) -> None:
    assert means[topics]["safe"] >= least


def test_no_list_that_is_right_or_half_right_is_below_the_initial_ranking(means: dict[str, dict[str, float]]) -> None:
    """With MiniLM's vectors, on all collections but the closed one."""
    held = [name for name in means if "MiniLM" in name and "word-senses" not in name and not name.endswith(", wrong")]
    assert len(held) == 40
    for name in held:
        for ranker in (ranker for ranker in named_tables.RANKERS if ranker != "query-expansion"):
            less = means[name].get(ranker, 1.0) - means[name][named_tables.ORDER]
            assert less > -0.005, (name, ranker)


def test_texts_that_are_kept_are_not_embedded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.eye(2, 3, dtype=np.float32)
    np.savez(tmp_path / "minilm.npz", texts=np.array(["cat", "car"]), vectors=vectors)
    monkeypatch.setenv("SRD_NAMED_CACHE", str(tmp_path))
    np.testing.assert_array_equal(study.minilm(["car", "cat", "car"]), vectors[[1, 0, 1]])
