"""Options of DESA."""

from __future__ import annotations

from dataclasses import dataclass

from srd_agents.supervised.attention_config import AttentionConfig
from srd_agents.training.options import Count, NotNegative, Positive


@dataclass(frozen=True, kw_only=True)
class DesaConfig(AttentionConfig):
    """DESA; the sizes and Adam's settings are those of its public code."""

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
    contexts: Count = 10
    """Number of prefixes of the ideal ranking (of 0, 1, ... documents) after which pairs are compared."""
    learning_rate: Positive = 0.0008
    """Learning rate of Adam."""
    weight_decay: NotNegative = 0.0005
    """Weight decay of Adam: the share of the weights that it adds to the gradient."""
