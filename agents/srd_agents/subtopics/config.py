"""Options of the rankers that predict subtopics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.reinforce.config import EpisodesConfig, Rollouts
from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, CountFromZero, NotNegative, Positive, RewardOption


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig(LearnerConfig):
    """Predictions that learn from judgments alone."""

    epochs: Count = 12
    """Largest number of passes over the training topics."""
    batch_topics: Count = 20
    """Topics per update."""
    predicts: bool = True
    """Whether subtopics are predicted."""
    covers: bool = True
    """Whether coverage of them counts; without, documents are sorted by relevance, for which predictions are features.
    """
    learning_rate: Positive = 0.01
    """Initial learning rate of AdamW."""
    lr_decay_epochs: Count = 12
    """Epochs over which the learning rate falls along half a cosine, to a fiftieth."""
    weight_decay: NotNegative = 0.01
    """Weight decay of AdamW."""
    max_grad_norm: Positive = 1.0
    """Largest norm of the gradient of an update; larger ones are shortened."""
    device: str = "cpu"
    """Device for training, as torch names it ("cpu", "cuda"). Ranking always runs on the CPU."""


@dataclass(frozen=True, kw_only=True)
class DiversifiedConfig(ClassifierConfig):
    """Learned relevance, and a heuristic that diversifies by vectors."""

    diversity: Literal["mmr", "dpp"] = "mmr"
    """The heuristic."""


@dataclass(frozen=True, kw_only=True)
class ClickedConfig(ClassifierConfig):
    """Predictions that learn from clicks."""

    users: RewardOption = "Clicks(attraction=0.9)"
    """Who click."""
    lists: Count = 4800
    """Initial rankings shown, each to one user, topics in turn."""
    shown: Count = 10
    """Documents shown of each."""
    clusters: Count = 16
    """Clusters of clicked documents, the subtopics to predict."""


@dataclass(frozen=True, kw_only=True)
class ClickedLogsConfig(ClickedConfig):
    """Predictions that learn from logged clicks."""

    logs: str | None = None
    """File of lists shown and clicked (`srd_gym.offline.read_log`; Parquet). Topics need no judgments then. None:
    `lists` simulated ones, of judged topics."""
    hidden_size: CountFromZero = 64
    """H, width of the part that reads vectors beside predictions, as in `reinforce-subtopics`; 0: it is left out. Where
    lists show less than half of the candidates, it learns nothing from them."""
    learning_rate: Positive = 0.003
    """Initial learning rate of AdamW."""


@dataclass(frozen=True, kw_only=True)
class SubtopicsConfig(EpisodesConfig):
    """A policy that covers predicted subtopics."""

    epochs: Count = 8
    """Largest number of passes over the training topics."""
    batch_topics: Count = 20
    """Topics per update."""
    rollouts: Rollouts = 8
    """Episodes of each topic per update, at least 2. Each is compared with the mean of the others."""
    predicts: bool = True
    """Whether subtopics are predicted; without, documents differ by relevance, and by what `hidden_size` learns."""
    hidden_size: CountFromZero = 64
    """H, width of the part that reads vectors beside predictions and knows the documents ranked; 0: it is left out."""
    first_epochs: CountFromZero = 12
    """Passes over the judgments of the training topics before the first episode."""
    first_learning_rate: Positive = 0.01
    """Learning rate of these passes; it falls along half a cosine."""
    learning_rate: Positive = 0.003
    """Largest learning rate of the policy; it rises over a tenth of `lr_decay_epochs`."""
    lr_decay_epochs: Count = 8
    """Epochs over which the learning rate falls along half a cosine, to a fiftieth."""
    judgments_coef: NotNegative = 1.0
    """Weight of the cross-entropy of the predictions beside the policy's loss."""
    entropy_coef: NotNegative = 0.0
    """Weight of the policy's entropy (nats per rank)."""
    weight_decay: NotNegative = 0.01
    """Weight decay of AdamW."""
    max_grad_norm: Positive = 1.0
    """Largest norm of the gradient of an update; larger ones are shortened."""


@dataclass(frozen=True, kw_only=True)
class ReinforceClicksConfig(SubtopicsConfig):
    """A policy that covers what users click."""

    reward: RewardOption = "Clicks(pays='reciprocal_rank', attraction=0.9)"
    """The users, and what they pay for a list."""
    judgments_coef: NotNegative = 0.0
    """Weight of the cross-entropy of clicks on the initial ranking beside the policy's loss."""
    lists: Count = 4800
    """Initial rankings shown before the first episode, each to one user, topics in turn."""
    shown: Count = 10
    """Documents shown of each."""
    clusters: Count = 16
    """Clusters of clicked documents, the subtopics to predict."""
