"""Result tables as Markdown and LaTeX, and parts of pages that are generated between marks, the text around them kept.

Texts from the results stay texts in both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from srd_gym.files import written_atomically
from srd_train.report.columns import legend_of, notes, plain_columns
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
    "†": r"$\dagger$",
    "\n": " ",
}
_MARKS = "<!-- {}: {} -->"
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
    parts.append(legend_of(found))
    if problems:
        parts += ["**Problems**", "\n".join(f"- {_markdown_text(str(problem))}" for problem in problems)]
    return "\n\n".join(filter(None, parts))


def as_latex(found: Sequence[ResultTable]) -> str:
    """The tables for a paper: `booktabs`, and `amssymb` for the marks."""
    parts = ["% Needs \\usepackage{booktabs, amssymb, graphicx}.\n"]
    for table in found:
        heads, rows = plain_cells(table)
        caption = " ".join([f"{table.title}.", legend_of([table]), *notes(table)])
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


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A Markdown table; the first columns are words, the others numbers, which stand right."""
    rule = [*["---"] * words, *["---:"] * (len(heads) - words)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows))


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """The page with each part between its marks `<!-- NAME: begin -->` and `<!-- NAME: end -->`.

    Raises:
        ValueError: a part whose marks the page lacks.
    """
    for name, part in parts.items():
        begin, end = _MARKS.format(name, "begin"), _MARKS.format(name, "end")
        if begin not in text or end not in text:
            raise ValueError(f"the page has no marks {begin} and {end}; write them where the part belongs")
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{part}\n{end}{rest.split(end, 1)[1]}"
    return text


def write_page(path: Path, name: str, part: str, whole: str) -> None:
    """Put a part between its marks where the page has them, else write the whole page anew; never half of it."""
    there = path.read_text(encoding="utf-8") if path.is_file() else ""
    write_text(path, with_parts(there, {name: part}) if _MARKS.format(name, "begin") in there else whole + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file at once or not at all."""
    with written_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")
