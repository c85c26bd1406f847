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
from srd_agents.qmix.config import ScoringConfig


class ScoreNetwork(nn.Module):
    """The action values of all agents of a topic; permuting the documents permutes the agents and nothing else.

    Args:
        width: F.
        config: A, and the sizes of attention and MLP.
    """

    def __init__(self, width: int, config: ScoringConfig) -> None:
        super().__init__()
        hidden = config.hidden
        # `from_attention` mixes the heads.
        self.attention = AttentionStack(width, config.attention_width, config.heads, config.blocks, project=False)
        # One layer on [q, d_i, e_i] in three parts: the query's is computed once a topic, and nothing is concatenated.
        self.from_query = dense(width, hidden, bias=False)
        self.from_document = dense(width, hidden)
        self.from_attention = dense(config.attention_width, hidden, bias=False)
        self.further = nn.ModuleList(dense(hidden, hidden) for _ in range(config.layers - 1))
        self.values = dense(hidden, config.n_scores)

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
