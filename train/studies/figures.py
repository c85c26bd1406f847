"""Figures of the documentation's pages: their colours, and the files that they are drawn into."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srd_gym.files import written_atomically
from srd_gym.installing import how_to_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
"""Okabe and Ito's, which people with any colour vision tell apart; black stays for the reference lines."""

MARKERS = "osD^vPX*<>"
_NEEDLESS_DIGITS = re.compile(r"(\d\.\d\d)\d+(?![\d<])")
"""Of coordinates; what stands before a tag is text, such as the 0.825 of an axis."""


def save_figure(make: Callable[[], Figure], path: Path) -> None:
    """Write a figure into a PNG or SVG file; the same figure gives the same file, never half of it.

    Args:
        make: draws it, once matplotlib is there and its style set.
        path: the file.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: another kind of file.
    """
    if path.suffix not in (".png", ".svg"):
        raise ValueError(f"expected a file ending in .png or .svg, got {path.name}")
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(f"figures need matplotlib: {how_to_install('render')}") from error

    # The same cells give the same file: no date, no random ids.
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    looks: Any = {"font.size": 12, "axes.titlesize": 13, "svg.fonttype": "none", "svg.hashsalt": "srd"}
    with matplotlib.rc_context(looks), written_atomically(path) as temporary:
        make().savefig(temporary, format=path.suffix.removeprefix("."), metadata=metadata, dpi=110)
        if path.suffix == ".svg":  # a hundredth of a point is finer than any screen, and half of the file
            text = temporary.read_text(encoding="utf-8")
            temporary.write_text(_NEEDLESS_DIGITS.sub(r"\1", text), encoding="utf-8")


def look(number: int) -> dict[str, Any]:
    """Colour and marker of a line or point by its number."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}


def empty_figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """A figure that needs no window system, and its [rows, columns] axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)
