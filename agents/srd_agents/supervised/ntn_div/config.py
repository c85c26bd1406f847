"""Options of NTN-DIV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from srd_agents.supervised.samples import Pooling
from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, MeasureOption, Positive, Share


@dataclass(frozen=True, kw_only=True)
class NtnDivConfig(LearnerConfig):
    """NTN-DIV: a neural tensor network for novelty, learned from ideal rankings."""

    batch_topics: Count = 8
    """Topics per update."""
    slices: Count = 7
    """z, slices of the tensor (7 in MDP-DIV's comparison, 100 in Liu et al. 2018)."""
    pooling: Pooling = "max"
    """How a slice sums up the documents ranked so far (the paper: max; the public code: min)."""
    loss: Literal["likelihood", "margin"] = "likelihood"
    """"likelihood" of the ideal ranking (R-LTR), or the "margin" between good and bad rankings (PAMM)."""
    measure: MeasureOption = "alpha_nDCG"
    """What an ideal ranking maximises and margins are measured in; without a cutoff it counts to `depth`."""
    depth: Count = 10
    """Ranks of the rankings that it learns from."""
    positives: Count = 5
    """With "margin": good rankings a topic, the ideal and variants of it with equally judged documents swapped."""
    negatives: Count = 20
    """With "margin": bad rankings a topic, drawn at random."""
    negative_below: Share = 0.8
    """With "margin": what a bad ranking may reach in the measure, in shares of the ideal's."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """"sgd" is the paper's plain gradient descent."""
    learning_rate: Positive = 0.003
    """Step size (Liu et al. 2018: 0.009, with plain gradient descent)."""
    tensor_rate: Positive = 0.01
    """Step size of the tensor and of w, in shares of `learning_rate`; small ones keep them from learning the training
    topics by heart before the few other weights are right (the paper: 1)."""
    init: Literal["similarity", "random"] = "similarity"
    """First weights: "similarity" starts as a rough MMR (see `NtnNetwork`), "random" draws all of them."""
    features: bool = True
    """Also score the cosine of query and document and the retrieval order, where topics have them."""
    device: str = "cpu"
    """Where it is trained, in torch's words ("cpu", "cuda"); ranking always runs on the CPU."""
