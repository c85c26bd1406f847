"""Rankers as policies of the environments, and policies as rankers, in the contract of Stable-Baselines3."""

from srd_agents.acting.policies import RankerPolicy, ScoringPolicy, as_policy
from srd_agents.acting.rankers import PolicyRanker, Predicts, ScoringRanker, as_ranker

__all__ = ["PolicyRanker", "Predicts", "RankerPolicy", "ScoringPolicy", "ScoringRanker", "as_policy", "as_ranker"]
