"""Pictures of stored scores: differences with their intervals, and gains against the time of training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studies.figures import empty_figure, look, save_figure
from studies.results.stored import Compared, Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_UNTRAINED = 0.1
"""Seconds below which nothing is trained: the left edge."""


def draw_gains(lines: Sequence[Sequence[str]], stored: Stored, path: Path) -> None:
    """Draw comparisons, a line of the picture a label and a point a ranker; never half a file.

    Args:
        lines: LABEL, RECIPE, TOPICS, ROW, ROW each.
        stored: the scores.
        path: of the picture.
    """
    found = [(label, stored.compared(*names)) for label, *names in lines]
    save_figure(lambda: _figure(found), path)


def draw_costs(lines: Sequence[Sequence[str]], stored: Stored, path: Path) -> None:
    """Draw gains over one row against the processor time of training, a panel per line; never half a file.

    Args:
        lines: RECIPE, TOPICS, ROW each; every other row of the table that reads no judgments is a point.
        stored: the scores.
        path: of the picture.
    """
    panels = []
    for recipe, topics, reference in lines:
        rows = stored.rows(recipe, topics, but=reference)
        gains = [stored.compared(recipe, topics, row.ranker, reference) for row in rows]
        panels.append((topics, gains, [row.medians["fit_cpu_seconds"] for row in rows]))
    save_figure(lambda: _costs_figure(panels), path)


def _costs_figure(panels: Sequence[tuple[str, Sequence[Compared], Sequence[float]]]) -> Figure:
    """All panels, with one legend."""
    figure, (line,) = empty_figure(1, len(panels), (4.2 * len(panels) + 2.6, 4.4), sharey=True)
    rankers = list(dict.fromkeys(one.rows[0] for _, gains, _ in panels for one in gains))
    for axes, (topics, gains, seconds) in zip(line, panels, strict=True):
        for one, cost in zip(gains, seconds, strict=True):
            number = rankers.index(one.rows[0])
            place = (max(cost, _UNTRAINED), one.difference)
            axes.errorbar(*place, yerr=_ends(one), markersize=7, **_point(one, number))
        axes.axhline(0, color="black", linewidth=1)
        axes.set_xscale("log")
        axes.set_xticks([_UNTRAINED, 1, 10, 100], ["none", "1", "10", "100"])
        axes.minorticks_off()
        axes.grid(visible=True, alpha=0.3)
        axes.set_title(topics)
        axes.set_xlabel("training, CPU seconds")
    line[0].set_ylabel(f"gain in {panels[0][1][0].measure} over {panels[0][1][0].rows[1]}")
    _legend(line)
    return figure


def _figure(found: Sequence[tuple[str, Compared]]) -> Figure:
    """All comparisons."""
    labels = list(dict.fromkeys(label for label, _ in found))
    rankers = list(dict.fromkeys(one.rows[0] for _, one in found))
    figure, ((axes,),) = empty_figure(1, 1, (9.5, 1.4 + 0.62 * len(labels)))
    for label, one in found:
        number = rankers.index(one.rows[0])
        place = labels.index(label) + 0.62 * (number / max(1, len(rankers) - 1) - 0.5)
        axes.errorbar(one.difference, place, xerr=_ends(one), markersize=6, **_point(one, number))
    axes.axvline(0, color="black", linewidth=1)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x", alpha=0.3)
    against = " or ".join(dict.fromkeys(one.rows[1] for _, one in found))
    axes.set_xlabel(f"gain in {found[0][1].measure} over {against}")
    _legend([axes])
    return figure


def _ends(one: Compared) -> list[list[float]]:
    """The interval, as matplotlib takes it."""
    return [[one.difference - one.interval[0]], [one.interval[1] - one.difference]]


def _point(one: Compared, number: int) -> dict[str, Any]:
    """Style of a ranker's point."""
    return {**look(number), "capsize": 2, "linestyle": "none", "label": one.rows[0]}


def _legend(line: Sequence[Axes]) -> None:
    """One legend of all panels, right of the last."""
    handles = {name: handle for axes in line for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    line[-1].legend(handles.values(), handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
