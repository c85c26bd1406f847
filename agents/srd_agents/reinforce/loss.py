"""The pure functions of REINFORCE: returns, baseline, advantages, entropy, loss.

Shapes: B episodes, M topics with R rollouts each (B = M * R, the rollouts of a topic side by side), T ranks,
N candidates.
"""

from __future__ import annotations

import torch
from torch import Tensor


def returns_from(rewards: Tensor) -> Tensor:
    """G_t, the sum of the rewards from each rank on, undiscounted: [B, T].

    Args:
        rewards: [B, T]; 0 after an episode's end.
    """
    return rewards.flip(1).cumsum(1).flip(1)


def leave_one_out_advantages(returns: Tensor, rollouts: int) -> Tensor:
    """Each rollout's return less the mean return of the topic's other rollouts at the same rank.

    The others are drawn independently of this rollout's actions, so the gradient stays unbiased (Kool et al. 2019,
    "Buy 4 REINFORCE samples, get a baseline for free!").

    Args:
        returns: [B, T], the R rollouts of a topic side by side.
        rollouts: R, at least 2.

    Returns:
        [B, T].
    """
    grouped = returns.view(-1, rollouts, returns.shape[1])
    others = (grouped.sum(1, keepdim=True) - grouped) / (rollouts - 1)
    return (grouped - others).view_as(returns)


def scaled(advantages: Tensor, active: Tensor) -> Tensor:
    """Advantages divided by their root mean square, so that step sizes do not depend on the reward's unit.

    Args:
        advantages: [B, T].
        active: [B, T] bool, the ranks that were really filled; others do not count.

    Returns:
        [B, T]; unchanged where all of them are 0.
    """
    square = (advantages.square() * active).sum() / active.sum().clamp(min=1)
    return torch.where(square > 0, advantages * torch.rsqrt(square.clamp(min=1e-30)), advantages)


def entropy(log_probabilities: Tensor) -> Tensor:
    """-sum_i pi_i log pi_i, in nats; 0 where one candidate is left.

    Args:
        log_probabilities: [..., N].

    Returns:
        [...].
    """
    return -(log_probabilities.exp() * log_probabilities).sum(-1)


def reinforce_loss(chosen: Tensor, weights: Tensor, active: Tensor) -> Tensor:
    """-sum over ranks of weight * log pi(a_t | s_t), per episode; its gradient is the paper's update, negated.

    Args:
        chosen: [B, T], log pi(a_t | s_t).
        weights: [B, T], without gradient: G_t, or advantages.
        active: [B, T] bool, the ranks that were really filled.

    Returns:
        [B].
    """
    return -(chosen * weights * active).sum(1)
