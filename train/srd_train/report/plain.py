"""Result tables as Markdown and LaTeX; texts from the results stay texts in both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from srd_train.report.columns import LEGEND, notes, plain_columns
from srd_train.report.markdown import markdown
from srd_train.report.results import Problem
from srd_train.report.tables import ResultTable

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    '"': r"\textquotedbl{}",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "≈": r"$\approx$",
    "\n": " ",
}
_MARKDOWN = re.compile(r"([\\`*\[\]<>|~#&])")


def as_markdown(found: Sequence[ResultTable], problems: Sequence[Problem] = ()) -> str:
    """The tables for a Markdown page, with their notes; the legend and the problems come last."""
    parts = []
    for table in found:
        heads, rows = plain_cells(table)
        cells = [[_markdown_text(name), *numbers] for name, *numbers in rows]
        parts.append(f"**{_markdown_text(table.title)}**")
        parts.append(markdown([_markdown_text(head) for head in heads], cells))
        parts.append(_markdown_text(" ".join(notes(table))))
    parts.append(LEGEND)
    if problems:
        parts += ["**Problems**", "\n".join(f"- {_markdown_text(str(problem))}" for problem in problems)]
    return "\n\n".join(filter(None, parts))


def as_latex(found: Sequence[ResultTable]) -> str:
    """The tables for a paper: `booktabs`, and `amssymb` for the marks."""
    parts = ["% Needs \\usepackage{booktabs, amssymb, graphicx}.\n"]
    for table in found:
        heads, rows = plain_cells(table)
        caption = " ".join([f"{table.title}.", LEGEND, *notes(table)])
        lines = [
            r"\begin{table}[t]",
            r"\centering",
            rf"\caption{{{_latex_text(caption)}}}",
            r"\resizebox{\linewidth}{!}{%",
            rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
            r"\toprule",
            _latex_row(heads),
            r"\midrule",
            *map(_latex_row, rows),
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def plain_cells(table: ResultTable) -> tuple[list[str], list[list[str]]]:
    """Heads and rows as text."""
    shown = plain_columns(table)
    return [column.head for column in shown], [[column.text(row) for column in shown] for row in table.rows]


def _latex_row(cells: Sequence[str]) -> str:
    """Cells as a row."""
    return " & ".join(map(_latex_text, cells)) + r" \\"


def _markdown_text(text: str) -> str:
    """Text that Markdown shows as it is; line ends would end a row of a table."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _latex_text(text: str) -> str:
    """Text that LaTeX shows as it is."""
    return "".join(_LATEX.get(character, character) for character in text)
