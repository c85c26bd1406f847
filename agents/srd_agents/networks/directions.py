"""Embedding features of a policy: rows of candidates, a state, and a pointer from one to the other.

A candidate's row is a two-layer network of its vector, the query and columns of the caller's. The state is the query,
mean and maximum of the candidates' rows, and of the rows ranked so far their sum, their sum discounted by rank (so that
order counts), their maximum and their number. From the state comes a vector; a candidate's score is its product with
the candidate's row (a pointer, Vinyals et al., NeurIPS 2015).

Rows are computed once a topic; nothing here depends on the order of candidates. Written for arrays of numpy as well.

Shapes: U topics, N candidates, F vector width, D columns, H hidden width, K ranks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from srd_agents.networks.attention import dense
from srd_agents.networks.features import relu
from srd_agents.networks.inputs import Inputs, Standardizer
from srd_agents.networks.policy import StatePolicy, gather_rows, joined, larger, largest, linear

SUM_SCALE = 10**-0.5
"""Sums over ten ranks are then of the size of one row."""
COUNT_SCALE = 0.1


class TopicRows(NamedTuple):
    """Inputs that do not change while a topic is ranked."""

    rows: Tensor
    """[U, N, H], never negative."""
    context: Tensor
    """[U, 3H]: the query's row, and mean and maximum of the candidates' rows."""
    prior: Tensor
    """[U, N], what a candidate scores whatever is ranked."""


class Directions(StatePolicy):
    """Rows, state and pointer.

    Args:
        width: F.
        hidden: H.
        columns: D, what is known of a candidate beside its vector.
        extra: numbers that `pointers` gives besides, such as weights of columns that change from rank to rank.
    """

    serves_numpy = True

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

    def topic_rows(self, topics: Inputs) -> TopicRows:
        """Everything that depends on the topic alone.

        Args:
            topics: U topics, with the D columns as features; a query of zeros is none.
        """
        if topics.features is None:
            raise ValueError("this network reads columns beside the vectors: give them as features")
        queries, documents = self.inputs.forward(topics.queries, topics.documents)
        rows = self.from_document(documents)
        rows += self.from_query(queries)[:, None]
        rows += self.from_columns(topics.features)
        rows, query = relu(self.row(relu(rows))), relu(self.query(queries))
        prior = self.prior(joined([rows, topics.features]))[..., 0]
        if topics.present is None:
            return TopicRows(rows, joined([query, rows.mean(1), largest(rows)]), prior)
        real = rows * topics.present[..., None]
        mean = real.sum(1) / topics.present.sum(1)[:, None]
        return TopicRows(rows, joined([query, mean, largest(real)]), prior)

    def summaries(self, context: Any, ranked: Any) -> Any:
        """States as the network sees them: [U, H].

        Args:
            context: [U, 3H], of `TopicRows`.
            ranked: [U, 3H + 1], of `ranked_so_far`.
        """
        topic, ranked = self._of_topic(context), linear(ranked, self.state.weight[:, 3 * self.hidden :])
        return relu(topic + ranked)

    def _of_topic(self, context: Any) -> Any:
        """The part of states that stays."""
        return linear(context, self.state.weight[:, : 3 * self.hidden], self.state.bias)

    def pointers(self, summaries: Any) -> tuple[Any, Any]:
        """From states [..., H]: what rows are multiplied with [..., H], and the extra numbers [..., E]."""
        pointer = self.pointer(summaries)
        return pointer[..., : self.hidden] / math.sqrt(self.hidden), pointer[..., self.hidden :]

    def begin(self, topics: Inputs) -> tuple[TopicRows, Any]:
        """The topics; a state is what `ranked_so_far` says: sum, discounted sum, maximum, number."""
        fixed = self.topic_rows(topics)
        shape = (len(fixed.rows), 3 * self.hidden + 1)
        nothing = np.zeros(shape, np.float32) if isinstance(fixed.rows, np.ndarray) else fixed.rows.new_zeros(shape)
        return fixed._replace(context=self._of_topic(fixed.context)[:, None], prior=fixed.prior[:, None]), nothing

    def scores(self, fixed: TopicRows, states: Any) -> Any:
        """The pointers' products with the rows, and what candidates score in every state."""
        pointers, _ = self.pointers(relu(linear(states, self.state.weight[:, 3 * self.hidden :]) + fixed.context))
        return pointers @ fixed.rows.swapaxes(1, 2) + fixed.prior

    def next_state(self, fixed: TopicRows, states: Any, chosen: Any) -> Any:
        """The rows of the documents chosen, added to all that states keep."""
        split, rows = 2 * self.hidden, gather_rows(fixed.rows, chosen)
        parts = (rows * SUM_SCALE, rows * _discount(states))
        return joined([states[..., :split] + joined(parts), larger(states[..., split:-1], rows),
                       states[..., -1:] + COUNT_SCALE])  # fmt: skip


def _discount(states: Any) -> Any:
    """By the rank after those of the states, which are all alike; no number on a device is waited for."""
    if isinstance(states, np.ndarray):
        return SUM_SCALE / math.log2(states[0, 0, -1].item() / COUNT_SCALE + 2)
    return (SUM_SCALE / (states[..., -1:].double() / COUNT_SCALE + 2).log2()).to(states.dtype)


def ranked_so_far(rows: Tensor, taken: Tensor | None = None) -> Tensor:
    """States of the rows ranked, before the first rank and after each.

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
