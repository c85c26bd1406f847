"""Result tables on the terminal: whole, or the few columns that tell who gains."""

from __future__ import annotations

from srd_train.commands.console import Output
from srd_train.report.differences import differences
from srd_train.report.markup import FEW, SIGNS, notes, plain_cells, short
from srd_train.report.tables import ResultTable


def print_table(table: ResultTable, output: Output, legend: str) -> None:
    """Show a result table."""
    caption = "\n".join(filter(None, [" ".join(notes(table)), legend]))
    output.table(table.title, *plain_cells(table), caption, elsewhere="--markdown FILE, --json")


def print_summary(table: ResultTable, output: Output) -> None:
    """Show four columns of a result table: ranker, first measure, gain over the reference, training time."""
    measure = table.measures[0]
    gains = {each.ranker: each for each in differences(table) if each.measure == measure}
    rows = []
    for row in table.rows:
        gain, few = gains.get(row.ranker), f" {FEW}" if row.too_few_seeds else ""
        interval = "-" if gain is None else f"{gain.mean:+.3f} [{gain.interval[0]:+.3f}, {gain.interval[1]:+.3f}]"
        sign = "" if row.verdict is None or gain is None else f" {SIGNS[row.verdict]}"
        seconds = row.medians.get("fit_cpu_seconds")
        rows.append(
            [row.ranker, f"{row.means[measure]:.3f}{few}", interval + sign, "-" if seconds is None else short(seconds)]
        )
    heads = ["ranker", measure, f"gain over {table.reference} [95%]", "training CPU s"]
    output.table(table.title, heads, rows, " ".join(notes(table)))
