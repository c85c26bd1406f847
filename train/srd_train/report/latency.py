"""Quality against time to rank, from result tables: what a ranker's answer is worth, and what it costs.

A point is a row: its mean on the test topics, and the processor time in which it ranks one of them. Rows of one fit
that differ in numbers alone, such as the budgets of a search, are joined by a line. Rankers that read the judgments are
left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from srd_train.report.curves import COLOURS, save_figure
from srd_train.report.tables import ResultTable, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*<>"


@dataclass(frozen=True, kw_only=True)
class Family:
    """Rows whose points are joined: those of one fit that differ in numbers alone; most families are one row."""

    fitted_as: str
    rows: tuple[Row, ...]
    """By rising time."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """One topic set."""

    topics: str
    measure: str
    families: tuple[Family, ...]


def boards(found: Sequence[ResultTable]) -> list[Board]:
    """A board for each table."""
    return [_board(table) for table in found]


def draw_latency(found: Sequence[Board], path: Path) -> None:
    """Draw the boards into a PNG or SVG file; never half a file.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: another kind of file.
    """
    save_figure(lambda: _figure(found), path)


def _board(table: ResultTable) -> Board:
    """The board of one topic set."""
    joined: dict[tuple[str, str], list[Row]] = {}
    for row in table.rows:
        if not row.reads_judgments:
            joined.setdefault(_kind(row), []).append(row)
    families = [
        Family(fitted_as=fitted_as, rows=tuple(sorted(rows, key=_milliseconds)))
        for (fitted_as, _), rows in joined.items()
    ]
    return Board(topics=table.topics, measure=table.measures[0], families=tuple(families))


def _kind(row: Row) -> tuple[str, str]:
    """What the points of a family have in common: the fit, and what of the view is no number."""
    words = {name: value for name, value in (row.view or {}).items() if isinstance(value, (str, bool))}
    return row.fitted_as, json.dumps(words, sort_keys=True)


def _milliseconds(row: Row) -> float:
    """Processor time to rank a topic."""
    return row.medians["rank_milliseconds"]


def _figure(found: Sequence[Board]) -> Figure:
    """The boards, one below the other, each with its legend."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=(9.5, 4.8 * len(found)), layout="constrained")
    FigureCanvasAgg(figure)  # no window system takes part
    axes = figure.subplots(len(found), 1, squeeze=False)[:, 0]
    # A ranker looks the same on every board, wherever it stands on it.
    names = list(dict.fromkeys(family.fitted_as for board in found for family in board.families))
    for board, place in zip(found, axes, strict=True):
        _draw_board(place, board, names)
    return figure


def _draw_board(axes: Axes, board: Board, names: Sequence[str]) -> None:
    """Points with the spread over their seeds, families joined."""
    from matplotlib.ticker import FuncFormatter

    for family in board.families:
        colour = COLOURS[names.index(family.fitted_as) % len(COLOURS)]
        if len(family.rows) > 1:
            x, y = zip(*((_milliseconds(row), row.means[board.measure]) for row in family.rows), strict=True)
            axes.plot(x, y, color=colour, linewidth=1.5, alpha=0.6, zorder=1)
        same_fit = [row for one in board.families if one.fitted_as == family.fitted_as for row in one.rows]
        for row in family.rows:
            turn = same_fit.index(row)
            axes.errorbar(
                _milliseconds(row),
                row.means[board.measure],
                yerr=row.seed_spread[board.measure] or 0.0,
                color=colour,
                marker=_MARKERS[turn % len(_MARKERS)],
                markersize=7,
                capsize=3,
                linestyle="none",
                label=row.ranker,
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("processor time to rank a topic, ms")
    axes.set_ylabel(f"{board.measure}, test")
    axes.set_title(board.topics)
    axes.grid(visible=True, which="major", alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=10)
