"""Learning curves, computed for the page and drawn as pictures.

A learning curve is a ranker's validation measure against environment episodes or time: folds are averaged first, the
line is the mean over seeds and the band their lowest and highest. Cells were validated at different moments (time is
never the same twice), so each is read at common points, between its own records in a straight line; nothing is read
beyond a cell's last record. A logarithmic axis has no 0, so that the first weights are a dot at its left edge.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from srd_gym.files import written_atomically
from srd_gym.measures import measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Episodes or seconds, rising, and the validation measure there."""
Against = Literal["episodes", "cpu_seconds"]
AGAINST: tuple[Against, ...] = ("episodes", "cpu_seconds")
"""What learning is shown against, a column each."""
FORMATS = (".png", ".svg")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
"""Okabe and Ito's, which people with any colour vision tell apart; black stays for the reference lines."""

MARKERS = "osD^vPX*<>"

_POINTS = 40
_NEEDLESS_DIGITS = re.compile(r"(\d\.\d\d)\d+(?![\d<])")
"""Of coordinates; what stands before a tag is text, such as the 0.825 of an axis."""
_STYLES = ("-", "--", "-.", ":")
_LABELS = {"episodes": "environment episodes", "cpu_seconds": "processor seconds of training"}


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """What a ranker's validation comes to as it learns."""

    ranker: str
    x: NDArray[np.float64]
    """Where it is read, [P], above 0."""
    mean: NDArray[np.float64]
    """Over seeds, [P]."""
    low: NDArray[np.float64]
    """The seeds' lowest, [P]."""
    high: NDArray[np.float64]
    """The seeds' highest, [P]."""
    seeds: int
    """How many there are."""
    start: float | None
    """The measure of the first weights, before any episode; None where it was not taken."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One topic set against one thing."""

    topics: str
    measure: str
    """In canonical notation."""
    against: Against
    curves: tuple[LearningCurve, ...]
    levels: Mapping[str, float]
    """Rankers that do not learn but were chosen on the validation topics -> their measure there."""


def panels(records: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Two panels for each topic set that something learned on.

    Raises:
        ValueError: no cell has a history with validation values and episodes.
    """
    records = [record for record in records if not record["view"]]  # views rank with a fit whose curve is there
    found = []
    for topics in dict.fromkeys(record["topic_set"]["name"] for record in records):
        own = [record for record in records if record["topic_set"]["name"] == topics]
        learned = [record for record in own if _has_curve(record)]
        for name in dict.fromkeys(_canonical(record["history"]["measure"]) for record in learned):
            same = [record for record in learned if _canonical(record["history"]["measure"]) == name]
            found += [_panel(topics, name, against, same, _levels(own, name)) for against in AGAINST]
    if not found:
        raise ValueError(
            "no cell has a learning curve to draw: expected rankers that learn from episodes and are validated"
        )
    return found


def draw(found: Sequence[Panel], path: Path) -> None:
    """Draw the panels into a PNG or SVG file, a row for each topic set; never half a file.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: another kind of file.
    """
    save_figure(lambda: _panel_figure(found), path)


def save_figure(make: Callable[[], Figure], path: Path) -> None:
    """Write a figure into a PNG or SVG file; the same figure gives the same file, never half of it.

    Args:
        make: draws it, once matplotlib is there and its style set.
        path: the file.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: another kind of file.
    """
    check_format(path)
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('curves need matplotlib: pip install "srd-gym[render]"') from error

    # The same cells give the same file: no date, no random ids.
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    looks: Any = {"font.size": 12, "axes.titlesize": 13, "svg.fonttype": "none", "svg.hashsalt": "srd"}
    with matplotlib.rc_context(looks), written_atomically(path) as temporary:
        make().savefig(temporary, format=path.suffix.removeprefix("."), metadata=metadata, dpi=110)
        if path.suffix == ".svg":  # a hundredth of a point is finer than any screen, and half of the file
            text = temporary.read_text(encoding="utf-8")
            temporary.write_text(_NEEDLESS_DIGITS.sub(r"\1", text), encoding="utf-8")


def check_format(path: Path) -> None:
    """Refuse what cannot be drawn into, before work is done for it.

    Raises:
        ValueError: another kind of file.
    """
    if path.suffix not in FORMATS:
        raise ValueError(f"expected a file ending in {' or '.join(FORMATS)}, got {path.name}")


def _has_curve(record: Mapping[str, Any]) -> bool:
    """Whether the cell's history can be drawn."""
    history = record["history"]
    return history is not None and len(_points(history["records"], "episodes")[0]) > 1


def _canonical(name: str) -> str:
    """One spelling for each measure; where the ideal comes from is the same within a topic set."""
    return str(dataclasses.replace(measure(name), normalizer=None))


def _levels(records: Iterable[Mapping[str, Any]], name: str) -> dict[str, float]:
    """What does not learn, but has a value on the validation topics: means over cells."""
    values: dict[str, list[float]] = {}
    for record in records:
        if record["history"] is None and record["validation"] is not None and _canonical(record["select_by"]) == name:
            values.setdefault(record["ranker"], []).append(record["validation"])
    return {ranker: float(np.mean(several)) for ranker, several in values.items()}


def _points(records: Iterable[Mapping[str, Any]], against: Against) -> Points:
    """(x, validation) of the records that have both, after the first episodes: a logarithmic axis has no 0."""
    pairs = [
        (float(record[against]), float(record["validation"]))
        for record in records
        if record.get("episodes") and record.get(against) and record.get("validation") is not None
    ]
    points = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def _panel(
    topics: str, name: str, against: Against, records: Sequence[Mapping[str, Any]], levels: Mapping[str, float]
) -> Panel:
    """The panel of one topic set and measure."""
    rankers = dict.fromkeys(record["ranker"] for record in records)
    curves = [_curve([record for record in records if record["ranker"] == ranker], against) for ranker in rankers]
    curves.sort(key=lambda curve: (-curve.mean[-1], curve.ranker))
    return Panel(topics=topics, measure=name, against=against, curves=tuple(curves), levels=levels)


def _curve(records: Sequence[Mapping[str, Any]], against: Against) -> LearningCurve:
    """Folds averaged, then the mean and the range over seeds."""
    by_seed: dict[int, list[Points]] = {}
    for record in records:
        by_seed.setdefault(record["seed"], []).append(_points(record["history"]["records"], against))
    every = [points for several in by_seed.values() for points in several]
    first, last = max(x[0] for x, _ in every), min(x[-1] for x, _ in every)
    x = np.geomspace(first, max(first, last), _POINTS)
    values = np.array([np.mean([_read(points, x) for points in several], axis=0) for several in by_seed.values()])
    return LearningCurve(
        ranker=records[0]["ranker"],
        x=x,
        mean=values.mean(axis=0),
        low=values.min(axis=0),
        high=values.max(axis=0),
        seeds=len(values),
        start=_start(records),
    )


def _start(records: Sequence[Mapping[str, Any]]) -> float | None:
    """The mean over cells of what validation gave before any episode."""
    first = [entry for record in records for entry in record["history"]["records"][:1]]
    values = [entry.get("validation") for entry in first if entry.get("episodes") == 0]
    return float(np.mean(values)) if values and None not in values else None


def _read(points: Points, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values between the points: straight lines on a logarithmic axis."""
    at: NDArray[np.float64] = np.interp(np.log(x), np.log(points[0]), points[1])
    return at


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


def empty_figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """A figure that needs no window system, and its [rows, columns] axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def _draw_panel(axes: Axes, panel: Panel, *, first: bool) -> None:
    """Lines with their bands, and levels of what does not learn."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    names = sorted(curve.ranker for curve in panel.curves)  # a ranker looks the same in every panel
    for curve in panel.curves:
        place = names.index(curve.ranker)
        look: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)]}
        seeds = f" ({curve.seeds} seeds)" if curve.seeds > 1 else ""
        axes.plot(
            curve.x,
            curve.mean,
            label=f"{curve.ranker}{seeds}",
            linestyle=_STYLES[place % len(_STYLES)],
            linewidth=2,
            **look,
        )
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
