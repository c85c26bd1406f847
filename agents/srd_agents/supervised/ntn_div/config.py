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
    """Pooling of a slice over the documents ranked so far (the paper: max; the public code: min)."""
    loss: Literal["likelihood", "margin"] = "likelihood"
    """"likelihood" of the ideal ranking (R-LTR), or the "margin" between good and bad rankings (PAMM)."""
    measure: MeasureOption = "alpha_nDCG"
    """Measure of ideal rankings and of margins. Without a cutoff it counts to `depth`."""
    depth: Count = 10
    """Ranks of the training rankings."""
    positives: Count = 5
    """With "margin": good rankings per topic, the ideal and variants of it with equally judged documents swapped."""
    negatives: Count = 20
    """With "margin": random bad rankings per topic."""
    negative_below: Share = 0.8
    """With "margin": largest value of a bad ranking, as a share of the ideal's."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Optimizer; "sgd" is the paper's plain gradient descent."""
    learning_rate: Positive = 0.003
    """Learning rate (Liu et al. 2018: 0.009, with plain gradient descent)."""
    tensor_rate: Positive = 0.01
    """Learning rate of the tensor and of w, as a share of `learning_rate` (the paper: 1). A small one keeps them from
    overfitting before the few other weights are right."""
    init: Literal["similarity", "random"] = "similarity"
    """Initial weights: "similarity" starts as a rough MMR (see `NtnNetwork`), "random" draws all of them."""
    features: bool = True
    """Also score the cosine of query and document and the retrieval order, where topics have them."""
    device: str = "cpu"
    """Device for training, as torch names it ("cpu", "cuda"). Ranking always runs on the CPU."""
