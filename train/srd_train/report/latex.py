r"""Result tables as LaTeX that can be pasted: `booktabs`, the best in bold, significance marks for every measure.

A table of a benchmark and one of compared runs come from the same code: the means with their marks, then the
differences with intervals and p values, then, where records tell it, what fitting and ranking took.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from srd_train.report.differences import TESTS, Difference, Test, differences
from srd_train.report.markup import FEW, cost_columns, notes, p_text, signed
from srd_train.report.tables import SIGNIFICANT, ResultTable, Row

_LONGEST = 40
"""Rows of differences in one table: more do not fit a page."""
_TEXT = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    '"': "''",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "≈": r"$\approx$",
    "†": r"$\dagger$",
    "\n": " ",
}
_NAMES = {r"alpha\_": r"$\alpha$-", "Dsharp": r"D\#", r"\_": "-"}
"""Parts of a measure's name -> how papers write them."""
_MARKS = {"above": r"$^{\blacktriangle}$", "below": r"$^{\blacktriangledown}$"}


def as_latex(
    tables: Sequence[ResultTable],
    compared: Sequence[Sequence[Difference]] | None = None,
    *,
    pairs: bool = False,
    test: Test = "t",
) -> str:
    r"""The tables for a paper; they need `\usepackage{booktabs, amssymb}`.

    Args:
        tables: of `complete_tables`.
        compared: the differences that each shows; None: of all that is tested from the table's reference.
        pairs: whether these are of all pairs: rows then have letters, and a mean those of the rows that it is above.
        test: that they were tested by.
    """
    if compared is None:
        compared = [differences(table, pairs=pairs, test=test) for table in tables]
    parts = ["% Needs \\usepackage{booktabs, amssymb}.\n"]
    labels: set[str] = set()
    for table, own in zip(tables, compared, strict=True):
        label = _label(table, labels)
        parts.append(_means(table, own, label, pairs=pairs, test=test))
        parts += _differences(table, own, label, pairs=pairs)
        if table.timed:
            parts.append(_costs(table, label))
    return "\n".join(parts)


def _means(table: ResultTable, compared: Sequence[Difference], label: str, *, pairs: bool, test: Test) -> str:
    """Means of all measures, a row each."""
    letter = {row.ranker: _letter(number) for number, row in enumerate(table.rows)}
    best = {name: f"{mean:.4f}" for name in table.measures if (mean := table.best(name)) is not None}
    rows = []
    for row in table.rows:
        cells = [
            _text(row.ranker + (f" {FEW}" if row.too_few_seeds else ""))
            + (f" $^{{{letter[row.ranker]}}}$" if pairs else "")
        ]
        for name in table.measures:
            text = f"{row.means[name]:.4f}"
            text = rf"\textbf{{{text}}}" if text == best.get(name) and not row.reads_judgments else text
            own = [each for each in compared if each.measure == name]
            cells.append(text + (_letters(row, own, letter) if pairs else _mark(row, own)))
        rows.append(cells)
    noun = _noun(table)
    said = (
        "A letter behind a mean names a row that it is significantly above"
        if pairs
        else f"▲, ▼: significantly above or below {table.reference}"
    )
    ideal = "the judged documents" if table.normalizer == "pool" else "the candidates"
    seeds = " and seeds" if test == "t" and any(len(row.seeds) > 1 for row in table.rows) else ""
    tested = "" if compared and compared[0].family.startswith("Tukey") else f"{TESTS[test]}{seeds}, "
    caption = [
        f"Means of {len(table.rows)} {noun}s over {_about(table)} (ideal rankings: of {ideal}). Best in bold.",
        *([f"{said} ({tested}p < {SIGNIFICANT:g}, {compared[0].family})."] if compared else []),
        *notes(table),
    ]
    heads = [noun, *(_measure(name) for name in table.measures)]
    return _table(heads, "l" * len(heads), [rows], " ".join(caption), label)


def _differences(table: ResultTable, compared: Sequence[Difference], label: str, *, pairs: bool) -> list[str]:
    """Differences with their intervals, tests and topics, by measure: as many tables as pages need."""
    if not compared:
        return []
    noun = _noun(table)
    heads = [f"{noun}s" if pairs else noun, "difference", r"95\% interval", "$p$", "wins / ties / losses"]
    less = "the first's mean minus the second's" if pairs else f"mean minus that of {table.reference}"
    caption = (
        f"Differences of {_noun(table)}s over {_about(table)}: {less}, its 95% interval, p ({compared[0].family}), and "
        "topics that are better, equal and worse."
    )
    groups: list[list[list[str]]] = []
    for name, several in groupby(compared, attrgetter("measure")):
        rows = [_difference(each, pairs=pairs) for each in several]
        heading = [rf"\multicolumn{{5}}{{l}}{{\emph{{{_measure(name)}}}}}"]
        groups += [[heading, *rows[start : start + _LONGEST]] for start in range(0, len(rows), _LONGEST)]
    made: list[list[list[list[str]]]] = []
    for group in groups:
        if not made or sum(map(len, made[-1])) + len(group) > _LONGEST + 1:
            made.append([])
        made[-1].append(group)
    return [
        _table(heads, "lrrrr", several, caption, f"{label}-differences" + (f"-{number}" if number else ""))
        for number, several in enumerate(made)
    ]


def _difference(each: Difference, *, pairs: bool) -> list[str]:
    """One difference as cells."""
    who = f"{_text(each.ranker)} -- {_text(each.baseline)}" if pairs else _text(each.ranker)
    low, high = each.interval
    counts = " / ".join(map(str, each.wins_ties_losses))
    return [who, f"${signed(each.mean)}$", f"$[{signed(low)}, {signed(high)}]$", _text(p_text(each.p_value)), counts]


def _costs(table: ResultTable, label: str) -> str:
    """Episodes, steps and times."""
    columns = cost_columns(table)
    rows = [[_text(row.ranker), *(_text(column.text(row)) for column in columns)] for row in table.rows]
    caption = f"Cost of {_noun(table)}s over {_about(table)}: processor time, medians over cells, on one machine."
    heads = [_noun(table), *(_text(column.head) for column in columns)]
    return _table(heads, "l" + "r" * len(columns), [rows], caption, f"{label}-cost")


def _table(
    heads: Sequence[str], alignment: str, groups: Sequence[Sequence[Sequence[str]]], caption: str, label: str
) -> str:
    """Rows of LaTeX as a floating table; between groups of them stands a rule."""
    body = [[" & ".join(cells) + r" \\" for cells in group] for group in groups]
    ruled = [line for group in body for line in (r"\midrule", *group)]
    lines = [
        r"\begin{table}[t]",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{_text(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{@{{}}{alignment}@{{}}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        *ruled,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _noun(table: ResultTable) -> str:
    """The word for what a row is."""
    return "ranker" if table.folds else "run"


def _about(table: ResultTable) -> str:
    """The topics of a table, in words."""
    if not table.folds:
        return f"{table.tested} judged topics" + (" that every run ranks" if "," in table.topics else "")
    return f"{table.tested} test topics of {table.topics}" + "".join(f", {mark} vectors" for mark in table.marks)


def _mark(row: Row, compared: Sequence[Difference]) -> str:
    """The mark of a mean against the baseline."""
    return next((_MARKS.get(each.verdict, "") for each in compared if each.ranker == row.ranker), "")


def _letters(row: Row, compared: Sequence[Difference], letter: dict[str, str]) -> str:
    """Letters of the rows that a mean is significantly above."""
    above = [each.baseline for each in compared if each.ranker == row.ranker and each.verdict == "above"]
    above += [each.ranker for each in compared if each.baseline == row.ranker and each.verdict == "below"]
    names = ",".join(sorted(map(letter.__getitem__, above), key=lambda name: (len(name), name)))
    return f"$^{{{names}}}$" if names else ""


def _letter(number: int) -> str:
    """The name of a row: a, b, ..., z, aa, ab, ..."""
    before, own = divmod(number, 26)
    return (_letter(before - 1) if before else "") + chr(ord("a") + own)


def _label(table: ResultTable, used: set[str]) -> str:
    """A label of its own for each table."""
    name = re.sub(r"[^a-z0-9]+", "-", table.topics.lower()).strip("-") if table.folds else "runs"
    label, number = f"tab:{name}", 1
    while label in used:
        number += 1
        label = f"tab:{name}-{number}"
    used.add(label)
    return label


def _measure(name: str) -> str:
    """A measure's name as papers write it."""
    text = _text(name)
    for part, written in _NAMES.items():
        text = text.replace(part, written)
    return text


def _text(text: str) -> str:
    """Text that LaTeX shows as it is."""
    return "".join(_TEXT.get(one, f"\\{one}" if one in "{}&%$#_" else one) for one in text)
