"""Search result diversification as reinforcement-learning environments.

Importing the package registers the environments with Gymnasium: `gymnasium.make("SRD-v0")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from srd_gym.measures import measure
from srd_gym.registration import register
from srd_gym.topic import Topic, TopicSet

if TYPE_CHECKING:
    from srd_gym.data import load_topics

__all__ = ["Topic", "TopicSet", "load_topics", "measure"]


def __getattr__(name: str) -> Any:
    """`load_topics` when first asked for: pyarrow, which it reads files with, is slow to import."""
    if name == "load_topics":
        from srd_gym.data import load_topics

        return load_topics
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register()
