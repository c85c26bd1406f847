"""Strategies that mask candidates, so that a policy has fewer to look at (Liu et al. 2018). Numpy only.

Pass one to an environment or simulator: `gym.make("srd_gym:SRD-v0", pruning=KNN(0.3))`.
"""

from srd_gym.pruning.by_ranker import ByRanker
from srd_gym.pruning.chain import Chain, parse_pruning, pruning_from
from srd_gym.pruning.knn import KNN

__all__ = ["KNN", "ByRanker", "Chain", "parse_pruning", "pruning_from"]
