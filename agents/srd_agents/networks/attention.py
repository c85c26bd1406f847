"""Multi-head self-attention over the documents of a topic: equivariant under permutations, for any number of them.

Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3.2, without positions: a document is what its vector
says, wherever it stands among the candidates.

Shapes: B topics, N candidates, F width of the rows that come in, W width of the attention, H heads.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


def dense(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer of zeros: torch's own start would draw from the global generator. See `initialise`."""
    # On the meta device nothing is drawn; the values come from `initialise` or from a file.
    layer = nn.Linear(inputs, outputs, bias=bias, device="meta").to_empty(device="cpu")
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer


@torch.no_grad()
def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw the weights of all linear layers inside, uniform in [-b, b] with b = 1 / sqrt(inputs); biases become 0.

    Args:
        module: whatever holds `nn.Linear` layers; others keep their values.
        generator: on the CPU, so that a seed gives the same start on every device.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            bound = 1.0 / math.sqrt(layer.in_features)
            layer.weight.uniform_(-1, 1, generator=generator).mul_(bound)
            if layer.bias is not None:
                layer.bias.zero_()


def attend(mixed: Tensor, heads: int, present: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention of every document to all documents of its topic.

    Memory grows with N, time with N^2.

    Args:
        mixed: [B, N, 3W], queries, keys and values side by side.
        heads: H; each takes W / H of the columns.
        present: [B, N] bool, the real documents, at least one a topic; None: all are. Others are not looked at; their
            own rows are finite but mean nothing.

    Returns:
        [B, N, W], the heads' outputs side by side.
    """
    batch, count, width = mixed.shape[0], mixed.shape[1], mixed.shape[2] // 3
    query, key, value = mixed.view(batch, count, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    mask = None
    if present is not None:
        mask = torch.zeros(present.shape, dtype=mixed.dtype, device=mixed.device).masked_fill(~present, -math.inf)
        mask = mask[:, None, None, :]
    out = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return out.transpose(1, 2).reshape(batch, count, width)


class SelfAttention(nn.Module):
    """Multi-head self-attention: one row in, one row out for every document.

    Args:
        inputs: F.
        width: W, a multiple of `heads`.
        heads: H.
        project: whether a linear layer mixes the heads' outputs; needless where the reader's first layer is linear.
    """

    def __init__(self, inputs: int, width: int, heads: int, *, project: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.mixed = dense(inputs, 3 * width)
        self.out = dense(width, width) if project else None

    def forward(self, rows: Tensor, present: Tensor | None = None) -> Tensor:
        """The attention row of each document.

        Args:
            rows: [B, N, F].
            present: [B, N] bool, as `attend` takes it.

        Returns:
            [B, N, W].
        """
        projected: Tensor = self.mixed(rows)
        out = attend(projected, self.heads, present)
        return out if self.out is None else self.out(out)


class AttentionBlock(nn.Module):
    """A block on rows of width W: self-attention and a feed-forward layer, each normalised first and added.

    Args:
        width: W.
        heads: H.
        feed_forward: hidden width of the feed-forward layer.
    """

    def __init__(self, width: int, heads: int, feed_forward: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = SelfAttention(width, width, heads)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width),
            dense(width, feed_forward),
            nn.ReLU(),
            dense(feed_forward, width),
        )

    def forward(self, rows: Tensor, present: Tensor | None = None) -> Tensor:
        """[B, N, W] to [B, N, W]; `present` as `attend` takes it."""
        rows = rows + self.attention(self.attention_norm(rows), present)
        added: Tensor = self.feed_forward(rows)
        return rows + added
