"""Options of MaskablePPO as a ranker, and of a trained SB3 model as one."""

from __future__ import annotations

from dataclasses import dataclass

from srd_agents.config import check_between, check_count, check_positive
from srd_agents.learner import LearnerConfig


@dataclass(frozen=True, kw_only=True)
class MaskablePpoConfig(LearnerConfig):
    """sb3-contrib's MaskablePPO with our policy."""

    batch_topics: int = 16
    """Topics played per update. Where the last batch of an epoch has fewer, they are played more often."""
    rollouts: int = 8
    """Episodes of each topic per update."""
    reward: str = "alpha_DCG"
    """The measure whose gains are the rewards; without a cutoff it counts to the horizon."""
    horizon: int = 10
    """Ranks of a training episode."""
    hidden: int = 64
    """Width of the network's layers."""
    learning_rate: float = 1e-3
    """Adam's step size."""
    batch_size: int = 256
    """Steps per gradient update."""
    n_epochs: int = 4
    """Passes over what was played, for each update."""
    gamma: float = 1.0
    """Discount of later rewards, 0 to 1; at 1 the return is the measure."""
    gae_lambda: float = 0.9
    """0: advantages lean on the value network alone; 1: on the rewards alone."""
    clip_range: float = 0.2
    """How far a gradient update may move the probability of an action, as a share."""
    entropy: float = 0.01
    """Weight of the policy's entropy; keeps it exploring."""
    value: float = 0.5
    """Weight of the value network's loss."""
    clip_norm: float = 0.5
    """Largest norm of the gradient; larger ones are shortened."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation."""
    device: str = "cpu"
    """Where it plays and learns, in torch's words ("cpu", "cuda"); ranking always runs on the CPU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rollouts", "horizon", "hidden", "n_epochs"):
            check_count(name, getattr(self, name))
        check_count("batch_size", self.batch_size, low=2)  # advantages are normalised by their deviation
        for name in ("learning_rate", "clip_range", "clip_norm"):
            check_positive(name, getattr(self, name))
        for name in ("gamma", "gae_lambda"):
            check_between(name, getattr(self, name), 0.0, 1.0)
        for name in ("entropy", "value"):
            check_between(name, getattr(self, name), 0.0)


@dataclass(frozen=True, kw_only=True)
class Sb3ModelConfig:
    """A model that Stable-Baselines3 or sb3-contrib trained, saved as its zip file."""

    path: str = ""
    """The zip file that `model.save` wrote; there is no default."""
    algorithm: str = "MaskablePPO"
    """The class that wrote it: a name in stable_baselines3 or sb3_contrib."""
