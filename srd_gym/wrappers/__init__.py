"""Gymnasium wrappers around `SRD-v0`: pruning, and observations as other libraries want them.

`srd_gym.wrappers.vector` has the latter for the native vector environment.
"""

from srd_gym.wrappers import vector
from srd_gym.wrappers.compact import lookup, tables
from srd_gym.wrappers.observation import BoolMask, FlatObservation, RLlibObservation, TianshouObservation
from srd_gym.wrappers.pruning import KNNPruning, RankerPruning

__all__ = [
    "BoolMask",
    "FlatObservation",
    "KNNPruning",
    "RLlibObservation",
    "RankerPruning",
    "TianshouObservation",
    "lookup",
    "tables",
    "vector",
]
