"""The scorer of DALETOR and MO4SRD: self-attention over all candidates, equivariant under permutations.

Shapes: B topics, N candidates, F vector width, D features, W width of the attention, O outputs of each document.
"""

from __future__ import annotations

from torch import Tensor, nn

from srd_agents.features import FEATURES
from srd_agents.networks.attention import AttentionBlock, dense
from srd_agents.supervised.smooth.config import SmoothConfig


class SmoothNetwork(nn.Module):
    """Rows of query, document, their product and features; blocks of self-attention; numbers for each document.

    Args:
        width: F.
        config: the sizes of the attention, and whether there are features.
        outputs: O.
    """

    def __init__(self, width: int, config: SmoothConfig, outputs: int) -> None:
        super().__init__()
        hidden = config.width
        # One layer on [q, d_i, q * d_i, features] in parts: nothing is concatenated.
        self.from_query = dense(width, hidden, bias=False)
        self.from_document = dense(width, hidden)
        self.from_product = dense(width, hidden, bias=False)
        self.from_features = dense(len(FEATURES), hidden, bias=False) if config.features else None
        self.blocks = nn.ModuleList(AttentionBlock(hidden, config.heads, 2 * hidden) for _ in range(config.blocks))
        self.norm = nn.LayerNorm(hidden)
        self.out = dense(hidden, outputs)

    def forward(
        self, queries: Tensor, documents: Tensor, features: Tensor, present: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The outputs of each document, and the rows that they are made of.

        Args:
            queries: [B, F].
            documents: [B, N, F].
            features: [B, N, D].
            present: [B, N] bool, the real documents; None: all are.

        Returns:
            ([B, N, O], [B, N, W]); rows of padding are finite and mean nothing.
        """
        rows: Tensor = self.from_document(documents) + self.from_query(queries)[:, None]
        rows = rows + self.from_product(queries[:, None] * documents)
        if self.from_features is not None:
            rows = rows + self.from_features(features)
        for block in self.blocks:
            rows = block(rows, present)
        rows = self.norm(rows)
        return self.out(rows), rows
