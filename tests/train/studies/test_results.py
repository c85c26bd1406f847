"""The pages say of results what the stored scores say, and nothing else: the check finds every attack on that."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_results import cells
from run_srd import Srd
from small_topics import refused

from srd_train.cli import main
from srd_train.report.results import read_scores, write_scores
from srd_train.report.significance import equivalence_test, holm, paired_test
from studies.__main__ import TREE
from studies.results import pages as check
from studies.results.curve import draw_curves, reach, worth
from studies.results.figure import draw_costs, draw_gains
from studies.results.lint import faults as prose_faults
from studies.results.made import decision, gains, remade
from studies.results.run import DOCS
from studies.results.stored import Stored

MEASURE = "alpha_nDCG@5"


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    """The scores of a made-up recipe, of which mmr is the reference: means of 0.50 but where the name says more."""
    history = {"measure": MEASURE, "records": []}
    rows = {"worse": 0.29, "learner": 0.6, "noisy": 0.49, "near": 0.492}
    made = {name: cells(name, mean, 5, history=history) for name, mean in rows.items()}
    for cell in made["noisy"]:
        for number, scores in enumerate(cell["per_topic"].values()):
            scores[MEASURE] += 0.1 * (-1) ** number
    for number, scores in enumerate(scores for cell in made["near"] for scores in cell["per_topic"].values()):
        scores[MEASURE] += 0.005 * (-1) ** (number // 2)
    records = [*cells("mmr", 0.49), *cells("hasty", 0.69, 4), *(cell for several in made.values() for cell in several)]
    (tmp_path / "made").mkdir()
    write_scores(tmp_path / "made" / "smoke.parquet", records)
    return Stored(tmp_path / "made")


@pytest.mark.parametrize(("rows", "verb"), [
    (("learner", "mmr"), "above"),
    (("worse", "mmr"), "below"),
    (("mmr", "learner"), "below"),
    (("noisy", "mmr"), "no significant difference"),
    (("near", "mmr"), "equivalent within 0.01"),
    (("hasty", "mmr"), ""),
])  # fmt: skip
def test_tests_decide_the_verb(stored: Stored, rows: tuple[str, str], verb: str) -> None:
    assert stored.compared("smoke", "made", *rows).verb == verb


def test_p_values_are_adjusted_over_the_table(stored: Stored) -> None:
    (table,) = stored.tables("smoke")
    scores = {name: values for name, values in table.scores[MEASURE].items() if name != "hasty"}
    against = [name for name in scores if name != "mmr"]
    shown = dict(zip(against, holm([paired_test((scores[n], scores["mmr"])) for n in against]), strict=True))
    one = stored.compared("smoke", "made", "noisy", "mmr")
    assert one.p == pytest.approx(shown["noisy"])
    assert one.p == pytest.approx(next(row.p_value for row in table.rows if row.ranker == "noisy"))
    pairs = [(n, m) for i, n in enumerate(scores) for m in list(scores)[:i]]
    every = dict(zip(pairs, holm([paired_test((scores[n], scores[m])) for n, m in pairs]), strict=True))
    pair = next(pair for pair in pairs if set(pair) == {"noisy", "near"})
    assert stored.compared("smoke", "made", "noisy", "near").p == pytest.approx(every[pair]), "no column has it"
    margins = holm([equivalence_test(0.01, (scores[n], scores["mmr"])) for n in against])
    assert stored.compared("smoke", "made", "near", "mmr").equivalent == pytest.approx(margins[against.index("near")])


@pytest.mark.parametrize(("names", "message"), [
    (("smok", "made", "mmr", "near"), "stored scores 'smok'. Did you mean smoke"),
    (("smoke", "maid", "mmr", "near"), "set of smoke 'maid'. Did you mean made"),
    (("smoke", "made", "mmm", "near"), "row of made 'mmm'. Did you mean mmr"),
    (("smoke", "made", "mmr", "near", "ERR"), "unknown measure of smoke 'ERR'"),
])  # fmt: skip
def test_names_that_are_not_there_are_refused(stored: Stored, names: tuple[str, ...], message: str) -> None:
    refused(lambda: stored.compared(*names), message)


def test_tables_of_comparisons(stored: Stored) -> None:
    lines = [["all", "smoke", "made", name, "mmr"] for name in ("learner", "hasty")]
    first, second = gains(lines, stored).splitlines()[2:]
    assert first.startswith("| all | `learner` | `mmr` | 0.6")
    assert first.endswith("| above |")
    assert second.endswith("| - (`hasty` has 4) |")


def test_a_decision_keeps_what_is_written_and_makes_the_rest(stored: Stored) -> None:
    lines, head = [["smoke", "made", "learner", "", "mmr"]], "| a | b | c | d | e | f |\n| --- | --- | --- |"
    made = decision(lines, stored, f"{head}\n| scores | [it](it.md) | we, on others | +9 | +9 | 9 |")
    cells_of = [cell.strip() for cell in made.splitlines()[2].split("|")[1:-1]]
    assert cells_of[:4] == ["scores", "[it](it.md)", "we, on others", "-"]
    assert cells_of[4].startswith("**+0.11")
    assert "9 |" not in made
    assert decision(lines, stored, made) == made
    refused(lambda: decision(lines, stored, head), "a decision has 0 rows")


@pytest.mark.parametrize(("draw", "lines"), [
    (draw_gains, [["all", "smoke", "made", name, "mmr"] for name in ("learner", "worse")]),
    (draw_costs, [["smoke", topics, "mmr"] for topics in ("made", "made")]),
])  # fmt: skip
def test_a_picture_has_a_point_a_ranker(stored: Stored, tmp_path: Path, draw: Any, lines: list[list[str]]) -> None:
    for name in ("one.svg", "two.svg"):
        draw(lines, stored, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert all(f">{name}<" in text for name in (lines[0][0 if draw is draw_gains else 1], "learner", "worse"))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.fixture
def learned(tmp_path: Path) -> Stored:
    """Scores of rows with 100 and 1,000 judged lists, 400 and 2,000 clicked ones, and of two without training."""
    history = {"measure": MEASURE, "records": []}
    means = {("judgments", 100): 0.7, ("judgments", 1000): 0.9, ("clicks", 400): 0.8, ("clicks", 2000): 0.95}
    records = [*cells("mmr", 0.5), *cells("order", 0.4)]
    for (name, lists), mean in means.items():
        costs = {"environment_episodes": lists, "environment_steps": 5 * lists}
        records += cells(f"net, {name}, {lists:,} lists", mean - 0.0109, 5, history=history, **costs)
    (tmp_path / "learned").mkdir()
    write_scores(tmp_path / "learned" / "smoke.parquet", records)
    return Stored(tmp_path / "learned")


CURVES = [["smoke", "made", f"net, {name}"] for name in ("judgments, 1,000 lists", "judgments, 100 lists", "clicks, *")]


def test_lists_are_worth_those_of_the_first_curve_with_the_same_score(learned: Stored) -> None:
    head, _, *rows = worth(CURVES, learned).splitlines()
    assert head.endswith("as many lists of net, judgments [95%] |")
    assert [row.split(" | ")[2] for row in rows] == ["400", "2,000"]
    # Halfway from 0.7 to 0.9 lies the geometric mean of 100 and 1,000; 0.95 is beyond.
    assert rows[0].endswith("| 300 |")
    assert rows[1].endswith("| at least 1,000 |")


def test_the_fewest_lists_to_nine_tenths(learned: Stored) -> None:
    rows = reach([*CURVES, ["smoke", "made", "order"]], learned).splitlines()[2:]
    assert [re.sub(r" \[.*?\]", "", row).split(" | ")[1:] for row in rows] == [
        ["net, judgments", "100, 1,000", "0.900", "1,000", "5,000 |"],
        ["net, clicks", "400, 2,000", "0.950", "2,000", "10,000 |"],
        ["order", "0", "0.410", "-", "- |"],
    ]
    refused(lambda: reach([["smoke", "made", "clicker *"]], learned), "unknown row of made 'clicker \\*'")
    again = [["smoke", "made", "mmr"]] * 2
    refused(lambda: reach(again, learned), "rows show the same number of lists")


def test_pictures_have_a_line_a_curve(learned: Stored, tmp_path: Path) -> None:
    lines = [*CURVES, ["smoke", "made", "mmr"]]
    for name in ("one.svg", "two.svg"):
        draw_curves(lines, learned, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert all(f">{label}<" in text for label in ("net, judgments", "net, clicks", "mmr", "made", "1,000"))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize("text", [
    "`reinforce` is above MMR.",
    "QMIX ranks *better* here.",
    "MDP-DIV does not differ\nsignificantly from `mmr`.",
    "| `dpp` | wins |",
    "Training takes 12.5 seconds.",
    "On most sets QMIX comes below it.",
])  # fmt: skip
def test_comparisons_and_decimals_by_hand_are_found(text: str) -> None:
    assert len(list(prose_faults(f"Before.\n\n{text}\n\nAfter."))) == 1


@pytest.mark.parametrize("text", [
    "The table above lists MMR's options, the code below prints QMIX's.",
    "`reinforce` learns a policy. The figures stand above.",
    "Lambda is `0.5`, in Python 3.11 and version 0.2.",
    "```python\nx = 0.5  # mmr is better\n```",
    "The measure $0.5 x$ of [MMR](better-0.5.md).",
])  # fmt: skip
def test_definitions_and_code_are_let_through(text: str) -> None:
    assert list(prose_faults(text)) == []


PAGE = """# Ours

<!-- compare: smoke; serp; reinforce; mmr -->
<!-- end -->

<!-- picture: gains.svg
all; smoke; serp; reinforce; mmr
all; smoke; serp; mdp-div-batched; mmr
-->
<!-- end -->

<!-- curves: curves.svg
smoke; serp; reinforce
-->
<!-- end -->

<!-- decision: smoke; serp; reinforce; retrieval-order; mmr -->
| you have | use | by | over the order | over MMR | cost |
| --- | --- | --- | ---: | ---: | ---: |
| topics | it | nobody | | | |
<!-- end -->

<!-- stale: -->
"""


def committed(folder: Path) -> str:
    """A first commit of all files in a folder; its name."""
    words = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder))
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "First")):
        subprocess.run([*words, *command], check=True)
    return subprocess.run([*words, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose documentation is two pages with our scores, as the command makes them; to copy from."""
    project = tmp_path_factory.mktemp("made")
    (project / "docs" / "results").mkdir(parents=True)
    (project / "README.md").write_text("# Ours\n")
    (project / "docs" / "results.md").write_text(PAGE)
    for name in ("smoke.md", "smoke.parquet"):
        shutil.copy(DOCS / "results" / name, project / "docs" / "results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("studies.results.run.DOCS", project / "docs")
        main(["results"], TREE)
    return project


@pytest.fixture
def docs(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pages of it, that hold."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr("studies.results.run.DOCS", tmp_path / "docs")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)  # nothing is ranked again: that has tests of its own
    return tmp_path / "docs"


def test_the_command_says_whether_the_pages_hold(docs: Path, study: Srd) -> None:
    study.works("results", "--check")
    changed(docs / "results.md", "`reinforce` is above", "`reinforce` is below")
    assert study("results", "--check").code == 1


def changed(path: Path, old: str, new: str) -> None:
    """Replace the first of these words in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def flipped(path: Path, ranker: str) -> None:
    """Turn a score of a ranker around: 0.9 becomes 0.1."""
    records = read_scores(path)
    scores = next(iter(next(one for one in records if one["ranker"] == ranker)["per_topic"].values()))
    name = next(iter(scores))
    scores[name] = 1 - scores[name]
    write_scores(path, records)


@pytest.mark.parametrize(("attack", "said"), [
    (lambda docs: changed(docs / "results.md", "`reinforce` is above", "`reinforce` is below"), "is not what the"),
    (lambda docs: changed(docs / "results.md", "and 0.8", "and 0.7"), "is not what the scores"),
    (lambda docs: changed(docs / "results" / "smoke.md", "| mmr | 0.8", "| mmr | 0.7"), "is not what the scores"),
    (lambda docs: changed(docs / "results.md", "`reinforce` is above", "`mdp-div-batched` is above"), "is not what"),
    (lambda docs: changed(docs / "results.md", "serp; reinforce; mmr -->", "serp; mmr; reinforce -->"), "is not what"),
    (lambda docs: flipped(docs / "results" / "smoke.parquet", "reinforce"), "smoke.md is not what the scores say"),
    (lambda docs: changed(docs / "gains.svg", "<path", "<path class='moved'"), "gains.svg is not what the scores say"),
    (lambda docs: changed(docs / "curves.svg", "<path", "<path class='moved'"), "curves.svg is not what the scores"),
    (lambda docs: changed(docs / "results.md", "nobody | **+0.1", "nobody | **+0.2"), "is not what the scores say"),
    (lambda docs: changed(docs / "results.md", "topics | it", "topics | MMR is better"), "a comparison by hand"),
    (lambda docs: (docs / "new.md").write_text("MMR is above `reinforce`."), "a comparison by hand"),
    (lambda docs: (docs.parent / "CHANGELOG.md").write_text("- MMR 0.91."), "CHANGELOG.md: a decimal by hand"),
    (lambda docs: (docs / "new.md").write_text("<!-- x: begin -->\nMMR wins\n<!-- x: end -->"), "no command makes"),
    (lambda docs: (docs / "new.md").write_text("<!-- maid: x -->\nMMR wins\n<!-- end -->"), "no part is called 'maid'"),
    (lambda docs: (docs / "new.md").write_text("<!-- compare: a; b -->\n<!-- end -->"), "compare takes 4 fields, got"),
    (lambda docs: (docs / "results" / "bare.md").write_text("# Bare"), "results/bare.md has no scores beside it"),
    (lambda docs: (docs / "results" / "smoke.md").unlink(), "results/smoke.parquet has no page beside it"),
], ids=["verb", "number", "number of a table", "another row", "rows swapped", "score", "picture", "curves",
        "decision", "words of a decision", "by hand",
        "changelog", "marks of nobody", "unknown part", "fields", "no scores", "no page"])  # fmt: skip
def test_attacks_are_found(docs: Path, attack: Callable[[Path], object], said: str) -> None:
    attack(docs)
    assert said in "\n".join(check.faults(docs))


def test_commits_are_of_the_history_or_their_page_is_listed(docs: Path) -> None:
    committed(docs.parent)
    (fault,) = check.faults(docs)
    assert "results/smoke.parquet names commit" in fault
    assert "which the history lacks" in fault
    changed(docs / "results.md", "<!-- stale: -->", "<!-- stale: smoke -->")
    assert check.faults(docs) == []
    changed(docs / "results.md", "<!-- stale: smoke -->", "<!-- stale: smoke; words -->")
    assert check.faults(docs) == ["results.md lists words as stale, which has no scores"]


def test_a_page_without_marks_becomes_one_with_them(stored: Stored) -> None:
    page = remade("# Old\n\n| a |\n", stored.folder / "smoke.md", stored)
    assert page.startswith(f"# {stored.recipe('smoke').title}\n\n<!-- smoke: begin -->\n")
    assert page == remade(page, stored.folder / "smoke.md", stored)


def test_the_documentation_says_what_the_scores_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SRD_DATA_DIR", raising=False)  # of the real files `make results ARGS=--check` ranks again
    assert check.faults(DOCS, print) == []
