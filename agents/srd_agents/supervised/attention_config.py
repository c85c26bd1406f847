"""Options that rankers share whose documents attend to one another."""

from __future__ import annotations

from dataclasses import dataclass

from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, Positive, Share


@dataclass(frozen=True, kw_only=True)
class AttentionConfig(LearnerConfig):
    """Options of scorers with self-attention over the documents of a topic."""

    batch_topics: Count = 16
    """Topics per update."""
    width: Count = 64
    """Width of the rows that the attention works on, a multiple of `heads`."""
    heads: Count = 4
    """Heads of the attention."""
    blocks: Count = 2
    """Number of blocks of self-attention and feed-forward layer."""
    alpha: Share = 0.5
    """Share of its gain that a subtopic loses each time it is covered, from 0 to below 1."""
    features: bool = True
    """Also read the cosine of query and document and the retrieval order, where topics have them."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation."""
    learning_rate: Positive = 0.001
    """Learning rate of Adam."""
    max_grad_norm: Positive = 1.0
    """Largest norm of the gradient of an update; larger ones are shortened."""
    device: str = "cpu"
    """Device for training, as torch names it ("cpu", "cuda"). Ranking always runs on the CPU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, got width {self.width} and {self.heads} heads")
        if self.alpha == 1:
            raise ValueError("alpha must be below 1, where a second document on a subtopic is still worth something")
