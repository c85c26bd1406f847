"""The columns of a report's tables: the same on the page, in Markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from srd_train.report.comparison import SIGNIFICANT, Comparison, Standing

SIGNS = {"above": "▲", "below": "▼", "level": "≈", "": ""}
"""How a verdict is shown: a shape each, so that no colour is needed."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of numbers."""

    head: str
    text: Callable[[Standing], str]
    """What a cell shows."""
    value: Callable[[Standing], float | None]
    """What it is sorted by; None where there is nothing, which stands last."""
    small: Callable[[Standing], str] = lambda _: ""
    """A second line of the cell."""


def columns(comparison: Comparison) -> list[Column]:
    """The columns of one topic set, but for the ranker's name."""
    table = comparison.table
    first, *others = table.measures
    found = [
        _measure(first),
        Column(
            head="sd over seeds",
            text=lambda s: "-" if s.row.seed_spread[first] is None else f"{s.row.seed_spread[first]:.4f}",
            value=lambda s: s.row.seed_spread[first],
            small=lambda s: f"{len(s.row.seeds)} seed{'s' if len(s.row.seeds) > 1 else ''}",
        ),
        _p_value(f"p against {table.reference}", lambda s: s.row.p_value, lambda s: SIGNS[s.verdict]),
    ]
    if table.second_reference is not None:
        found.append(_p_value(f"p against {table.second_reference}", lambda s: s.row.second_p_value, lambda _: ""))
    found.append(
        Column(
            head="wins / ties / losses",
            text=lambda s: "-" if s.against is None else " / ".join(f"{count:,}" for count in s.against),
            value=lambda s: None if s.against is None else float(s.against[0] - s.against[2]),
        )
    )
    found += [_measure(name) for name in others]
    if any(s.row.environment_episodes is not None for s in comparison.standings):
        found.append(_count("episodes", lambda s: s.row.environment_episodes))
        found.append(_count("steps", lambda s: s.row.environment_steps))
    found.append(Column(head="fit seconds", text=lambda s: short(s.row.fit_seconds), value=lambda s: s.row.fit_seconds))
    found.append(
        Column(head="ms a topic", text=lambda s: short(s.rank_milliseconds), value=lambda s: s.rank_milliseconds)
    )
    return found


def notes(comparison: Comparison) -> list[str]:
    """What a reader must know of the table."""
    table = comparison.table
    first = table.measures[0]
    found = [
        f"Intervals: 95% bootstrap of the mean over topics. p: paired randomisation test of {first} over topics, "
        f"Holm-adjusted within the table: {SIGNS['above']} above {table.reference}, {SIGNS['below']} below, "
        f"{SIGNS['level']} no significant difference (p >= {SIGNIFICANT:g}). Wins, ties and losses: topics against "
        f"{table.reference}, by {first}. "
        "Times: medians over cells, on the machine that ran them."
    ]
    if table.marks:
        found.append(_mark_note(table.marks))
    oracles = [s.row.ranker for s in comparison.standings if s.reads_judgments]
    if oracles:
        found.append(f"Reads the judgments, and so competes with nobody: {', '.join(oracles)}.")
    return [*found, *([table.note] if table.note else [])]


def short(value: float) -> str:
    """A time as text, with two or three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.01 else "< 0.01"


def p_text(value: float) -> str:
    """A p value as text."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _mark_note(marks: tuple[str, ...]) -> str:
    """What the marks of a topic set mean."""
    meanings = {
        "simulated": "Simulated vectors were drawn from the judgments: compare learners by them, not texts.",
        "transductive": "Transductive vectors were fitted on texts of all folds, the test topics' included.",
    }
    return " ".join(meanings.get(mark, f"Vectors: {mark}.") for mark in marks)


def _measure(name: str) -> Column:
    """Mean and interval of a measure."""

    def interval(standing: Standing) -> str:
        low, high = standing.row.intervals[name]
        return f"[{low:.4f}, {high:.4f}]"

    return Column(
        head=name, text=lambda s: f"{s.row.means[name]:.4f}", value=lambda s: s.row.means[name], small=interval
    )


def _p_value(head: str, value: Callable[[Standing], float | None], sign: Callable[[Standing], str]) -> Column:
    """Adjusted p values with their mark."""

    def text(standing: Standing) -> str:
        p = value(standing)
        return "-" if p is None else f"{p_text(p)} {sign(standing)}".strip()

    return Column(head=head, text=text, value=value)


def _count(head: str, value: Callable[[Standing], int | None]) -> Column:
    """Whole numbers."""

    def text(standing: Standing) -> str:
        count = value(standing)
        return "-" if count is None else f"{count:,}"

    return Column(head=head, text=text, value=value)
