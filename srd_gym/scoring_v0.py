"""The multi-agent environment, in PettingZoo's manner: `from srd_gym import scoring_v0; scoring_v0.parallel_env()`."""

from srd_gym.envs.scoring import ScoringEnv

parallel_env = ScoringEnv

__all__ = ["parallel_env"]
