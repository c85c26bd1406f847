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
    """The measure whose gains are the rewards; without a cutoff it counts to the horizon. A reward of your own:
    "module:NAME"."""
    horizon: Count = 10
    """Ranks of a training episode."""
    hidden_size: Count = 64
    """Width of the network's layers."""
    learning_rate: Positive = 1e-3
    """Adam's step size."""
    batch_size: Annotated[int, partial(check_integer, least=2)] = 256
    """Steps per gradient update, at least 2: advantages are normalised by their deviation."""
    n_epochs: Count = 4
    """Passes over what was played, for each update."""
    gae_lambda: Share = 0.9
    """0: advantages lean on the value network alone; 1: on the rewards alone."""
    entropy_coef: NotNegative = 0.01
    """Weight of the policy's entropy; keeps it exploring. What is no option here is as SB3 has it."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation."""
    device: str = "cpu"
    """Where it plays and learns, in torch's words ("cpu", "cuda"); ranking always runs on the CPU."""


@dataclass(frozen=True, kw_only=True)
class Sb3ModelConfig:
    """A model that Stable-Baselines3 or sb3-contrib trained, saved as its zip file."""

    path: str = ""
    """The zip file that `model.save` wrote; there is no default."""
    algorithm: str = "MaskablePPO"
    """The class that wrote it: a name in stable_baselines3 or sb3_contrib."""
