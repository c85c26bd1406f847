"""The environments in torch, on any device; `srd_gym.core` bit for bit in float64."""

from srd_agents.simulators.scoring import ScoringSimulator
from srd_agents.simulators.selection import SelectionResult, SelectionSimulator, SelectionState
from srd_agents.simulators.topics import NoTensorFormError, TopicTensors

__all__ = [
    "NoTensorFormError", "ScoringSimulator", "SelectionResult", "SelectionSimulator", "SelectionState", "TopicTensors",
]  # fmt: skip
