"""Options of QMIX, VDN and independent Q-learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, CountFromZero, MeasureOption, Positive, Share
from srd_gym.checks import check_integer, check_number
from srd_gym.measures import Measure


@dataclass(frozen=True, kw_only=True)
class ScoringConfig(LearnerConfig):
    """Options of QMIX, VDN and independent Q-learning; the latter two have no others."""

    patience: CountFromZero = 0
    """Validations without a new best after which training stops; 0 never stops early: a plateau means little while
    agents still explore."""
    batch_topics: Count = 256
    """Topics played per step of the loop; gradient updates follow."""
    rollouts: Count = 8
    """Joint actions played on a topic at once, each an episode; they share the network's pass, when playing and when
    learning. The paper plays one."""
    updates: Count = 4
    """Gradient updates after each batch of topics."""
    batch_size: Count = 256
    """Visits (a topic with its joint actions) drawn from the replay for one gradient update."""
    reward: MeasureOption = "alpha_nDCG@10"
    """The measure paid; several joined by " + " are added up (the published code pays alpha_nDCG@5 + alpha_nDCG@15)."""
    n_scores: int = 15
    """A: scores are 0 to A - 1. The paper takes as many as a list has documents."""
    attention_width: Count = 64
    """Width of the self-attention, a multiple of `heads`."""
    heads: Count = 4
    """Heads of the self-attention."""
    hidden_size: Count = 64
    """Width of the hidden layers of the agents' MLP."""
    layers: Count = 2
    """Hidden layers of the agents' MLP."""
    learning_rate: Positive = 1e-3
    """Adam's step size."""
    max_grad_norm: Positive = 10.0
    """Largest norm of the gradient of an update; larger ones are shortened."""
    epsilon_start: Share = 1.0
    """How often each agent takes a random score at first."""
    epsilon_end: float = 0.05
    """How often it does so in the end."""
    epsilon_episodes: Count = 200_000
    """Episodes over which that falls, in a straight line."""
    replay_capacity: Count = 20_000
    """Visits kept; the oldest make room."""
    tie_break: Literal["retrieval", "q"] = "retrieval"
    """Order of documents with the same score when ranking: candidate order, or how clearly their action values rise
    with the score."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation; the paper does not."""
    device: str = "cpu"
    """Where it is trained, in torch's words ("cpu", "cuda"); ranking always runs on the CPU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("n_scores", self.n_scores, 2)
        if self.attention_width % self.heads:
            raise ValueError(
                f"attention_width must be a multiple of heads, got width {self.attention_width} and {self.heads} heads"
            )
        check_number("epsilon_end", self.epsilon_end, 0.0, self.epsilon_start)

    @property
    def rewards(self) -> tuple[str | Measure, ...]:
        """The measures that the reward adds up."""
        return (self.reward,) if isinstance(self.reward, Measure) else tuple(map(str.strip, self.reward.split(" + ")))


@dataclass(frozen=True, kw_only=True)
class QmixConfig(ScoringConfig):
    """QMIX: a monotone mixing network whose weights depend on the topic."""

    state: Literal["documents", "flat"] = "documents"
    """What makes the mixing weights: "documents" a row for each document from query, mean document and the document;
    "flat" all vectors side by side, as published (the order of the documents matters)."""
    max_candidates: int | None = None
    """How many documents every topic of training has, for state="flat"."""
    mixing_width: Count = 8
    """Width of the mixing network."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.state == "flat":
            if self.max_candidates is None:
                raise ValueError("state='flat' needs max_candidates: the number of documents that every topic has")
            check_integer("max_candidates", self.max_candidates, 1)
