"""`srd compare` and its Python twin: the figures, and what is said of odd input."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_runs import MEASURES, NAMES, QUICK, values_of, words
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import made_runs
from run_srd import Feed, Srd
from scipy import stats

from srd_gym.data import write_topics
from srd_gym.data.trec import load_trec
from srd_gym.measures import evaluate_run
from srd_gym.trec_files import read_qrels, read_run
from srd_train.report.comparison import compare
from srd_train.report.differences import Difference, letters
from srd_train.report.significance import holm, wins_ties_losses
from srd_train.report.tables import ResultTable


@pytest.fixture
def made(tmp_path: Path) -> dict[str, Path]:
    return made_runs(tmp_path)


def table_of(made: dict[str, Path], names: Sequence[str] = NAMES, **options: Any) -> ResultTable:
    runs = {name: read_run(made[name]) for name in names}
    (table,) = compare(read_qrels(made["qrels"]), runs, MEASURES, **options).tables
    return table


@pytest.mark.parametrize("reference", ["first", "third"])
def test_the_figures_are_those_of_evaluate_and_of_the_tests(made: dict[str, Path], reference: str) -> None:
    table = table_of(made, reference=None if reference == NAMES[0] else reference)
    alone = {name: evaluate_run(read_qrels(made["qrels"]), read_run(made[name]), MEASURES) for name in NAMES}
    rows = {row.ranker: row for row in table.rows}
    assert table.reference == reference
    assert list(rows) == sorted(NAMES, key=lambda name: -alone[name].measures[MEASURES[0]])
    first = {name: values_of(each, MEASURES[0]) for name, each in alone.items()}
    for name, each in alone.items():
        assert rows[name].means == pytest.approx(each.measures, abs=1e-12)
        expected = stats.ttest_1samp(first[name], 0).confidence_interval()
        assert rows[name].intervals[MEASURES[0]] == pytest.approx((expected.low, expected.high))
    others = [name for name in rows if name != reference]
    raw = [
        stats.ttest_rel(values_of(alone[name], m), values_of(alone[reference], m)).pvalue
        for m in MEASURES
        for name in others
    ]
    for name, p_value in zip(others, holm(raw), strict=False):
        assert rows[name].p_value == pytest.approx(p_value)
        assert rows[name].wins_ties_losses == wins_ties_losses(first[name], first[reference])
    assert rows[reference].p_value is rows[reference].wins_ties_losses is None


def test_the_order_of_the_runs_changes_no_figure_but_those_against_the_reference(made: dict[str, Path]) -> None:
    shown = []
    for names in itertools.permutations(NAMES):
        table = table_of(made, names)
        assert table.reference == names[0]
        assert table.rows == table_of(made, names[::-1], reference=names[0]).rows
        shown.append([(row.ranker, row.means, row.intervals) for row in table.rows])
    assert all(each == shown[0] for each in shown)


def test_the_command_shows_what_the_function_finds(srd: Srd, made: dict[str, Path], tmp_path: Path) -> None:
    table = table_of(made, reference="second")
    forms = {form: tmp_path / f"made.{form}" for form in ("html", "md", "tex")}
    files = ("--out", forms["html"], "--markdown", forms["md"], "--latex", forms["tex"])
    done = srd.works(*words(made), "--baseline", made["second"], "--per-topic", "--json", *files)
    told = done.json
    rows = {row.ranker: row for row in table.rows}
    assert (told["reference"], told["measures"], told["topics"]) == ("second", list(MEASURES), 30)
    assert list(told["runs"]) == list(rows)
    for name, figures in told["runs"].items():
        assert figures == json.loads(json.dumps({key: getattr(rows[name], key) for key in figures}))
    assert told["per_topic"] == {record["ranker"]: record["per_topic"] for record in table.records}
    assert told["problems"] == []
    assert told["written"] == [str(path) for path in forms.values()]
    assert "<h1><bdi>3 runs compared</bdi></h1>" in forms["html"].read_text()
    title = "3 runs: 30 judged topics, ideal of the pool (as in ndeval)"
    assert forms["md"].read_text().startswith(f"**{title}**\n\n| ranker | alpha_nDCG@5 |")
    assert r"\caption{Means of 3 runs over 30 judged topics" in forms["tex"].read_text()
    out = srd.works(*words(made), "--baseline", "second", "--per-topic").out
    assert title in out
    assert "Holm-adjusted" in out
    assert "processor time" not in out
    values = [f"{scores['30'][MEASURES[0]]:.4f}" for scores in told["per_topic"].values()]
    assert ["30", *values] in [line.split() for line in out.splitlines()]


def test_a_topic_file_gives_texts(srd: Srd, made: dict[str, Path], tmp_path: Path) -> None:
    xml = tmp_path / "topics.xml"
    topic = '<topic number="{}"><query>words of {}</query><subtopic number="2">a side</subtopic></topic>'
    xml.write_text(f"<webtrack>{''.join(topic.format(i, i) for i in range(1, 30))}</webtrack>")
    srd.works(*words(made), "--topics", xml, "--out", tmp_path / "a.html")
    assert "words of 29" in (tmp_path / "a.html").read_text()
    tsv = tmp_path / "topics.tsv"
    tsv.write_text("".join(f"{i}\tother words of {i}\n" for i in range(1, 30)))
    srd.works(*words(made), "--topics", tsv, "--out", tmp_path / "a.html")
    assert "other words of 29" in (tmp_path / "a.html").read_text()
    loaded = load_trec(run=made["first"], qrels=made["qrels"])
    parquet = tmp_path / "topics.parquet"
    texts = ((topic, tuple(f"text of {doc_id}" for doc_id in topic.doc_ids)) for topic in loaded)
    write_topics(parquet, loaded.replace(dataclasses.replace(topic, doc_texts=own) for topic, own in texts))
    assert not srd.works(*words(made), "--topics", parquet, "--out", tmp_path / "b.html").err.count("notice")
    assert "text of 7-3" in (tmp_path / "b.html").read_text()
    by_labels = ("compare", made["first"], made["second"], *QUICK, "--json", "--topics", parquet)
    alone, judged = (json.loads(srd.works(*by_labels, *more).out) for more in ((), ("--qrels", made["qrels"])))
    assert alone == judged
    for more in (("--topics", xml), ("--topics", parquet, "--weights", made["qrels"]), ()):
        assert "by --qrels FILE" in srd.fails("compare", made["first"], made["second"], *more)


def test_where_lower_is_better_the_lowest_is_first_and_wins(srd: Srd, made: dict[str, Path], tmp_path: Path) -> None:
    names = ("first", "second", "third")
    table = table_of(made, names)
    (risk,) = compare(read_qrels(made["qrels"]), {n: read_run(made[n]) for n in names}, ["VRisk@5"]).tables
    means = [row.means["VRisk@5"] for row in risk.rows]
    assert means == sorted(set(means))
    assert risk.best("VRisk@5") == means[0]
    assert [row.means["NRBP"] for row in table.rows] != means
    for row in risk.rows:
        if row.wins_ties_losses is not None:
            own, other = (risk.scores["VRisk@5"][name].mean(axis=0) for name in (row.ranker, risk.reference))
            assert row.wins_ties_losses[0] == np.count_nonzero(own < other - 1e-9)
    page = tmp_path / "risk.html"
    said = srd.works(
        "compare", *(made[n] for n in names), "--qrels", made["qrels"], "--measures", "VRisk@5", "--out", page
    )
    assert "Lower is better: VRisk@5." in page.read_text()
    assert "Lower is better: VRisk@5." in said.out


def without(path: Path, *query_ids: str) -> Path:
    """The run without some of its queries."""
    lines = [line for line in path.read_text().splitlines(keepends=True) if line.split()[0] not in query_ids]
    found = path.with_name(f"part-{path.name}")
    found.write_text("".join(lines))
    return found


def test_runs_of_other_topics_count_0_or_are_left_out(srd: Srd, made: dict[str, Path]) -> None:
    made["part"] = without(made["second"], "4", "11")
    made["part"].write_text(made["part"].read_text() + "99 Q0 d 1 1 t\n")
    done = srd.works(*words(made, "first", "part"), "--json")
    alone = srd.works("evaluate", "--qrels", made["qrels"], "--run", made["part"], "--measures", *MEASURES, "--json")
    assert done.json["runs"]["part-second"]["means"] == pytest.approx(alone.json["measures"], abs=1e-12)
    assert [(problem["what"], problem["why"]) for problem in done.json["problems"]] == [
        ("part-second", "no ranking of 2 of 30 judged topics (4, 11); each counts as an empty ranking"),
        ("part-second", "rankings without judgments (99); left out"),
    ]
    present = srd.works(*words(made, "first", "part"), "--ranked-topics-only", "--json").json
    assert present["topics"] == 28
    both = {name: without(made[name], "4", "11") for name in ("first", "second")}
    for name, path in (("first", both["first"]), ("part-second", both["second"])):
        evaluated = evaluate_run(read_qrels(made["qrels"]), read_run(path), MEASURES).mean(ranked_topics_only=True)
        assert present["runs"][name]["means"] == pytest.approx(evaluated, abs=1e-12)
    shown = srd.works(*words(made, "first", "part"), "--ranked-topics-only")
    assert "2 runs, on the topics that all of them rank: 28 judged topics" in shown.out
    assert "notice: part-second: no ranking of 2 of 30 judged topics (4, 11); left out for every run" in shown.err


def test_what_cannot_be_compared_is_explained(srd: Srd, made: dict[str, Path], tmp_path: Path) -> None:
    few = [str(number) for number in range(1, 16)]
    many = [str(number) for number in range(16, 31)]
    made |= {"early": without(made["first"], *many), "late": without(made["second"], *few)}
    for name, text in (("twice", "1 Q0 d 1 2 t\n1 Q0 d 2 1 t\n"), ("foreign", "x Q0 d 1 2 t\n")):
        made[name] = tmp_path / f"{name}.run"
        made[name].write_text(text)
    for names, more, said in (
        (("first",), (), "expected two runs or more to compare, got 1; `srd evaluate` scores one"),
        (("first", "second", "first"), (), "is given twice; expected each run once"),
        (NAMES, ("--qrels", made["qrels"]), "--qrels is given twice; give all its values after one"),
        (NAMES, ("--baseline", "thirdd"), "unknown run to test against, 'thirdd'. Did you mean third"),
        (("first", "twice"), (), "document 'd' is duplicated for query '1'"),
        (("first", "foreign"), (), "foreign: no query of the run is judged (the run has 'x'"),
        (("early", "late"), ("--ranked-topics-only",), "no judged topic is ranked by every run"),
        (NAMES, ("--measures", "alpha_nDGC@10"), "Did you mean alpha_nDCG"),
        (NAMES, ("--measures", "NRBP", "P_IA"), "measure 'P_IA' has no cutoff; write P_IA@10"),
    ):
        asked = words(made, *names)
        assert said in srd.fails(*(asked[: -len(QUICK)] if "--measures" in more else asked), *more)


def test_runs_are_joined_of_files_named_and_read_from_standard_input(
    srd: Srd, made: dict[str, Path], tmp_path: Path, feed: Feed
) -> None:
    whole = srd.works(*words(made), "--json").json
    halves = [tmp_path / "a.run.gz", tmp_path / "b.run.gz"]
    for half, others in zip(halves, (range(1, 16), range(16, 31)), strict=True):
        part = without(made["first"], *map(str, others))
        half.write_bytes(gzip.compress(part.read_bytes().rstrip(b"\n")))
    odd = made["third"].rename(tmp_path / "one=1,2.run")
    feed(made["second"].read_bytes())
    several = ["compare", f"First one={halves[0]},{halves[1]}", "second=-", odd, "--qrels", made["qrels"], *QUICK]
    found = srd.works(*several, "--json").json
    names = {"first": "First one", "second": "second", "third": "one=1,2"}
    assert found["runs"] == {names[name]: figures for name, figures in whole["runs"].items()}
    assert found["reference"] == "First one"
    feed(made["second"].read_bytes())
    several[1] = f"{halves[0]},{halves[1]}"
    assert set(srd.works(*several, "--json", "--baseline", "second=-").json["runs"]) == {"a,b", "second", "one=1,2"}


@pytest.mark.parametrize(("runs", "said"), [
    (("x={first}", "x={second}"), "two runs have the name x; join the files of one run by commas: x=FILE,FILE"),
    (("{first},{first}", "{second}"), "query '1' is in both"),
    (("x={first}", "{first}"), "first.run is given twice; expected each run once"),
    (("={first}", "{second}"), "a name is empty; expected FILE, NAME=FILE or FILE,FILE without spaces"),
    (("x={first},", "{second}"), "a file is empty; expected FILE, NAME=FILE or FILE,FILE"),
    (("x=-", "{first},-"), "- (standard input) is given twice"),
    (("x=none.run", "{second}"), "run: no file at none.run"),
    (("none/x=1/a.run", "{second}"), "run: no file at none/x=1/a.run"),
])  # fmt: skip
def test_odd_words_for_runs_are_explained(srd: Srd, made: dict[str, Path], runs: tuple[str, ...], said: str) -> None:
    assert said in srd.fails("compare", *(word.format(**made) for word in runs), "--qrels", made["qrels"], *QUICK)


def test_copies_and_runs_of_one_name_are_said(srd: Srd, made: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    made["copy"] = tmp_path / "other" / "first.run"
    made["copy"].write_text(made["first"].read_text())
    done = srd.works(*words(made, "first", "copy", "third"), "--json", "--baseline", made["copy"])
    assert "notice: some runs have files of one name; the table calls each by its path" in done.err
    assert done.json["reference"] == str(made["copy"])
    assert done.json["runs"][str(made["first"])]["p_value"] == 1.0
    assert done.json["runs"][str(made["first"])]["wins_ties_losses"] == [0, 30, 0]
    (problem,) = done.json["problems"]
    assert problem["what"] == f"{made['first']}, {made['copy']}"
    assert problem["why"] == "the same rankings; is one run given twice?"


def difference(one: str, other: str, verdict: str) -> Difference:
    p, mean = (1.0, 0.0) if verdict == "level" else (0.0, 1.0 if verdict == "above" else -1.0)
    values = {"measure": "m", "interval": (0.0, 0.0), "raw_p_value": p, "p_value": p, "family": ""}
    return Difference(ranker=one, baseline=other, mean=mean, wins_ties_losses=(0, 0, 0), **values)  # type: ignore[arg-type]


@settings(max_examples=50)
@given(count=st.integers(2, 7), data=st.data())
def test_rankers_share_a_letter_if_and_only_if_they_do_not_differ(count: int, data: st.DataObject) -> None:
    names = "pqrstuv"[:count]
    apart = {pair: data.draw(st.sampled_from(["above", "below", "level"])) for pair in itertools.combinations(names, 2)}
    found = letters(names, [difference(*pair, verdict) for pair, verdict in apart.items()])
    for (one, other), verdict in apart.items():
        assert bool(set(found[one]) & set(found[other])) == (verdict == "level")
    assert found["p"].startswith("a"), "the first has the first letter"
