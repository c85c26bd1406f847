"""Values of joint actions and what they are held against, as pure functions.

Shapes: U topics, V visits (each of one of the topics), R joint actions a visit, N candidates, A scores, M mixing width.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class MixingWeights(NamedTuple):
    """Weights that hypernetworks make of the state of V visits; `first` and `second` are not negative."""

    first: Tensor
    """[V, N, M], W1: a row for each document, 0 for padding."""
    bias: Tensor
    """[V, M], B1."""
    second: Tensor
    """[V, M], W2."""
    last: Tensor
    """[V], B2."""


def mix(chosen: Tensor, weights: MixingWeights) -> Tensor:
    """Q_tot = W2 . ELU(Q W1 + B1) + B2: never falls where an agent's value rises (MA4DIV, section 4.3).

    Args:
        chosen: [V, R, N], the value of each agent's action.
        weights: of the same V visits.

    Returns:
        [V, R].
    """
    if chosen.shape[1] == 1:  # a batched product of single rows is several times slower than this sum
        hidden = (chosen.transpose(1, 2) * weights.first).sum(dim=1, keepdim=True)
    else:
        hidden = torch.bmm(chosen, weights.first)
    active = functional.elu(hidden + weights.bias[:, None])
    return (active * weights.second[:, None]).sum(dim=2) + weights.last[:, None]


def mean_value(chosen: Tensor, present: Tensor | None) -> Tensor:
    """VDN (Sunehag et al., 2018): Q_tot is the mean of the real agents' values.

    Differs from the paper: the mean, not the sum, so that Q_tot is of one size whatever the number of documents.

    Args:
        chosen: [V, R, N].
        present: [V, N] bool; None: all are real.

    Returns:
        [V, R].
    """
    if present is None:
        return chosen.mean(dim=2)
    return (chosen * present[:, None]).sum(dim=2) / present.sum(dim=1, keepdim=True)


def chosen_values(values: Tensor, actions: Tensor, visits: Tensor) -> Tensor:
    """The value of the action that each agent took.

    Args:
        values: [U, N, A].
        actions: [V, R, N] int64.
        visits: [V] int64, which of the U topics each visit is of.

    Returns:
        [V, R, N].
    """
    count, scores = values.shape[1], values.shape[2]
    documents = torch.arange(count, device=values.device) * scores
    place = (visits * (count * scores))[:, None, None] + documents + actions
    return values.reshape(-1)[place]


def independent_loss(chosen: Tensor, rewards: Tensor, present: Tensor | None) -> Tensor:
    """Independent Q-learning: each real agent's value is held against the shared reward on its own.

    Args:
        chosen: [V, R, N].
        rewards: [V, R].
        present: [V, N] bool; None: all are real.

    Returns:
        [], the mean over real agents, joint actions and visits.
    """
    squares = (chosen - rewards[:, :, None]).square()
    if present is None:
        return squares.mean()
    real = present[:, None].expand(squares.shape)
    return (squares * real).sum() / real.sum()


def epsilon_at(episode: int, start: float, end: float, episodes: int) -> float:
    """Share of exploring actions: linear from `start` to `end` over this many episodes, then `end`."""
    return start + (end - start) * min(1.0, episode / episodes)
