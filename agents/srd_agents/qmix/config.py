"""Options of QMIX, VDN and independent Q-learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, CountFromZero, MeasureOption, Positive, Share, at_least
from srd_gym.checks import check_number
from srd_gym.core import Clicks
from srd_gym.measures import Measure


@dataclass(frozen=True, kw_only=True)
class ScoringConfig(LearnerConfig):
    """Options of QMIX, VDN and independent Q-learning; the latter two have no others."""

    patience: CountFromZero = 0
    """Validations without a new best after which training stops; 0: it never stops early, as a plateau means little
    while agents explore."""
    batch_topics: Count = 256
    """Topics played per step of the loop; gradient updates follow."""
    rollouts: Count = 8
    """Joint actions per topic at a time, each an episode (the paper: 1). They share the network's passes."""
    updates: Count = 4
    """Gradient updates after each batch of topics."""
    batch_size: Count = 256
    """Visits (a topic with its joint actions) sampled from the replay for one gradient update."""
    reward: MeasureOption | Clicks = "alpha_nDCG@10"
    """Measure that is the reward. Several, joined by " + ", are added (published code: alpha_nDCG@5 +
    alpha_nDCG@15). Or users, alone: "Clicks(...)"."""
    n_scores: Annotated[int, at_least(2)] = 15
    """A: scores are 0 to A - 1 (the paper: as many as a list has documents)."""
    attention_width: Count = 64
    """Width of the self-attention, a multiple of `heads`."""
    heads: Count = 4
    """Heads of the self-attention."""
    hidden_size: Count = 64
    """Width of the hidden layers of the agents' MLP."""
    layers: Count = 2
    """Hidden layers of the agents' MLP."""
    learning_rate: Positive = 1e-3
    """Learning rate of Adam."""
    max_grad_norm: Positive = 10.0
    """Largest norm of the gradient of an update; larger ones are shortened."""
    epsilon_start: Share = 1.0
    """Initial probability that an agent takes a random score."""
    epsilon_end: float = 0.05
    """Final probability that an agent takes a random score."""
    epsilon_episodes: Count = 200_000
    """Episodes over which this probability falls linearly."""
    replay_capacity: Count = 20_000
    """Largest number of visits in the replay; the oldest are dropped."""
    tie_break: Literal["retrieval", "q"] = "retrieval"
    """Order of documents with equal scores: candidate order, or ("q") how clearly their action values rise with the
    score."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation; the paper does not."""
    device: str = "cpu"
    """Device for training, as torch names it ("cpu", "cuda"). Ranking always runs on the CPU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attention_width % self.heads:
            raise ValueError(
                f"attention_width must be a multiple of heads, got width {self.attention_width} and {self.heads} heads"
            )
        check_number("epsilon_end", self.epsilon_end, 0.0, self.epsilon_start)

    @property
    def rewards(self) -> tuple[str, ...] | Measure | Clicks:
        """The measures that the reward adds up, or users."""
        return tuple(map(str.strip, self.reward.split(" + "))) if isinstance(self.reward, str) else self.reward


@dataclass(frozen=True, kw_only=True)
class QmixConfig(ScoringConfig):
    """QMIX: a monotone mixing network whose weights depend on the topic."""

    state: Literal["documents", "flat"] = "documents"
    """Input of the mixing weights: "documents", one row per document from query, mean document and the document, or
    "flat", all vectors side by side, as published (the order of the documents matters)."""
    max_candidates: Annotated[int | None, at_least(1)] = None
    """Number of documents of every training topic, for state="flat"."""
    mixing_width: Count = 8
    """Width of the mixing network."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.state == "flat" and self.max_candidates is None:
            raise ValueError("state='flat' needs max_candidates: the number of documents that every topic has")
