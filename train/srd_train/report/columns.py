"""The columns of result tables: one list for the terminal, Markdown, LaTeX and the page.

A new column is one entry of `columns`; numbers of the records are in `Row.medians` under their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from srd_train.report.tables import FEWEST_SEEDS, SIGNIFICANT, ResultTable, Row

SIGNS = {"above": "▲", "below": "▼", "level": "≈", "": ""}
"""How a verdict is shown: a shape each, so that no colour is needed."""
FEW = "†"
"""Behind the mean of a row that was trained with too few seeds."""
_LEGEND = (
    "Interval: 95% of the mean, over topics and seeds. p: paired t test of the first measure over topics and seeds, "
    f"Holm-adjusted within the table; {SIGNS['above']} significantly above the first reference, {SIGNS['below']} "
    f"significantly below, {SIGNS['level']} no significant difference (p >= {SIGNIFICANT:g}). Wins, ties and losses: "
    "topics against that reference, by the first measure."
)
_TIMES = " Times: processor time, medians over cells, on the machine that ran them."
_MARKS = {
    "simulated": "Simulated vectors were drawn from the judgments: compare learners by them, not texts.",
    "transductive": "Transductive vectors were fitted on texts of all folds, the test topics' included.",
}

Value = float | str | None


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a result table."""

    head: str
    value: Callable[[Row], Value]
    """What the page sorts by; None where there is nothing."""
    form: Callable[[Row], str]
    """The text of a cell whose value is not None."""
    priority: int
    """Where a terminal is too narrow, the columns with the highest go first."""
    below: str | None = None
    """On the page it is the second line of this column's cells, elsewhere a column."""
    page_only: bool = False
    """Whether it is left out elsewhere."""

    def text(self, row: Row) -> str:
        """What a cell shows."""
        return "-" if self.value(row) is None else self.form(row)


def columns(table: ResultTable) -> list[Column]:
    """The columns of which any row has a value; the first names the ranker, the others hold numbers."""
    first, *others = table.measures
    every = [
        Column(head="ranker", value=lambda row: row.ranker, form=lambda row: row.ranker, priority=0),
        Column(
            head=first,
            value=lambda row: row.means[first],
            form=lambda row: f"{row.means[first]:.4f}" + (f" {FEW}" if row.too_few_seeds else ""),
            priority=0,
        ),
        _number("published", lambda row: table.published.get(row.ranker), "{:.4f}".format, priority=3),
        _interval(first, head="95% interval", priority=2),
        Column(
            head="sd over seeds",
            value=lambda row: row.seed_spread[first],
            form=lambda row: f"{row.seed_spread[first]:.4f} ({len(row.seeds)})",
            priority=6,
        ),
        Column(
            head=f"p against {table.reference}",
            value=lambda row: row.p_value,
            form=lambda row: f"{_p_text(row.p_value)} {SIGNS[row.verdict]}",
            priority=1,
        ),
        _number(f"p against {table.second_reference}", lambda row: row.second_p_value, _p_text, priority=4),
        Column(
            head="wins / ties / losses",
            value=lambda row: row.wins_ties_losses and row.wins_ties_losses[0] - row.wins_ties_losses[2],
            form=lambda row: " / ".join(f"{count:,}" for count in row.wins_ties_losses or ()),
            priority=7,
        ),
    ]
    for name in others:
        every += [_mean(name), _interval(name, head=f"{name}, 95% interval", page_only=True)]
    every += [
        _median("episodes", "environment_episodes", "{:,.0f}".format, priority=10),
        _median("steps", "environment_steps", "{:,.0f}".format, priority=11),
        _median("fit CPU seconds", "fit_cpu_seconds", short, priority=8),
        _median("ms a topic", "rank_milliseconds", short, priority=9),
    ]
    return [column for column in every if any(column.value(row) is not None for row in table.rows)]


def plain_columns(table: ResultTable) -> list[Column]:
    """Those of the terminal, Markdown and LaTeX."""
    return [column for column in columns(table) if not column.page_only]


def legend_of(tables: Sequence[ResultTable]) -> str:
    """What a reader must know of all these tables."""
    return _LEGEND + (_TIMES if any(table.timed for table in tables) else "")


def notes(table: ResultTable) -> list[str]:
    """What a reader must know of this table besides the legend."""
    fits: dict[str, list[str]] = {}
    for row in table.rows:
        fits.setdefault(row.fitted_as, []).append(row.ranker)
    oracles = ", ".join(row.ranker for row in table.rows if row.reads_judgments)
    few = "; ".join(row.ranker for row in table.rows if row.too_few_seeds)
    timed = ", ".join(
        f"{row.ranker} ({row.medians['time_budget']:g} s)" for row in table.rows if "time_budget" in row.medians
    )
    return [
        *(_MARKS.get(mark, f"Vectors: {mark}.") for mark in table.marks),
        *([f"Reads the judgments, and so competes with nobody: {oracles}."] if oracles else []),
        *([f"{FEW} Trained with fewer than {FEWEST_SEEDS} seeds, so not tested: {few}."] if few else []),
        *([f"Published: {table.published_source}."] if table.published else []),
        *(
            f"One fit ({name}, a seed and fold) serves {len(rows)} rows: {'; '.join(rows)}."
            for name, rows in fits.items()
            if len(rows) > 1
        ),
        *([f"Ended by a time budget, so that their weights depend on the machine: {timed}."] if timed else []),
    ]


def _number(head: str, value: Callable[[Row], float | None], form: Callable[[float], str], *, priority: int) -> Column:
    """A column of numbers."""
    return Column(head=head, value=value, form=lambda row: form(value(row) or 0.0), priority=priority)


def _median(head: str, key: str, form: Callable[[float], str], *, priority: int) -> Column:
    """The median over cells of a number of the records."""
    return _number(head, lambda row: row.medians.get(key), form, priority=priority)


def _mean(name: str) -> Column:
    """Means of another measure than the first."""
    return _number(name, lambda row: row.means[name], "{:.4f}".format, priority=5)


def _interval(name: str, *, head: str, priority: int = 0, page_only: bool = False) -> Column:
    """Intervals of a measure's mean."""
    return Column(
        head=head,
        value=lambda row: row.intervals[name][0],
        form=lambda row: "[{:.4f}, {:.4f}]".format(*row.intervals[name]),
        priority=priority,
        below=name,
        page_only=page_only,
    )


def short(value: float) -> str:
    """A time as text, with two or three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.01 else "< 0.01"


def _p_text(value: float | None) -> str:
    """A p value as text."""
    return "< 0.001" if value is not None and value < 0.001 else f"{value:.3f}"
