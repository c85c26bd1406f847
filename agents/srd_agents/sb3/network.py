"""The network behind our SB3 policies: it scores candidates one like the other, given what is ranked already.

Shapes: B states, U topics, N candidates, F vector width, K ranks of the ranking given, H hidden width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from srd_agents.config import check_count
from srd_agents.features import ORDER_FEATURES
from srd_agents.networks.attention import dense, initialise
from srd_agents.networks.inputs import Inputs, Standardizer

_RELATIONS = 3  # of a candidate: to the query, to the nearest ranked document, to the ranked documents' mean
_SUM_SCALE = 10**-0.5  # sums over ten ranks are then of the size of one row


class Judged(NamedTuple):
    """What the network says of B states."""

    scores: Tensor
    """[B, N], unmasked; padding has finite scores that mean nothing."""
    value: Tensor
    """[B, 1], the expected return from here on, for learners that want it."""
    summary: Tensor
    """[B, H], the state as the network sees it."""


class CandidateNetwork(nn.Module):
    """Scores candidates with shared weights: permuting them permutes the scores, and any number of them will do.

    A candidate's row is a two-layer network of its vector, the query and its place in the retrieval order. The state
    is the query, the rows of the ranked documents (their sum, their sum discounted by rank, so that order counts, and
    their maximum), and mean and maximum of the rows on offer. From the state comes a vector; a candidate's score is its
    product with the candidate's row (a pointer, Vinyals et al., NeurIPS 2015), plus its cosines with the query and the
    ranked documents, whose weights come from the state as well, so that MMR is among what can be learned. The value is
    another network of the state.

    Args:
        width: F.
        hidden: H.
    """

    def __init__(self, width: int, hidden: int = 64) -> None:
        super().__init__()
        check_count("width", width)
        check_count("hidden", hidden)
        self.width, self.hidden = width, hidden
        self.inputs = Standardizer(width)
        self.from_document = dense(width, hidden)
        self.from_query = dense(width, hidden, bias=False)
        self.from_order = dense(len(ORDER_FEATURES), hidden, bias=False)
        self.row = dense(hidden, hidden)
        self.query = dense(width, hidden)
        self.state = dense(6 * hidden + 1, hidden)
        self.pointer = dense(hidden, hidden + _RELATIONS)
        self.prior = dense(hidden + len(ORDER_FEATURES), 1, bias=False)
        self.critic = nn.Sequential(dense(6 * hidden + 1, hidden), nn.ReLU(), dense(hidden, 1))

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the first weights, each layer uniform in [-1, 1] / sqrt(its inputs)."""
        initialise(self, generator)

    def forward(self, topics: Inputs, ranking: Tensor, allowed: Tensor, which: Tensor | None = None) -> Judged:
        """Judge B states.

        Args:
            topics: U topics, their features those of `srd_agents.features.order_columns`; without `which`, the one of
                each state.
            ranking: [B, K] int64, candidates ranked so far by rank; -1 where empty or wasted.
            allowed: [B, N] bool, candidates on offer.
            which: [B] int64, the topic of each state, where several states share one.
        """
        if topics.features is None:
            raise ValueError(
                "this network reads the retrieval order: give srd_agents.features.order_columns as features"
            )
        queries, documents = self.inputs(topics.queries, topics.documents)
        rows = functional.relu(
            self.from_document(documents) + self.from_query(queries)[:, None] + self.from_order(topics.features)
        )
        rows, query = functional.relu(self.row(rows)), functional.relu(self.query(queries))
        prior = self.prior(torch.cat([rows, topics.features], dim=2)).squeeze(2)
        relations = _cosines(topics, ranking, which)
        if which is not None:
            # index_select: its gradient is several times faster than that of plain indexing.
            rows, query, prior = (part.index_select(0, which) for part in (rows, query, prior))
        context = self._context(rows, query, ranking, allowed)
        summary = functional.relu(self.state(context))
        pointer = self.pointer(summary)
        scores = (rows * pointer[:, None, : self.hidden]).sum(2) / math.sqrt(self.hidden) + prior
        scores = scores + (relations * pointer[:, None, self.hidden :]).sum(2)
        return Judged(scores, self.critic(context), summary)

    def _context(self, rows: Tensor, query: Tensor, ranking: Tensor, allowed: Tensor) -> Tensor:
        """[B, 6H + 1], the state as sums and maxima that do not depend on the order of candidates."""
        taken = (ranking >= 0).to(rows.dtype)[..., None]
        ranked = rows.gather(1, ranking.clamp(min=0)[..., None].expand(-1, -1, self.hidden)) * taken
        rank = torch.arange(2, ranking.shape[1] + 2, dtype=rows.dtype, device=rows.device)
        discounted = (ranked / torch.log2(rank)[:, None]).sum(1)
        offered = rows * allowed[..., None]
        count = allowed.sum(1, keepdim=True).clamp(min=1).to(rows.dtype)
        return torch.cat(
            [
                query,
                ranked.sum(1) * _SUM_SCALE,
                discounted * _SUM_SCALE,
                ranked.amax(1),  # rows are never negative: the zeros of empty ranks do not count
                offered.sum(1) / count,
                offered.amax(1),
                taken.sum(1) * 0.1,
            ],
            dim=1,
        )


def _cosines(topics: Inputs, ranking: Tensor, which: Tensor | None) -> Tensor:
    """[B, N, 3], a candidate's cosine with the query, the largest with a ranked document, and the mean with them.

    0 where there is no query, or nothing ranked. No gradient goes through it.
    """
    with torch.no_grad():
        units = functional.normalize(topics.documents, dim=2)
        query = (units * functional.normalize(topics.queries, dim=1)[:, None]).sum(2)
        if which is not None:
            units, query = units.index_select(0, which), query.index_select(0, which)
        taken = ranking >= 0
        ranked = units.gather(1, ranking.clamp(min=0)[..., None].expand(-1, -1, units.shape[2]))
        near = torch.bmm(units, ranked.transpose(1, 2))
        nearest = near.masked_fill(~taken[:, None], -math.inf).amax(2).masked_fill(~taken.any(1, keepdim=True), 0.0)
        count = taken.sum(1, keepdim=True).clamp(min=1).to(near.dtype)
        mean = (near * taken[:, None]).sum(2) / count
        return torch.stack([query, nearest, mean], dim=2)
