"""Batched simulators on arrays: the one truth that the environments are thin skins of."""

from srd_gym.core.arrays import TopicArrays
from srd_gym.core.scoring import ScoringCore
from srd_gym.core.selection import SelectionCore, StepResult
from srd_gym.core.snapshot import Snapshot

__all__ = ["ScoringCore", "SelectionCore", "Snapshot", "StepResult", "TopicArrays"]
