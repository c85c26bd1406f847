"""Options of M2Div."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, CountFromZero, NotNegative, Positive, RewardOption


@dataclass(frozen=True, kw_only=True)
class MctsConfig(LearnerConfig):
    """M2Div: Monte Carlo tree search guided by a network that learns from it."""

    # What may differ from how a model was trained; its validation alone looked at them.
    RANKING_OPTIONS: ClassVar[tuple[str, ...]] = ("rank_by", "rank_simulations")

    batch_topics: Count = 16
    """Topics searched side by side, and learned from in one update; the paper's is 1."""
    reward: RewardOption = "alpha_nDCG"
    """What finished lists are worth, 0 to 1 (V is a number between them); without a cutoff it counts to the horizon. A
    reward of your own: "module:NAME"; its return is their worth."""
    horizon: Count = 5
    """Ranks of an episode, and how deep a search looks. Ranks behind it are filled by the policy."""
    simulations: Count = 64
    """Simulations at each rank in training, those inherited with a kept subtree included; the paper's is 5,000."""
    c_puct: NotNegative = 3.0
    """Lambda, the weight of the priors in the selection rule."""
    root: Literal["puct", "gumbel"] = "gumbel"
    """How training tries the root's documents: by the paper's rule, or Gumbel sampling of 16 and sequential halving."""
    hidden_size: Count = 16
    """Width of the LSTM's cell; the paper's is 5."""
    init: Literal["similarity", "uniform"] = "similarity"
    """First weights: "similarity" starts as a rough MMR (see `SearchNetwork`), "uniform" in [-1, 1] / sqrt(inputs)."""
    optimizer: Literal["adagrad", "adam"] = "adam"
    """What steps the weights; the paper's is Adagrad."""
    learning_rate: Positive = 0.002
    """Its step size; the paper's is 0.01."""
    max_grad_norm: NotNegative = 5.0
    """Largest norm of the gradient of an update; larger ones are shortened. 0 never does."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation; the paper does not."""
    device: str = "cpu"
    """Where the learning passes run, in torch's words ("cpu", "cuda"); searching and ranking run on the CPU."""
    rank_by: Literal["policy", "value", "search"] = "policy"
    """How topics are ranked: by the raw policy, by V of every next document, or with search. Labels are never read."""
    rank_simulations: CountFromZero = 64
    """Simulations at each of the first `horizon` ranks when ranking with search; 0 falls back to the raw policy."""
