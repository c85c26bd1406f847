"""The two figures of a convergence comparison: learning curves; quality against time beside the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from srd_train.report.pictures import save_figure
from studies.convergence.effort import EFFORTS, QUALITIES, SHARES, Effort, LearningCurve, Quality, SetConvergence
from studies.convergence.page import PUBLISHED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_POINTS = 40
# Okabe and Ito's colours, which people with any colour vision tell apart.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
_STYLES = ("-", "--", "-.", ":")
_MARKERS = "osD^vPX*"
_EFFORTS: Mapping[Effort, str] = {
    "episodes": "episodes",
    "evaluations": "candidates evaluated",
    "cpu_seconds": "processor seconds",
}
_QUALITIES: Mapping[Quality, str] = {"return": "training return", "validation": "best validation so far"}


def draw_curves(found: Sequence[SetConvergence], path: Path) -> None:
    """Learning curves: a row for each topic set and quality, a column for each effort.

    Args:
        found: the comparison.
        path: a file ending in .svg or .png.

    Raises:
        ImportError: matplotlib is not installed.
    """
    save_figure(lambda: _curves(found), path)


def _curves(found: Sequence[SetConvergence]) -> Figure:
    """All curves."""
    figure, axes = _sheet(2 * len(found), len(EFFORTS), (14.5, 7.2 * len(found)))
    for row in range(2 * len(found)):
        one, quality = found[row // 2], QUALITIES[row % 2]
        for column, effort in enumerate(EFFORTS):
            _draw_curves(axes[row][column], one, quality, effort)
        axes[row][0].set_ylabel(_QUALITIES[quality] + (f"\n{one.measure}" if quality == "validation" else ""))
        axes[row][1].set_title(one.topics)
        if row % 2 == 0:
            handles, labels = axes[row][0].get_legend_handles_labels()
            axes[row][-1].legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def draw_times(found: Sequence[SetConvergence], path: Path) -> None:
    """Test measure against time: the published points, and ours for each topic set.

    Ours are at the processor time in which training reached 90% of what the unpruned policy gains in return, or at that
    of the whole training, with a hollow mark, where a ranker never came there.

    Args:
        found: the comparison.
        path: a file ending in .svg or .png.

    Raises:
        ImportError: matplotlib is not installed.
    """
    save_figure(lambda: _times(found), path)


def _times(found: Sequence[SetConvergence]) -> Figure:
    """The published points, and ours."""
    figure, axes = _sheet(1, len(found) + 1, (5 * (len(found) + 1), 4.6))
    colours = _places(list(PUBLISHED))
    for name, (value, hours) in PUBLISHED.items():
        _mark(axes[0][0], name, hours, value, colours, hollow=False)
    axes[0][0].set_title("published (Liu et al. 2018, Table 1)")
    axes[0][0].set_xlabel("hours of training")
    axes[0][0].set_ylabel("alpha_nDCG@10, test")
    for one, place in zip(found, axes[0][1:], strict=True):
        _draw_times(place, one)
    for place in axes[0]:
        _logarithmic(place)
    axes[0][0].legend(frameon=False, fontsize=9)
    axes[0][-1].legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure


def _draw_times(axes: Axes, one: SetConvergence) -> None:
    """Our points of one topic set."""
    came = {
        line.ranker: line.cost["cpu_seconds"]
        for line in one.reached
        if line.quality == "return" and line.share == SHARES[-1] and 2 * line.reached > line.runs
    }
    ends = [end for end in one.ends if end.effort["cpu_seconds"]]
    colours = _places([end.ranker for end in ends])
    for end in ends:
        spread = came.get(end.ranker)
        seconds = (end.effort["cpu_seconds"] or 0.0) if spread is None else spread.mean
        learns = end.last_return is not None
        _mark(axes, end.ranker, seconds, end.test.mean, colours, hollow=learns and spread is None)
        axes.errorbar(
            [seconds], [end.test.mean], yerr=[end.test.deviation or 0.0], color=colours[end.ranker][0], linewidth=1
        )
    axes.set_title(one.topics)
    axes.set_xlabel(f"processor seconds to {SHARES[-1]:.0%} of the return\n(hollow: never; of the whole training)")


def _draw_curves(axes: Axes, one: SetConvergence, quality: Quality, effort: Effort) -> None:
    """The curves of one topic set, quality and effort: means over runs with their standard deviation."""
    names = list(dict.fromkeys(curve.ranker for curve in one.curves))
    colours = _places(names)
    for index, name in enumerate(names):
        own = [curve for curve in one.curves if curve.ranker == name]
        x, values = _means(own, quality, effort)
        mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
        style = _STYLES[index % len(_STYLES)]
        axes.plot(
            x,
            mean,
            label=f"{name} ({len(own)} run{'s'[: len(own) - 1]})",
            linestyle=style,
            color=colours[name][0],
            linewidth=1.8,
        )
        axes.fill_between(x, mean - deviation, mean + deviation, color=colours[name][0], alpha=0.12, linewidth=0)
    _logarithmic(axes)
    axes.set_xlabel(_EFFORTS[effort])


def _means(curves: Sequence[LearningCurve], quality: Quality, effort: Effort) -> tuple[Floats, Floats]:
    """Courses read at common points: (x [P'], values [R, P'])."""
    pairs = []
    for curve in curves:
        values, cost = curve.smooth(quality), curve.effort[effort]
        known = ~np.isnan(values) & (curve.effort["episodes"] > 0)
        pairs.append((cost[known], values[known]))
    low, high = max(x[0] for x, _ in pairs), min(x[-1] for x, _ in pairs)
    x = np.geomspace(low, max(low, high), _POINTS)
    return x, np.array([np.interp(np.log(x), np.log(cost), values) for cost, values in pairs])


def _places(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Name -> colour and mark: a published ranker has the same in every panel."""
    known = list(PUBLISHED) if any(name in PUBLISHED for name in names) else []
    order = [*known, *(name for name in names if name not in known)]
    return {name: (_COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]) for i, name in enumerate(order)}


def _logarithmic(axes: Axes) -> None:
    """A logarithmic axis of effort with numbers that people read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    """A number on an axis: 0.5, 20, 100k, 2M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _mark(axes: Axes, name: str, x: float, y: float, places: Mapping[str, tuple[str, str]], *, hollow: bool) -> None:
    """One point."""
    colour, marker = places[name]
    face = "none" if hollow else colour
    axes.plot([x], [y], marker=marker, color=colour, markerfacecolor=face, markersize=9, linestyle="", label=name)


def _sheet(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    """A figure without a window system."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    for place in axes.flat:
        place.grid(visible=True, which="major", alpha=0.3)
        for side in ("top", "right"):
            place.spines[side].set_visible(False)
    return figure, axes
