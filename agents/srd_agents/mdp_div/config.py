"""Options of the two MDP-DIV learners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from srd_agents.reinforce.config import EpisodesConfig, Rollouts
from srd_agents.training.options import Count, NotNegative, Positive, RewardOption


@dataclass(frozen=True, kw_only=True)
class PolicyConfig(EpisodesConfig):
    """Options of both MDP-DIV learners."""

    RANKING_OPTIONS: ClassVar[tuple[str, ...]] = ("prune_ranking",)
    reward: RewardOption = "alpha_DCG"
    """Measure whose gains are the rewards (alpha_DCG, StRecall, ...). Without a cutoff it counts to the horizon. A
    reward of your own: "module:NAME"."""
    return_only: bool = False
    """Give the whole return at the end, not each document's gain at its rank (the paper's ReturnOnly)."""
    prune_ranking: bool = False
    """Also prune when ranking. The paper (Liu et al. 2018) prunes training episodes alone."""
    hidden_size: Count = 16
    """Width of the user state."""
    learning_rate: Positive = 0.002
    """Learning rate of Adam."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_ranking and not self.prunes:
            raise ValueError('prune_ranking=True needs a ranker that prunes; add a strategy, such as pruning="knn:0.3"')

    @property
    def prunes(self) -> bool:
        """Whether candidates are masked."""
        return self.pruning is not None


@dataclass(frozen=True, kw_only=True)
class MdpDivConfig(PolicyConfig):
    """MDP-DIV as published: one topic, one episode, plain gradient ascent after each of its ranks."""

    hidden_size: Count = 5
    """Width of the user state."""
    learning_rate: Positive = 0.01
    """Learning rate eta, which the paper tunes on validation. It depends on the length of the vectors."""
    update: Literal["step", "episode"] = "step"
    """Time of updates: "step" after each rank's gradient, so that the next one is taken at the new weights
    (Algorithm 1), or "episode" once, by the sum of the ranks' gradients."""
    standardize: bool = False
    """Shift and scale the vectors by the training documents' mean and overall deviation; the paper does not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_topics != 1:
            raise ValueError(
                "batch_topics must be 1 for mdp-div, which updates after every topic as the paper does, "
                f"got {self.batch_topics}; ranker mdp-div-batched learns from many topics at once"
            )


@dataclass(frozen=True, kw_only=True)
class MdpDivBatchedConfig(PolicyConfig):
    """MDP-DIV's policy, trained with batches, a baseline and Adam."""

    batch_topics: Count = 16
    """Topics per update."""
    rollouts: Rollouts = 8
    """Episodes of each topic per update, at least 2. Each is compared with the mean of the others."""
    entropy_coef: NotNegative = 0.03
    """Weight of the policy's entropy (nats per rank), beside advantages of unit size."""
    max_grad_norm: Positive = 1.0
    """Largest norm of the gradient of an update; larger ones are shortened."""
    retrieval_order: bool = True
    """Also read the rank and score of the first stage, where topics have them."""


@dataclass(frozen=True, kw_only=True)
class MdpDivNtnConfig(MdpDivConfig):
    """MDP-DIV on the candidates that NTN-DIV, trained first on the same topics, puts first."""

    when: Literal["reset", "step"] = "reset"
    """Time of pruning: "reset", once before the first rank (the paper's D), or "step", after each rank (E)."""
    ntn_slices: Count = 100
    """Slices of NTN-DIV's tensor."""
    ntn_loss: Literal["likelihood", "margin"] = "margin"
    """Loss of NTN-DIV, as for ranker ntn-div."""
    ntn_epochs: Count = 40
    """Largest number of epochs of NTN-DIV. A fifth of the training topics decides when it stops."""
    ntn_learning_rate: Positive = 0.009
    """Learning rate of NTN-DIV."""
    ntn_tensor_rate: Positive = 1.0
    """Learning rate of NTN-DIV's tensor and of its w, as a share of `ntn_learning_rate`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pruning is not None:
            raise ValueError(
                f"this ranker prunes by its own NTN-DIV, so it takes no pruning={self.pruning!r}; "
                "give that to ranker mdp-div"
            )

    @property
    def prunes(self) -> bool:
        """Always, by its own NTN-DIV."""
        return True
