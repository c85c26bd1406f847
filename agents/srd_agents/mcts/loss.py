"""Losses of M2Div's network: value from finished lists, policy from the search. Pure functions.

The loss of an episode is the sum of both over its ranks (Feng et al. 2018, equation 5).

Shapes: B episodes, T ranks, N candidates.
"""

from __future__ import annotations

from torch import Tensor


def value_loss(values: Tensor, outcome: Tensor) -> Tensor:
    """(z - V)^2 of each rank: [B, T].

    Args:
        values: [B, T], V at each rank.
        outcome: [B], z, the measure of the finished list, the same for every rank.
    """
    return (outcome[:, None] - values) ** 2


def policy_loss(log_pi: Tensor, target: Tensor) -> Tensor:
    """- sum_i pi_i log p_i of each rank: [B, T].

    Args:
        log_pi: [B, T, N] log p of the network.
        target: [B, T, N] pi of the search; 0 where a candidate is masked.
    """
    return -(target * log_pi).sum(-1)
