"""Public path of `FrameRanker`."""

from srd_agents.pipeline.frames import FrameRanker

__all__ = ["FrameRanker"]
