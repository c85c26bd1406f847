"""Gymnasium wrappers around `SRD-v0`: pruning, and observations as other libraries want them."""

from srd_gym.wrappers.compact import lookup, tables
from srd_gym.wrappers.observation import (
    BoolMask,
    FlatObservation,
    RLlibObservation,
    TianshouObservation,
    VectorObservation,
)
from srd_gym.wrappers.pruning import KNNPruning, RankerPruning

__all__ = [
    "BoolMask",
    "FlatObservation",
    "KNNPruning",
    "RLlibObservation",
    "RankerPruning",
    "TianshouObservation",
    "VectorObservation",
    "lookup",
    "tables",
]
