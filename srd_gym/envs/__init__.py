"""The environments: thin skins of `srd_gym.core`."""

from srd_gym.envs.features import FEATURES
from srd_gym.envs.selection import SelectionEnv
from srd_gym.envs.selection_vector import SelectionVectorEnv

__all__ = ["FEATURES", "SelectionEnv", "SelectionVectorEnv"]
