"""Options of MaskablePPO as a ranker, and of a trained SB3 model as one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, NotNegative, Positive, RewardOption, Share
from srd_gym.checks import check_integer


@dataclass(frozen=True, kw_only=True)
class MaskablePpoConfig(LearnerConfig):
    """sb3-contrib's MaskablePPO with our policy."""

    batch_topics: Count = 16
    """Topics played per update. Where the last batch of an epoch has fewer, they are played more often."""
    rollouts: Count = 8
    """Episodes of each topic per update."""
    reward: RewardOption = "alpha_DCG"
    """Measure whose gains are the rewards. Without a cutoff it counts to the horizon. A reward of your own:
    "module:NAME"."""
    horizon: Count = 10
    """Ranks of a training episode."""
    hidden_size: Count = 64
    """Width of the network's layers."""
    learning_rate: Positive = 1e-3
    """Learning rate of Adam."""
    batch_size: Annotated[int, partial(check_integer, least=2)] = 256
    """Steps per gradient update, at least 2, as advantages are normalised by their deviation."""
    n_epochs: Count = 4
    """Passes over the episodes of an update."""
    gae_lambda: Share = 0.9
    """Lambda of generalised advantage estimation. 0: advantages use the value network alone; 1: the rewards alone."""
    entropy_coef: NotNegative = 0.01
    """Weight of the policy's entropy. Settings that are not options here have SB3's defaults."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation."""
    device: str = "cpu"
    """Device for training, as torch names it ("cpu", "cuda"). Ranking always runs on the CPU."""


@dataclass(frozen=True, kw_only=True)
class Sb3ModelConfig:
    """A model that Stable-Baselines3 or sb3-contrib trained, saved as its zip file."""

    path: str = ""
    """Zip file that `model.save` wrote (required)."""
    algorithm: str = "MaskablePPO"
    """Class of the model: a name in stable_baselines3 or sb3_contrib."""
