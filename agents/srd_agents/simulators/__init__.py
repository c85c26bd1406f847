"""The environments in torch, on any device.

In float64, gains and returns of selection are those of `srd_gym.core` bit for bit. Values of whole lists and expected
clicks are sums in another order, equal within 1e-12.
"""

from srd_agents.simulators.scoring import ScoringSimulator
from srd_agents.simulators.selection import SelectionResult, SelectionSimulator, SelectionState
from srd_agents.simulators.topics import NoTensorFormError, TopicTensors

__all__ = [
    "NoTensorFormError", "ScoringSimulator", "SelectionResult", "SelectionSimulator", "SelectionState", "TopicTensors",
]  # fmt: skip
