"""A report's tables as Markdown and LaTeX; texts from the results stay texts in both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from srd_train.report.columns import Column, columns, notes
from srd_train.report.comparison import Comparison
from srd_train.report.markdown import markdown
from srd_train.report.results import Problem

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
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#&])")


def as_markdown(found: Sequence[Comparison], problems: Sequence[Problem]) -> str:
    """The tables for a Markdown page, with their notes; what is lacking comes last."""
    parts = []
    for comparison in found:
        heads, rows = _rows(comparison)
        title = f"**{_markdown_text(comparison.table.title)}**"
        cells = [[_markdown_text(name), *numbers] for name, *numbers in rows]
        table = markdown([_markdown_text(head) for head in heads], cells)
        parts += [title, table, _markdown_text(" ".join(notes(comparison)))]
    if problems:
        parts += ["**Lacking**", "\n".join(f"- {_markdown_text(str(problem))}" for problem in problems)]
    return "\n\n".join(parts) + "\n"


def as_latex(found: Sequence[Comparison]) -> str:
    """The tables for a paper: `booktabs`, and `amssymb` for the marks."""
    parts = ["% Needs \\usepackage{booktabs, amssymb, graphicx}.\n"]
    for comparison in found:
        heads, rows = _rows(comparison)
        body = [" & ".join(_latex_text(cell) for cell in row) + r" \\" for row in rows]
        lines = [
            r"\begin{table}[t]",
            r"\centering",
            rf"\caption{{{_latex_text(comparison.table.title)}. {_latex_text(' '.join(notes(comparison)))}}}",
            r"\resizebox{\linewidth}{!}{%",
            rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
            r"\toprule",
            " & ".join(_latex_text(head) for head in heads) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Heads and rows as text; the first measure's interval has a column of its own."""
    found = columns(comparison)
    interval = Column(head="95% interval", text=found[0].small, value=found[0].value)
    shown = [found[0], interval, *found[1:]]
    heads = ["ranker", *(column.head for column in shown)]
    return heads, [[s.row.ranker, *(column.text(s) for column in shown)] for s in comparison.standings]


def _markdown_text(text: str) -> str:
    """Text that Markdown shows as it is; line ends would end a row of a table."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split())).replace("\\_", "_")


def _latex_text(text: str) -> str:
    """Text that LaTeX shows as it is."""
    return "".join(_LATEX.get(character, character) for character in text)
