"""Options of the relational ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.config import check_between, check_count, check_fields, check_positive
from srd_agents.learner import LearnerConfig
from srd_agents.relational.groups import check_groups


@dataclass(frozen=True, kw_only=True)
class RelationalConfig(LearnerConfig):
    """A small network on relations, trained by REINFORCE; of any vector width."""

    epochs: int = 20
    """Passes over the training topics at most."""
    batch_topics: int = 16
    """Topics per update."""
    init: Literal["pretrained", "random"] = "pretrained"
    """First weights: those that come with the package (training is then fine-tuning), or "random" ones."""
    units: int = 32
    """H, units of the first layer; of "pretrained" weights it is what they have."""
    second: int = 32
    """G, units of the second layer."""
    reward: str = "alpha_nDCG"
    """What the return measures; without a cutoff it counts to the horizon."""
    horizon: int = 10
    """K, ranks of a training episode."""
    rollouts: int = 8
    """R, episodes of a topic an update; each is compared with the others."""
    learning_rate: float = 0.001
    """Adam's step size."""
    entropy: float = 0.01
    """Weight of the policy's entropy, which keeps it from being sure too soon."""
    clip_norm: float = 1.0
    """Largest length of a gradient."""
    average: float = 0.0
    """Decay of the running mean of the weights, an update at a time: that mean validates and is kept. It begins as
    a plain mean, so that it forgets where training began. 0: no mean."""
    without: tuple[str, ...] = ()
    """Groups of relations to leave out, to see what they are worth: order, query, density, neighbours, ahead, ranked,
    fresh, context (`srd_agents.relational.groups.GROUPS`). Their weights are 0 from the start and stay so; ranking
    with such weights needs nothing special."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("units", "second", "horizon"):
            check_count(name, getattr(self, name))
        check_count("rollouts", self.rollouts, low=2)
        check_positive("learning_rate", self.learning_rate)
        check_positive("clip_norm", self.clip_norm)
        check_between("entropy", self.entropy, 0.0)
        check_between("average", self.average, 0.0, 0.9999)
        check_groups(self.without)
        object.__setattr__(self, "without", tuple(self.without))  # files hold lists


@dataclass(frozen=True, kw_only=True)
class PretrainedConfig:
    """The relational ranker as it comes."""

    checkpoint: str | None = None
    """A file of weights that `srd pretrain` wrote; "{seed}" in it stands for the seed. None: those of the package."""
    seed: int = 0
    """Stands in for "{seed}"."""
    strategy: Literal["greedy", "one-pass"] = "greedy"
    """"greedy" looks at all candidates anew at every rank; "one-pass" scores them once and sorts: faster, less diverse.
    A file of other weights must have been made for it."""

    def __post_init__(self) -> None:
        check_fields(self)

    def path(self) -> str | None:
        """The file, None for the package's own."""
        return None if self.checkpoint is None else self.checkpoint.replace("{seed}", str(self.seed))
