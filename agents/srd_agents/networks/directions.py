"""What a policy makes of the vectors themselves: rows of candidates, a state, and a pointer from one to the other.

A candidate's row is a two-layer network of its vector, the query and columns of the caller's. The state is the query,
mean and maximum of the candidates' rows, and of the rows ranked so far their sum, their sum discounted by rank (so that
order counts), their maximum and their number. From the state comes a vector; a candidate's score is its product with
the candidate's row (a pointer, Vinyals et al., NeurIPS 2015).

Rows are computed once a topic; nothing here depends on the order of candidates. `srd_agents.reinforce.rollout` has the
same in numpy.

Shapes: U topics, N candidates, F vector width, D columns, H hidden width, K ranks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from srd_agents.networks.attention import dense
from srd_agents.networks.inputs import Inputs, Standardizer

SUM_SCALE = 10**-0.5
"""Sums over ten ranks are then of the size of one row."""
COUNT_SCALE = 0.1


class Known(NamedTuple):
    """What does not change while a topic is ranked."""

    rows: Tensor
    """[U, N, H], never negative."""
    context: Tensor
    """[U, 3H]: the query's row, and mean and maximum of the candidates' rows."""
    prior: Tensor
    """[U, N], what a candidate scores whatever is ranked."""


class Directions(nn.Module):
    """Rows, state and pointer.

    Args:
        width: F.
        hidden: H.
        columns: D, what is known of a candidate beside its vector.
        extra: numbers that `pointers` gives besides, such as weights of columns that change from rank to rank.
    """

    def __init__(self, width: int, hidden: int, columns: int, *, extra: int = 0) -> None:
        super().__init__()
        self.hidden = hidden
        self.inputs = Standardizer(width)
        self.from_document = dense(width, hidden)
        self.from_query = dense(width, hidden, bias=False)
        self.from_columns = dense(columns, hidden, bias=False)
        self.row = dense(hidden, hidden)
        self.query = dense(width, hidden)
        self.state = dense(6 * hidden + 1, hidden)
        self.pointer = dense(hidden, hidden + extra)
        self.prior = dense(hidden + columns, 1, bias=False)

    def known(self, topics: Inputs) -> Known:
        """Everything that depends on the topic alone.

        Args:
            topics: U topics, with the D columns as features; a query of zeros is none.
        """
        if topics.features is None:
            raise ValueError("this network reads columns beside the vectors: give them as features")
        queries, documents = self.inputs(topics.queries, topics.documents)
        rows = functional.relu(
            self.from_document(documents) + self.from_query(queries)[:, None] + self.from_columns(topics.features)
        )
        rows, query = functional.relu(self.row(rows)), functional.relu(self.query(queries))
        prior = self.prior(torch.cat([rows, topics.features], dim=2)).squeeze(2)
        if topics.present is None:
            return Known(rows, torch.cat([query, rows.mean(1), rows.amax(1)], dim=1), prior)
        real = rows * topics.present[..., None]
        mean = real.sum(1) / topics.present.sum(1, keepdim=True)
        return Known(rows, torch.cat([query, mean, real.amax(1)], dim=1), prior)

    def summaries(self, context: Tensor, ranked: Tensor) -> Tensor:
        """States as the network sees them: [..., H].

        Args:
            context: [U, 3H], of `Known`.
            ranked: [U, ..., 3H + 1], of `ranked_so_far`.
        """
        split = context.shape[1]
        topic = functional.linear(context, self.state.weight[:, :split], self.state.bias)
        topic = topic.view(len(topic), *[1] * (ranked.dim() - 2), -1)
        return functional.relu(topic + functional.linear(ranked, self.state.weight[:, split:]))

    def pointers(self, summaries: Tensor) -> tuple[Tensor, Tensor]:
        """From states [..., H]: what rows are multiplied with [..., H], and the extra numbers [..., E]."""
        pointer = self.pointer(summaries)
        return pointer[..., : self.hidden] / math.sqrt(self.hidden), pointer[..., self.hidden :]


def ranked_so_far(rows: Tensor, taken: Tensor | None = None) -> Tensor:
    """What states keep of the rows ranked, before the first rank and after each.

    Args:
        rows: [..., K, H] of the documents ranked, by rank.
        taken: [..., K] bool, false where the rank was wasted or is empty; None: all are ranked.

    Returns:
        [..., K + 1, 3H + 1]: sum, discounted sum, maximum, number.
    """
    every = torch.ones_like(rows[..., :1]) if taken is None else taken[..., None].to(rows.dtype)
    # A row of zeros stands for what is ranked before the first rank.
    rows, every = (functional.pad(part, (0, 0, 1, 0)) for part in (rows * every, every))
    discount = 1 / torch.log2(torch.arange(1, rows.shape[-2] + 1, dtype=rows.dtype, device=rows.device).clamp(min=2))
    added = torch.cat([rows * SUM_SCALE, rows * (discount[:, None] * SUM_SCALE)], dim=-1).cumsum(-2)
    largest = torch.cummax(rows, dim=-2).values  # rows are never negative: the zeros of empty ranks do not count
    return torch.cat([added, largest, every.cumsum(-2) * COUNT_SCALE], dim=-1)
