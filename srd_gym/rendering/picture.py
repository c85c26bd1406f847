"""The picture of an episode: the ranking, what it covers, what each rank gained, and a map of the candidates.

Colours are Okabe and Ito's and one ramp of blues, which people with any colour vision tell apart; no colour stands
alone: cells hold counts, bars hold numbers, and the map's kinds of documents differ in shape or size too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from srd_gym.dtypes import BoolArray
from srd_gym.installing import how_to_install
from srd_gym.rendering.scene import Scene, map_of
from srd_gym.rendering.text import ansi, clipped, first_line, header, summary

Frame = NDArray[np.uint8]
WIDTH, HEIGHT = 1280, 720
MAX_ROWS = 20
"""Ranks shown at once; of a longer list its end."""
MAX_COLUMNS = 30
"""Subtopics shown."""

_DPI = 100
_FEWEST = 10
"""Rows and columns that there is room for, however few there are: a short list is not stretched."""
_GREY, _PALE = "#6b6b6b", "#e6eaee"
_BLUE, _GREEN, _RED = "#0072b2", "#009e73", "#d55e00"
_CELLS = ("#ffffff", "#08519c", "#6baed6", "#c6dbef")
_MARKS: tuple[dict[str, Any], ...] = (
    {"s": 40, "facecolors": "none", "edgecolors": "#8c8c8c"},
    {"s": 70, "facecolors": "#e69f00", "edgecolors": "#8a5f00"},
    {"s": 30, "marker": "x", "color": "#9a9a9a"},
    {"s": 200, "facecolors": _BLUE, "edgecolors": "#ffffff"},
)
"""Marks on the map of documents that are not relevant, relevant, masked, and ranked: these on top."""
_QUERY: dict[str, Any] = {"s": 220, "marker": "*", "facecolors": "#1a1a1a", "edgecolors": "#ffffff"}


def picture(scene: Scene) -> Frame:
    """[720, 1280, 3] uint8, the scene as a picture.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f'rendering pictures needs matplotlib: {how_to_install("render")}; render_mode="ansi" needs nothing'
        ) from error

    figure = Figure(figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    figure.text(0.019, 0.93, header(scene), fontsize=14, fontweight="bold", parse_math=False)
    figure.text(0.019, 0.885, summary(scene, scene.counts()), fontsize=13, color=_GREY, parse_math=False)
    rows = min(max(scene.slots, 1), MAX_ROWS)
    first = max(0, len(scene.ranking) - rows)
    _ranking(_axes(figure, 24, 380, rows), scene, first)
    if scene.covers is not None and scene.topic.n_subtopics:
        _grid(_axes(figure, 412, 330, rows), scene, first, rows)
    if scene.gains:
        _gains(_axes(figure, 762, 130, rows), scene.gains[first:])
    _map(figure.add_axes((0.725, 0.22, 0.256, 0.535)), scene)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # an empty box says it well enough
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _axes(figure: Any, left: float, width: float, rows: int) -> Any:
    """Axes whose vertical unit is a rank, counted downwards."""
    axes = figure.add_axes((left / WIDTH, 0.117, width / WIDTH, 0.639), frame_on=False)
    axes.set(ylim=(max(rows, _FEWEST), 0), xlim=(0, 1), xticks=[], yticks=[])
    return axes


def _text(axes: Any, x: float, y: float, text: str, **style: object) -> None:
    """One line around a height, cut off at the axes' edge; nothing in the text is markup."""
    axes.text(x, y, text, parse_math=False, clip_on=True, **{"va": "center", "fontsize": 9.5, **style})


def _ranking(axes: object, scene: Scene, first: int) -> None:
    """Ranks, scores and documents."""
    left, topic = 0.09 if scene.scores is None else 0.18, scene.topic
    for place, candidate in enumerate(scene.ranking[first:]):
        middle = place + 0.5
        _text(axes, 0.06, middle, str(first + place + 1), ha="right", fontweight="bold")
        if candidate < 0:
            _text(axes, left, middle, "empty rank: the document was masked", color=_RED)
            continue
        if scene.scores is not None:
            _text(axes, 0.16, middle, str(scene.scores[first + place]), color=_BLUE, ha="right", fontweight="bold")
        title = topic.doc_ids[candidate] if topic.doc_texts is None else first_line(topic.doc_texts[candidate])
        _text(axes, left, middle, _line(title, 64))


def _grid(axes: Any, scene: Scene, first: int, rows: int) -> None:
    """Subtopics that each document covers: a cell counts the documents on the subtopic so far."""
    from matplotlib.colors import ListedColormap

    topic, every = scene.topic, scene.counts()
    columns = min(topic.n_subtopics, MAX_COLUMNS)
    counts = np.zeros((rows, columns), np.int64)
    counts[: len(every) - first] = every[first:, :columns]
    axes.pcolormesh(counts, cmap=ListedColormap(_CELLS), vmin=0, vmax=3, edgecolors=_PALE, linewidth=2)
    axes.set_xlim(0, max(columns, _FEWEST))
    size = min(9.5, 200 / columns)
    for row, column in np.argwhere(counts):
        ink = "#ffffff" if counts[row, column] == 1 else "#0b2545"
        _text(axes, column + 0.5, row + 0.5, str(counts[row, column]), color=ink, ha="center", fontsize=size)
    for column, name in enumerate(topic.subtopic_names[:columns]):
        axes.text(column + 0.6, -0.1, _line(name, 15), rotation=50, fontsize=size, color=_GREY, parse_math=False)
    axes.set_xlabel(f"{columns} of {topic.n_subtopics} subtopics shown; 1: new, 2 and more: covered before", loc="left")


def _gains(axes: Any, gains: Sequence[float]) -> None:
    """A bar a rank, as long as its gain is against the largest shown."""
    lengths = 0.6 * np.abs(gains) / (np.abs(gains).max() or 1.0)
    bars = axes.barh(np.arange(len(gains)) + 0.5, lengths, 0.5, color=np.where(np.less(gains, 0), _RED, _GREEN))
    axes.bar_label(bars, [f"{gain:.3f}" if gain else "0" for gain in gains], padding=4, fontsize=9.5)
    axes.set_title("gain", loc="left", fontsize=11, color=_GREY)


def _map(axes: Any, scene: Scene) -> None:
    """All candidates, the ranked ones numbered in their order, and the query."""
    axes.set_title("candidates, their vectors in two dimensions", loc="left", fontsize=11, color=_GREY)
    axes.set(xticks=[], yticks=[])
    axes.margins(0.08)
    placed = map_of(scene.topic)
    if placed is None:
        axes.text(0.5, 0.5, "no vectors", ha="center", color=_GREY, transform=axes.transAxes)
        return
    points, query = placed
    axes.set_aspect("equal", adjustable="datalim")
    relevant = np.ones(len(points), np.bool_) if scene.covers is None else scene.covers.any(axis=1)
    ranked = [candidate for candidate in scene.ranking if candidate >= 0]
    left: BoolArray = ~np.isin(np.arange(len(points)), ranked)
    kinds = {
        "not relevant": left & scene.offered & ~relevant,
        "candidate" if scene.covers is None else "relevant": left & scene.offered & relevant,
        "masked": left & ~scene.offered,
        "ranked": ~left,
    }
    axes.plot(*points[ranked[:MAX_ROWS]].T, color=_BLUE, linewidth=0.6, zorder=0)
    for (kind, those), style in zip(kinds.items(), _MARKS, strict=True):
        axes.scatter(*points[those].T, label=kind, clip_on=False, **style)
    if query is not None:
        axes.scatter(*query, label="query", clip_on=False, **_QUERY)
    for rank, candidate in enumerate(ranked[:MAX_ROWS], start=1):
        style = {"fontsize": 8, "fontweight": "bold", "color": "#ffffff"}
        axes.text(*points[candidate], str(rank), ha="center", va="center_baseline", **style)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.03, 0), ncols=2, frameon=False, labelcolor=_GREY, markerscale=0.7)


def _line(text: str, width: int) -> str:
    """A text as one line that fits: runs of white space are one space."""
    return clipped(" ".join(text[: 8 * width].split()), width)


RENDER_MODES = ("ansi", "rgb_array", "human")
"""Values of `render_mode`, besides None."""
RENDER_FPS = 4
"""Ranks a second in videos and in the window."""
_WINDOW = "srd_gym"
"""Name of the window, the same for all environments of a process."""


def render(scene: Scene, mode: str) -> str | Frame | None:
    """The scene as text or as a picture [720, 1280, 3] uint8; "human" shows it while a frame lasts and gives None.

    Without a display nothing is shown but a warning.

    Raises:
        ImportError: matplotlib is not installed; it is imported with the first picture.
    """
    if mode == "ansi":
        return ansi(scene)
    frame = picture(scene)
    if mode == "rgb_array":
        return frame
    from matplotlib import pyplot

    figure = pyplot.figure(_WINDOW, figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI, clear=True)
    if figure.canvas.required_interactive_framework is None:
        gym.logger.warn(
            f"render_mode='human' found no display (matplotlib backend {pyplot.get_backend()!r}); "
            "nothing is shown. Use a backend with windows (MPLBACKEND=tkagg), or render_mode='rgb_array'"
        )
        return None
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.imshow(frame, aspect="equal")
    figure.canvas.draw_idle()
    pyplot.pause(1 / RENDER_FPS)
    return None


def close_window(mode: str | None) -> None:
    """Close the window, if this mode opened one."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if mode == "human" and pyplot is not None:
        pyplot.close(_WINDOW)
