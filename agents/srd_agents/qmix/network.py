"""The agents' network: one action value for each integer score, from query, document and attention over all documents.

Chen et al., "MA4DIV: Multi-Agent Reinforcement Learning for Search Result Diversification", WWW 2025, section 4.2:
agent i sees the query q, its document d_i and e_i, its row of a self-attention over all documents; an MLP that all
agents share turns them into A action values.

Behind it the mixers, from the agents' values to the value of what they do together. QMIX (Rashid et al., ICML 2018),
as MA4DIV uses it (section 4.3): hypernetworks of the global state {q, D} make the weights of a small network on the
agents' values. The weights on those values are absolute values, so Q_tot never falls where one of them rises, and the
best joint action is every agent's own best action.

Shapes: B or U topics, N candidates, F vector width, A scores, W attention width, M mixing width, H hidden width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from srd_agents.networks.attention import SelfAttention, dense
from srd_agents.networks.inputs import Inputs
from srd_agents.qmix.config import ScoringConfig
from srd_agents.qmix.loss import MixingWeights

_FIRST_SPREAD = 0.1
"""Initial spread of the topics' mixing weights, as a share of that of random layers."""


class ScoreNetwork(nn.Module):
    """The action values of all agents of a topic; permuting the documents permutes the agents and nothing else.

    Args:
        width: F.
        config: A, and the sizes of attention and MLP.
    """

    def __init__(self, width: int, config: ScoringConfig) -> None:
        super().__init__()
        hidden = config.hidden_size
        # `from_attention` mixes the heads.
        self.attention = SelfAttention(width, config.attention_width, config.heads, project=False)
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


class PooledMixer(nn.Module):
    """Hypernetworks on a state that does not depend on the order of the documents, for any number of them.

    B1, W2 and B2 come from the query and the mean of the real documents. W1 has one row for each document, from query,
    mean document and the document itself. Rows are divided by the number of documents, so that Q_tot is of one size
    whatever their number.

    Differs from the paper: the state is pooled instead of flattened.

    Args:
        width: F.
        mixing_width: M.
        hidden: H.
    """

    def __init__(self, width: int, mixing_width: int, hidden: int = 64) -> None:
        super().__init__()
        self.pooled = dense(2 * width, hidden)
        self.topic_part = dense(2 * width, hidden)
        self.document_part = dense(width, hidden, bias=False)
        self.first = dense(hidden, mixing_width)
        self.bias = dense(hidden, mixing_width)
        self.second = dense(hidden, mixing_width)
        self.last = dense(hidden, 1)

    def forward(self, inputs: Inputs) -> MixingWeights:
        """The mixing weights of each topic: V = U visits in the order of the topics."""
        state = torch.cat([inputs.queries, mean_document(inputs)], dim=1)
        pooled = torch.relu(self.pooled(state))
        rows = self.topic_part(state)[:, None] + self.document_part(inputs.documents)
        first = self.first(torch.relu(rows)).abs()
        if inputs.present is None:
            first = first / first.shape[1]
        else:
            first = first * (inputs.present / inputs.present.sum(dim=1, keepdim=True))[:, :, None]
        return MixingWeights(first, self.bias(pooled), self.second(pooled).abs(), self.last(pooled)[:, 0])

    @torch.no_grad()
    def start_at(self, value: float | Tensor) -> None:
        """Begin close to this value plus the mean of the agents' values, as VDN, and learn what differs.

        From a random start the mixer hides for a long time what each action is worth.
        """
        for layer in (self.first, self.bias, self.second, self.last):
            layer.weight.mul_(_FIRST_SPREAD)
        # ELU is the identity where its argument is positive: with B1 = 1 the hidden units are 1 + the mean value, and
        # W2 = 1 / M takes their mean.
        self.first.bias.fill_(1.0)
        self.bias.bias.fill_(1.0)
        self.second.bias.fill_(1.0 / self.second.out_features)
        self.last.bias.fill_(value - 1.0)


class FlatMixer(nn.Module):
    """Hypernetworks on the flattened state [q, d_1 ... d_N], as published: the order of the documents matters.

    The sizes and depths follow PyMARL, on which the published code builds: one linear layer for W1, B1 and W2, a hidden
    layer for B2.

    Args:
        width: F.
        documents: N; topics must have exactly this many candidates.
        mixing_width: M.
    """

    def __init__(self, width: int, documents: int, mixing_width: int) -> None:
        super().__init__()
        self.documents, self.mixing_width = documents, mixing_width
        state = (documents + 1) * width
        self.first = dense(state, documents * mixing_width)
        self.bias = dense(state, mixing_width)
        self.second = dense(state, mixing_width)
        self.last_hidden = dense(state, mixing_width)
        self.last = dense(mixing_width, 1)

    def forward(self, inputs: Inputs) -> MixingWeights:
        """The mixing weights of each topic: V = U visits in the order of the topics.

        Raises:
            ValueError: another number of documents.
        """
        count = inputs.documents.shape[1]
        if count != self.documents or inputs.present is not None:
            raise ValueError(
                f"the flattened state takes exactly {self.documents} documents per topic, got up to {count}; "
                "state='documents' takes any number"
            )
        state = torch.cat([inputs.queries, inputs.documents.flatten(1)], dim=1)
        first = self.first(state).abs().view(-1, count, self.mixing_width)
        last = self.last(torch.relu(self.last_hidden(state)))[:, 0]
        return MixingWeights(first, self.bias(state), self.second(state).abs(), last)

    @torch.no_grad()
    def start_at(self, value: float | Tensor) -> None:
        """Begin with Q_tot around this value."""
        self.last.bias.fill_(value)


def mean_document(inputs: Inputs) -> Tensor:
    """The mean of each topic's real documents, [U, F]."""
    if inputs.present is None:
        return inputs.documents.mean(dim=1)
    real = inputs.present[:, :, None]
    return (inputs.documents * real).sum(dim=1) / real.sum(dim=1)
