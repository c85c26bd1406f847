"""Batched simulators on arrays: the one truth that the environments are thin skins of."""

from srd_gym.core.arrays import TopicArrays
from srd_gym.core.episodes import Snapshot
from srd_gym.core.scoring import ScoringCore
from srd_gym.core.selection import SelectionCore, StepResult
from srd_gym.core.users import Clicks

__all__ = ["Clicks", "ScoringCore", "SelectionCore", "Snapshot", "StepResult", "TopicArrays"]
