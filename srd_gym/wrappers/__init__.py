"""Gymnasium wrappers around `SRD-v0`."""

from srd_gym.wrappers.pruning import KNNPruning, RankerPruning

__all__ = ["KNNPruning", "RankerPruning"]
