"""A sheet of pixels to draw on: text, boxes, dots and lines; matplotlib's Agg renderer without axes, which cost time.

Coordinates are pixels from the top left corner; sizes are pixels; colours are "#rrggbb".
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from srd_gym.protocols import ScoreArray

Frame = NDArray[np.uint8]
Box = tuple[float, float, float, float]
"""Left, top, width, height."""
Shape = Literal["circle", "cross", "star"]
Align = Literal["left", "center", "right"]

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
        self.width, self.height = width, height
        self._figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        self._canvas = FigureCanvasAgg(self._figure)
        self._renderer: Any = self._canvas.get_renderer()  # type: ignore[no-untyped-call]
        self._kept: Any = None

    def clear(self) -> None:
        """Make the sheet white."""
        self.boxes([(0, 0, self.width, self.height)], "#ffffff")

    def keep(self) -> None:
        """Remember what is on the sheet, for `back`."""
        self._kept = self._canvas.copy_from_bbox(self._figure.bbox)  # type: ignore[no-untyped-call]

    def back(self) -> None:
        """Put back what `keep` remembered."""
        self._canvas.restore_region(self._kept)  # type: ignore[no-untyped-call]

    def frame(self) -> Frame:
        """[height, width, 3] uint8, a copy."""
        return np.asarray(self._canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 14,
        colour: str = "#1a1a1a",
        align: Align = "left",
        bold: bool = False,
        turned: float = 0,
        within: Box | None = None,
    ) -> None:
        """Write one line around a height; nothing in the text is markup.

        Args:
            x: where it begins, has its middle or ends, by `align`.
            y: its middle; turned text begins here.
            text: the line.
            size: of the letters.
            colour: of the letters.
            align: "left", "center" or "right".
            bold: heavier letters.
            turned: degrees, counter-clockwise.
            within: what reaches out of this box is cut off.
        """
        from matplotlib.text import Text
        from matplotlib.transforms import Bbox

        label = Text(
            x,
            self.height - y,
            text,
            fontsize=size * _POINT,
            color=colour,
            horizontalalignment=align,
            verticalalignment="bottom" if turned else "center_baseline",
            fontweight="bold" if bold else "normal",
            rotation=turned,
            rotation_mode="anchor",
            parse_math=False,
        )
        if within is not None:
            left, top, width, height = within
            label.set_clip_box(Bbox.from_bounds(left, self.height - top - height, width, height))
            label.set_clip_on(True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")  # an empty box says it well enough
            self._draw(label)

    def boxes(self, boxes: Sequence[Box], colour: str | Sequence[str], *, edge: str = "none") -> None:
        """Fill boxes with one colour, or with one each."""
        from matplotlib.collections import PolyCollection

        if not boxes:
            return
        left, top, width, height = np.asarray(boxes, dtype=np.float64).T
        bottom = self.height - top - height
        corners = np.stack([left, bottom, left + width, bottom, left + width, bottom + height, left, bottom + height])
        outlines = corners.T.reshape(-1, 4, 2)
        self._draw(PolyCollection(list(outlines), facecolors=colour, edgecolors=edge, linewidths=1, antialiaseds=False))

    def dots(
        self,
        points: ScoreArray,
        radius: float | ScoreArray,
        *,
        fill: str = "none",
        edge: str = "none",
        shape: Shape = "circle",
        opacity: float = 1.0,
    ) -> None:
        """Draw dots [n, 2] of a shape; crosses have an edge only."""
        from matplotlib.collections import PathCollection
        from matplotlib.markers import MarkerStyle
        from matplotlib.transforms import IdentityTransform

        if not len(points):
            return
        marker = MarkerStyle({"circle": "o", "cross": "x", "star": "*"}[shape])
        outline = marker.get_path().transformed(marker.get_transform())
        diameter = np.broadcast_to(2 * np.asarray(radius, dtype=np.float64) * _POINT, (len(points),))
        dots = PathCollection(
            [outline],
            sizes=diameter**2,
            offsets=np.column_stack([points[:, 0], self.height - points[:, 1]]),
            offset_transform=IdentityTransform(),
            facecolors="none" if shape == "cross" else fill,
            edgecolors=edge,
            linewidths=1.2,
            alpha=opacity,
        )
        dots.set_transform(IdentityTransform())
        self._draw(dots)

    def line(self, points: ScoreArray, colour: str, width: float = 1.0) -> None:
        """Draw a line through points [n, 2]."""
        from matplotlib.collections import LineCollection

        if len(points) > 1:
            path = np.column_stack([points[:, 0], self.height - points[:, 1]])
            self._draw(LineCollection([path], colors=[colour], linewidths=width * _POINT))

    def _draw(self, artist: Any) -> None:
        """Put one artist on the sheet."""
        artist.set_figure(self._figure)
        artist.draw(self._renderer)
