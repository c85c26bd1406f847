"""`srd compare` as LaTeX, CSV, Markdown, TREC's lines and a page: one table, the same figures."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_runs import MEASURES, NAMES, QUICK, values_of, words
from made_results import made_runs
from pdflatex import compiled
from run_srd import Srd
from scipy import stats

from srd_gym.measures import evaluate_run
from srd_gym.trec_files import read_qrels, read_run
from srd_train.report.comparison import compare
from srd_train.report.markup import SIGNS, topics_csv


@pytest.fixture
def made(tmp_path: Path) -> dict[str, Path]:
    return made_runs(tmp_path)


def pairs_of(rows: Sequence[str], pairs: bool, baseline: str) -> list[tuple[str, str]]:
    """Pairs of runs that the table compares, in its order."""
    return list(itertools.combinations(rows, 2)) if pairs else [(name, baseline) for name in rows if name != baseline]


def of_scipy(made: dict[str, Path], compared: Sequence[tuple[str, str]], test: str) -> list[tuple[Any, float, Any]]:
    """Differences, adjusted p values and intervals of the runs as scipy computes them, measure by measure."""
    alone = {name: evaluate_run(read_qrels(made["qrels"]), read_run(made[name]), MEASURES) for name in NAMES}
    found = []
    for measure, (one, other) in itertools.product(MEASURES, compared):
        first, second = values_of(alone[one], measure), values_of(alone[other], measure)
        tested = stats.ttest_rel(first, second)
        p_value = tested.pvalue
        if test == "randomisation":
            signs = stats.permutation_test(
                (first - second,), np.mean, permutation_type="samples", n_resamples=50_000, rng=1
            )
            p_value = signs.pvalue
        found.append((first.mean() - second.mean(), p_value, tested.confidence_interval()))
    order = np.argsort([p_value for _, p_value, _ in found], kind="stable")
    adjusted = np.empty(len(found))
    adjusted[order] = np.maximum.accumulate([
        min(1.0, (len(found) - place) * found[index][1]) for place, index in enumerate(order)
    ])  # fmt: skip
    return [(mean, adjusted[index], ends) for index, (mean, _, ends) in enumerate(found)]


@pytest.mark.parametrize("test", ["t", "randomisation"])
@pytest.mark.parametrize(("words_of", "pairs"), [(("--baseline", "third"), False), (("--pairs",), True)])
def test_latex_needs_no_editing_and_its_figures_are_those_of_scipy(
    srd: Srd, made: dict[str, Path], tmp_path: Path, words_of: tuple[str, ...], pairs: bool, test: str
) -> None:
    text = srd.works(*words(made), *words_of, "--test", test, "--format", "latex").out
    said = compiled(text, tmp_path)
    assert "Overfull" not in said
    assert "undefined" not in said
    rows = [
        line.split(" & ")[0].split(" $")[0]
        for line in text.split("bottomrule")[0].splitlines()
        if " & 0" in line or "textbf" in line
    ]
    compared = pairs_of(rows, pairs, "third")
    shown = re.findall(
        r"^\w+(?: -- \w+)? & \$(\S+)\$ & \$\[(\S+), (\S+)\]\$ & (\$<\$ )?(\S+) & (\d+) / \d+ / \d+ ", text, re.MULTILINE
    )
    expected = of_scipy(made, compared, test)
    assert len(shown) == len(expected) == len(MEASURES) * len(compared)
    for (mean, low, high, below, p_value, _), (difference, p_expected, ends) in zip(shown, expected, strict=True):
        assert [float(mean), float(low), float(high)] == pytest.approx([difference, ends.low, ends.high], abs=6e-5)
        if below:
            assert p_expected < float(p_value)
        else:
            assert float(p_value) == pytest.approx(p_expected, abs=6e-4 if test == "t" else 0.02)
    # Significance in the table of means: one mark for each significant difference.
    marks = re.findall(r"\$\^\{([a-z,]+)\}\$", "".join(re.findall(r"\d\}?(\$\^\{[a-z,]+\}\$)", text)))
    marked = sum(len(one.split(",")) for one in marks) if pairs else text.split("bottomrule")[0].count("$^{\\black")
    assert marked == sum(p_expected < 0.05 for _, p_expected, _ in expected)
    assert "resizebox" not in text
    for column, measure in enumerate(MEASURES):
        best = max(
            values_of(evaluate_run(read_qrels(made["qrels"]), read_run(made[name]), MEASURES), measure).mean()
            for name in NAMES
        )
        assert rf"\textbf{{{best:.4f}}}" in text, column


def test_long_and_odd_latex_compiles(made: dict[str, Path], tmp_path: Path) -> None:
    odd = [r"50% & more_\{x}^~#$", 'a|b<c>"d"', *(f"run number {number}" for number in range(28))]
    runs = {name: read_run(made[NAMES[number % 3]]) for number, name in enumerate(odd)}
    text = compare(read_qrels(made["qrels"]), runs, MEASURES[:1], pairs=True).latex()
    assert text.count(r"\begin{table}") == 1 + math.ceil(30 * 29 / 2 / 40)
    assert "$^{ad}$" in text
    compiled(text, tmp_path)


def test_no_cell_of_csv_is_a_formula(made: dict[str, Path]) -> None:
    odd = ["=1+1", "+1", "-1", "@sum", "\tx", "a=1", "'"]
    runs = {name: read_run(made[NAMES[number % 3]]) for number, name in enumerate(odd)}
    result = compare(read_qrels(made["qrels"]), runs, MEASURES[:1], pairs=True)
    for text in (result.csv(), topics_csv(result.tables)):
        cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
        assert {"'=1+1", "'+1", "'-1", "'@sum", "'\tx", "a=1", "'"} <= set(cells)
        for cell in cells:
            if cell.startswith(tuple("=+-@\t")):
                float(cell)  # a number below 0 stays one
    assert any(cell.startswith("-") for row in csv.reader(result.csv().splitlines()) for cell in row)


def test_other_forms_hold_the_same_figures(srd: Srd, made: dict[str, Path], tmp_path: Path) -> None:
    told = srd.works(*words(made), "--pairs", "--per-topic", "--json", "--csv", tmp_path / "made.csv").json
    rows = list(csv.DictReader((tmp_path / "made.csv").read_text().splitlines()))
    assert srd.works(*words(made), "--pairs", "--format", "csv").out == (tmp_path / "made.csv").read_text()
    shown = [row for row in rows if row["baseline"]]
    assert len(rows) == len(shown) + len(MEASURES)
    for row, each in zip(shown, told["differences"], strict=True):
        names = ("difference", "difference_low", "difference_high", "p", "p_adjusted", "wins", "ties", "losses")
        figures = [each["mean"], *each["interval"], each["raw_p_value"], each["p_value"], *each["wins_ties_losses"]]
        assert [float(row[name]) for name in names] == figures
        assert row["topics"] == str(told["topics"])
        assert (row["ranker"], row["baseline"], row["measure"]) == (each["ranker"], each["baseline"], each["measure"])
    markdown = srd.works(*words(made), "--pairs", "--format", "markdown").out
    assert sum(f" minus {name} |" in line for name in NAMES for line in markdown.splitlines()) == len(shown)
    by_topic = csv.DictReader(srd.works(*words(made), "--format", "csv", "--per-topic").out.splitlines())
    values = {(row["ranker"], row["topic"], row["measure"]): float(row["value"]) for row in by_topic}
    assert values == {
        (name, topic, measure): value
        for name, scores in told["per_topic"].items()
        for topic, by_measure in scores.items()
        for measure, value in by_measure.items()
    }
    lines = srd.works(*words(made), "--format", "trec", "--per-topic").out.splitlines()
    assert lines.count("runid\tall\tfirst") == 1
    start = lines.index("runid\tall\tfirst") + 1
    alone = ("evaluate", "--qrels", made["qrels"], "--run", made["first"], *QUICK, "--format", "trec")
    of_evaluate = srd.works(*alone, "--per-topic").out.splitlines()
    assert lines[start : start + len(of_evaluate)] == of_evaluate
    assert of_evaluate[-len(MEASURES) :] == srd.works(*alone).out.splitlines()
    name, topic, value = of_evaluate[0].split("\t")
    assert float(value) == pytest.approx(values["first", topic, name], abs=1e-6)


def test_the_page_shows_all_pairs(srd: Srd, made: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "pairs.html"
    told = srd.works(*words(made), "--pairs", "--out", page, "--json").json
    text = page.read_text()
    for each in told["differences"]:
        assert f"<bdi>{each['ranker']} minus {each['baseline']}</bdi>" in text
        sign = SIGNS[each["verdict"]]
        assert f">{each['mean']:+.4f} {sign}</td>" in text or each["measure"] != MEASURES[0]
    assert "share a letter" in text
    srd.works(*words(made), "--out", page)
    assert "share a letter" not in page.read_text()
