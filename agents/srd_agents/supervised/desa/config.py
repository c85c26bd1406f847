"""Options of DESA."""

from __future__ import annotations

from dataclasses import dataclass

from srd_agents.training.learner import LearnerConfig
from srd_agents.training.options import Count, NotNegative, Positive, Share


@dataclass(frozen=True, kw_only=True)
class DesaConfig(LearnerConfig):
    """DESA; the sizes and Adam's settings are those of its public code."""

    batch_topics: Count = 16
    """Topics per update."""
    width: Count = 128
    """Width of the rows that the attention works on, a multiple of `heads`."""
    heads: Count = 8
    """Heads of the attention."""
    feed_forward: Count = 400
    """Hidden width of the feed-forward layers."""
    blocks: Count = 2
    """Blocks of self-attention and feed-forward layer, for documents and for subtopics."""
    subtopics: bool = True
    """Also read the embeddings of the subtopics. Where topics have none, the query's stands for them."""
    features: bool = True
    """Also read the cosine of query and document and the retrieval order, where topics have them."""
    alpha: Share = 0.5
    """Share of its gain that a subtopic loses each time it is covered, from 0 to below 1."""
    contexts: Count = 10
    """Number of prefixes of the ideal ranking (of 0, 1, ... documents) after which pairs are compared."""
    standardize: bool = True
    """Shift and scale the vectors by the training documents' mean and overall deviation."""
    learning_rate: Positive = 0.0008
    """Learning rate of Adam."""
    weight_decay: NotNegative = 0.0005
    """Weight decay of Adam: the share of the weights that it adds to the gradient."""
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
