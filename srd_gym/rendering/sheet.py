"""A sheet of pixels to draw on: text, boxes, dots and lines, each on top of what was drawn before.

Coordinates are pixels from the top left corner; sizes are pixels; colours are "#rrggbb".
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.protocols import ScoreArray

Frame = NDArray[np.uint8]
Box = tuple[float, float, float, float]
"""Left, top, width, height."""

_DPI = 100
_POINT = 72 / _DPI


class Sheet:
    """A white sheet, drawn on again and again.

    Args:
        width: pixels.
        height: pixels.

    Raises:
        ImportError: matplotlib is not installed.
    """

    def __init__(self, width: int, height: int) -> None:
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError(
                'rendering pictures needs matplotlib: pip install "srd-gym[render]"; render_mode="ansi" needs nothing'
            ) from error
        figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        self.width, self.height = width, height
        self._canvas: Any = FigureCanvasAgg(figure)
        self._axes: Any = figure.add_axes((0, 0, 1, 1))

        self._background: Any = None
        self._clear()

    def keep(self) -> None:
        """Make what was drawn since the last frame, on white, the background of the frames to come."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")  # an empty box says it well enough
            self._canvas.draw()
        self._background = self._canvas.copy_from_bbox(self._axes.bbox)
        self._clear()

    def frame(self) -> Frame:
        """[height, width, 3] uint8, the background and what was drawn since, which is forgotten."""
        self._canvas.restore_region(self._background)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            self._axes.draw(self._canvas.get_renderer())
        self._clear()
        return np.asarray(self._canvas.buffer_rgba())[..., :3].copy()

    def _clear(self) -> None:
        """Forget what was drawn."""
        self._axes.clear()
        self._axes.set(xlim=(0, self.width), ylim=(self.height, 0), autoscale_on=False)
        self._axes.set_axis_off()

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 14,
        within: Box | None = None,
        turned: float = 0,
        **style: Any,
    ) -> None:
        """Write one line around a height; nothing in the text is markup.

        Args:
            x: where it begins, has its middle or ends, by `ha`.
            y: its middle; turned text begins here.
            text: the line.
            size: of the letters.
            within: what reaches out of this box is cut off.
            turned: degrees, counter-clockwise.
            **style: `color`, `ha` and what else matplotlib's text takes.
        """
        from matplotlib.transforms import Bbox, TransformedBbox

        va = "bottom" if turned else "center_baseline"
        placed = {"rotation": turned, "rotation_mode": "anchor", "va": va, "fontsize": size * _POINT, "zorder": 0}
        label = self._axes.text(x, y, text, parse_math=False, **({"color": "#1a1a1a"} | placed | style))
        if within is not None:
            label.set(clip_box=TransformedBbox(Bbox.from_bounds(*within), self._axes.transData), clip_on=True)

    def boxes(self, boxes: Sequence[Box], colour: str | Sequence[str], *, edge: str = "none") -> None:
        """Fill boxes with one colour, or with one each."""
        from matplotlib.collections import PolyCollection

        corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in boxes]
        style: dict[str, Any] = {"facecolors": colour, "edgecolors": edge, "linewidths": 1, "antialiaseds": False}
        self._axes.add_collection(PolyCollection(corners, zorder=0, **style), autolim=False)

    def dots(self, points: ScoreArray, radius: float | ScoreArray, **style: Any) -> None:
        """Draw dots [n, 2]; `style` is `marker`, `facecolors` and what else matplotlib's scatter takes."""
        self._axes.scatter(*points.T, s=(2 * np.asarray(radius) * _POINT) ** 2, linewidths=1.2, zorder=0, **style)

    def line(self, points: ScoreArray, colour: str, width: float = 1.0) -> None:
        """Draw a line through points [n, 2]."""
        self._axes.plot(*points.T, color=colour, linewidth=width * _POINT, zorder=0)
