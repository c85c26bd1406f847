"""Episodes for people: as plain text, and as pictures (matplotlib, imported when the first one is drawn).

Labels appear here and nowhere in an observation.
"""

from srd_gym.rendering.picture import RENDER_FPS, RENDER_MODES, Frame, close_window, render
from srd_gym.rendering.scene import Scene, scoring_scene, selection_scene

__all__ = [
    "RENDER_FPS",
    "RENDER_MODES",
    "Frame",
    "Scene",
    "close_window",
    "render",
    "scoring_scene",
    "selection_scene",
]
