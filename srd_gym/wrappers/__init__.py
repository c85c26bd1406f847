"""Gymnasium wrappers around `SRD-v0`: pruning, rewards of several sides, and observations for other libraries."""

from srd_gym.wrappers.compact import expand_observation, topic_tables
from srd_gym.wrappers.observation import (
    BoolMask,
    FlatObservation,
    RLlibObservation,
    TianshouObservation,
    VectorObservation,
)
from srd_gym.wrappers.pruning import KNNPruning, RankerPruning
from srd_gym.wrappers.vector_reward import VectorReward

__all__ = [
    "BoolMask",
    "FlatObservation",
    "KNNPruning",
    "RLlibObservation",
    "RankerPruning",
    "TianshouObservation",
    "VectorObservation",
    "VectorReward",
    "expand_observation",
    "topic_tables",
]
