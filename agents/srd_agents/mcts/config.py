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
    """Topics that are searched side by side, and used in one update (the paper: 1)."""
    reward: RewardOption = "alpha_nDCG"
    """Measure of finished lists, 0 to 1, which V estimates. Without a cutoff it counts to the horizon. A reward of your
    own: "module:NAME"."""
    horizon: Count = 5
    """Ranks of an episode, and depth of a search. The policy fills the ranks below."""
    simulations: Count = 64
    """Simulations per rank in training, including those of a kept subtree (the paper: 5,000)."""
    c_puct: NotNegative = 3.0
    """Lambda, the weight of the priors in the selection rule."""
    root: Literal["puct", "gumbel"] = "gumbel"
    """Choice among the root's documents in training: the paper's rule, or Gumbel sampling of 16 and sequential
    halving."""
    hidden_size: Count = 16
    """Width of the LSTM's cell (the paper: 5)."""
    init: Literal["similarity", "uniform"] = "similarity"
    """Initial weights: "similarity" starts as a rough MMR (`SearchNetwork`), "uniform" in [-1, 1] / sqrt(inputs)."""
    optimizer: Literal["adagrad", "adam"] = "adam"
    """Optimizer (the paper: Adagrad)."""
    learning_rate: Positive = 0.002
    """Learning rate (the paper: 0.01)."""
    max_grad_norm: NotNegative = 5.0
    """Largest norm of the gradient of an update; larger ones are shortened. 0: no limit."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation; the paper does not."""
    retrieval_order: bool = True
    """Also read the rank and score of the first stage, where topics have them; the paper does not."""
    device: str = "cpu"
    """Device for learning, as torch names it ("cpu", "cuda"). Search and ranking run on the CPU."""
    rank_by: Literal["policy", "value", "search"] = "policy"
    """Basis of rankings: the policy, V of every next document, or search. No labels are read."""
    rank_simulations: CountFromZero = 64
    """Simulations at each of the first `horizon` ranks when ranking with search; 0: the policy alone."""
