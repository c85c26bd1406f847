"""Episodes for people: as plain text, and as pictures (matplotlib, imported when the first one is drawn).

Labels appear here and nowhere in an observation.
"""

from srd_gym.rendering.picture import RENDER_FPS, RENDER_MODES, Painter
from srd_gym.rendering.scene import Row, Scene, scoring_scene, selection_scene
from srd_gym.rendering.text import ansi, clipped, printable

__all__ = [
    "RENDER_FPS",
    "RENDER_MODES",
    "Painter",
    "Row",
    "Scene",
    "ansi",
    "clipped",
    "printable",
    "scoring_scene",
    "selection_scene",
]
