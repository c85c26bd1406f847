"""`python -m studies learning-curves`: the learning curves of a benchmark as a picture for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from srd_train.commands.console import File, Output
from srd_train.experiment.records import Record
from srd_train.report.curves import AGAINST, Panel, panels
from srd_train.report.results import read_results
from studies.figures import COLOURS, check_format, empty_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = ("-", "--", "-.", ":")
_LABELS = {"episodes": "environment episodes", "cpu_seconds": "processor seconds of training"}


@dataclass(frozen=True, kw_only=True)
class LearningCurves:
    """Draw the learning curves of a benchmark, a row for each topic set.

    Example:
      python -m studies learning-curves results/mdp-div-paper --out docs/results/mdp-div-paper.svg
    """

    results: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """A folder of results, as `srd benchmark` leaves it."""
    out: File
    """The picture (.png or .svg)."""

    def execute(self, output: Output) -> int:
        """Read and draw."""
        check_format(self.out)
        by_topics: dict[str, list[Record]] = {}
        for record in read_results(self.results)[0]:
            by_topics.setdefault(record["topic_set"]["name"], []).append(record)
        found = [panel for records in by_topics.values() for panel in panels(records)]
        if not found:
            expected = "expected rankers that learn from episodes and are validated"
            raise ValueError(f"no cell has a learning curve to draw: {expected}")
        draw(found, self.out)
        output.notice(str(self.out))
        return 0


def draw(found: Sequence[Panel], path: Path) -> None:
    """Draw the panels into a PNG or SVG file; never half a file."""
    save_figure(lambda: _panel_figure(found), path)


def _panel_figure(found: Sequence[Panel]) -> Figure:
    """All panels; a topic set a row, episodes left, time right, one legend a row."""
    rows = len(found) // len(AGAINST)
    figure, axes = empty_figure(rows, len(AGAINST), (12, 4.6 * rows), sharey="row")
    for index, panel in enumerate(found):
        _draw_panel(axes[index // len(AGAINST)][index % len(AGAINST)], panel, first=index % len(AGAINST) == 0)
    for row in axes:
        handles, labels = row[0].get_legend_handles_labels()
        row[-1].legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def _draw_panel(axes: Axes, panel: Panel, *, first: bool) -> None:
    """Lines with their bands, and levels of what does not learn."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    names = sorted(curve.ranker for curve in panel.curves)  # a ranker looks the same in every panel
    for curve in panel.curves:
        place = names.index(curve.ranker)
        look: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)]}
        seeds = f" ({curve.seeds} seeds)" if curve.seeds > 1 else ""
        style = _STYLES[place % len(_STYLES)]
        axes.plot(curve.x, curve.mean, label=f"{curve.ranker}{seeds}", linestyle=style, linewidth=2, **look)
        if curve.start is not None:
            edge = axes.get_yaxis_transform()  # x in shares of the panel's width, y in the measure
            axes.plot([0], [curve.start], marker="o", markersize=7, transform=edge, clip_on=False, zorder=3, **look)
        if curve.seeds > 1:
            axes.fill_between(curve.x, curve.low, curve.high, alpha=0.2, linewidth=0, **look)
    for place, (ranker, value) in enumerate(sorted(panel.levels.items())):
        axes.axhline(value, color="black", linewidth=1.2, linestyle=_STYLES[(place + 1) % len(_STYLES)], label=ranker)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(_LABELS[panel.against])
    axes.set_title(panel.topics)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if first:
        axes.set_ylabel(f"{panel.measure}, validation")


def _short(value: float) -> str:
    """A number on an axis: 0.5, 20, 100k, 2M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
