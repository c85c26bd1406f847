"""The agents' network: one action value for each integer score, from query, document and attention over all documents.

Chen et al., "MA4DIV: Multi-Agent Reinforcement Learning for Search Result Diversification", WWW 2025, section 4.2:
agent i sees the query q, its document d_i and e_i, its row of a self-attention over all documents; an MLP that all
agents share turns them into A action values.

Shapes: B topics, N candidates, F vector width, A scores, W attention width, H hidden width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from srd_agents.networks.attention import AttentionStack, dense
from srd_agents.networks.inputs import Inputs


class ScoreNetwork(nn.Module):
    """The action values of all agents of a topic; permuting the documents permutes the agents and nothing else.

    Args:
        width: F.
        n_scores: A.
        attention_width: W, a multiple of `heads`.
        heads: of the attention.
        blocks: of the attention.
        hidden: H, width of the MLP's hidden layers.
        layers: hidden layers of the MLP, at least 1.
    """

    def __init__(
        self,
        width: int,
        n_scores: int,
        *,
        attention_width: int = 64,
        heads: int = 4,
        blocks: int = 1,
        hidden: int = 64,
        layers: int = 2,
    ) -> None:
        super().__init__()
        self.n_scores = n_scores
        # `from_attention` mixes the heads.
        self.attention = AttentionStack(width, attention_width, heads, blocks, project=False)
        # One layer on [q, d_i, e_i] in three parts: the query's is computed once a topic, and nothing is concatenated.
        self.from_query = dense(width, hidden, bias=False)
        self.from_document = dense(width, hidden)
        self.from_attention = dense(attention_width, hidden, bias=False)
        self.further = nn.ModuleList(dense(hidden, hidden) for _ in range(layers - 1))
        self.values = dense(hidden, n_scores)

    def forward(self, inputs: Inputs) -> Tensor:
        """The action values, [B, N, A]; rows of padding are finite and mean nothing."""
        # Added up in place: no gradient needs the parts.
        rows: Tensor = self.from_document(inputs.documents)
        rows += self.from_attention(self.attention(inputs.documents, inputs.present))
        rows += self.from_query(inputs.queries)[:, None]
        rows = torch.relu_(rows)
        for layer in self.further:
            rows = torch.relu_(layer(rows))
        values: Tensor = self.values(rows)
        return values
