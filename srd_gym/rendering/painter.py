"""What the environments draw with: pictures as arrays, and a window that shows them."""

from __future__ import annotations

from typing import Any, Self

import gymnasium as gym

from srd_gym.rendering.picture import HEIGHT, WIDTH, Frame, picture
from srd_gym.rendering.scene import Scene
from srd_gym.rendering.text import ansi

RENDER_MODES = ("ansi", "rgb_array", "human")
"""What `render_mode` may be, besides None."""
RENDER_FPS = 4
"""Ranks a second in videos and in the window."""


class Painter:
    """Paints the scenes of one environment; matplotlib is imported with the first one.

    Copies (of environments) begin without a window.
    """

    _window: _Window | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def render(self, scene: Scene, mode: str) -> str | Frame | None:
        """The scene as text or as a picture [720, 1280, 3] uint8; "human" shows it while a frame lasts and gives None.

        Without a display nothing is shown but a warning.

        Raises:
            ImportError: matplotlib is not installed.
        """
        if mode == "ansi":
            return ansi(scene)
        frame = picture(scene)
        if mode == "rgb_array":
            return frame
        if self._window is None:
            self._window = _Window()
        self._window.show(frame)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
        self._window = None


class _Window:
    """A matplotlib window that shows one frame after the other."""

    def __init__(self) -> None:
        from matplotlib import pyplot

        self._pyplot = pyplot
        self._figure = pyplot.figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, num="srd_gym", clear=True)
        self._image: Any = None
        self._seen = self._figure.canvas.required_interactive_framework is not None
        if not self._seen:
            gym.logger.warn(
                f"render_mode='human' found no display (matplotlib backend {pyplot.get_backend()!r}); "
                "nothing is shown. Use a backend with windows (MPLBACKEND=tkagg), or render_mode='rgb_array'"
            )

    def show(self, frame: Frame) -> None:
        """Put a frame into the window and leave it there for a moment."""
        if not self._seen:
            return
        if self._image is None:
            axes = self._figure.add_axes((0, 0, 1, 1))
            axes.set_axis_off()
            self._image = axes.imshow(frame, aspect="equal")
        else:
            self._image.set_data(frame)
        self._figure.canvas.draw_idle()
        self._pyplot.pause(1 / RENDER_FPS)

    def close(self) -> None:
        """Close it."""
        self._pyplot.close(self._figure)
