"""The pure functions of REINFORCE: returns, baseline, advantages, entropy, loss.

Shapes: B topics with R episodes each, E = B * R episodes (those of a topic side by side), T ranks, N candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor


def returns_from(rewards: Tensor) -> Tensor:
    """G_t, the sum of the rewards from each rank on, undiscounted: [E, T].

    Args:
        rewards: [E, T]; 0 after an episode's end.
    """
    return rewards.flip(1).cumsum(1).flip(1)


def leave_one_out_advantages(returns: Tensor, rollouts: int) -> Tensor:
    """Each rollout's return less the mean return of the topic's other rollouts at the same rank.

    The others are drawn independently of this rollout's actions, so the gradient stays unbiased (Kool et al. 2019,
    "Buy 4 REINFORCE samples, get a baseline for free!").

    Args:
        returns: [E, T], the R rollouts of a topic side by side.
        rollouts: R, at least 2.

    Returns:
        [E, T].
    """
    grouped = returns.view(-1, rollouts, returns.shape[1])
    others = (grouped.sum(1, keepdim=True) - grouped) / (rollouts - 1)
    return (grouped - others).view_as(returns)


def entropy(log_probabilities: Tensor) -> Tensor:
    """-sum_i pi_i log pi_i, in nats; 0 where one candidate is left.

    Args:
        log_probabilities: [..., N].

    Returns:
        [...].
    """
    return -(log_probabilities.exp() * log_probabilities).sum(-1)


class Paid(Protocol):
    """Earnings of R episodes of each of B topics."""

    @property
    def rewards(self) -> Tensor:
        """[B, R, T]; 0 after an episode's end."""

    @property
    def active(self) -> Tensor:
        """[B, R, T] bool, whether the rank was filled."""


def worths_of(parts: Sequence[Paid], rollouts: int, filled: int | Tensor) -> list[Tensor]:
    """Weight of each action's log-probability, [B, R, T] of each part of a batch.

    Of one episode a topic the return, as in the paper. Of several their leave-one-out advantages, divided by their root
    mean square over all parts, so that step sizes do not depend on the reward's unit, and by the number of ranks.

    Args:
        parts: of the batch, each of R = `rollouts` episodes a topic.
        rollouts: R.
        filled: ranks that were filled in all parts.
    """
    worths = [returns_from(part.rewards.flatten(0, 1)) for part in parts]
    if rollouts > 1:
        worths = [leave_one_out_advantages(each, rollouts) for each in worths]
    weights = [each.view(part.active.shape) * part.active for each, part in zip(worths, parts, strict=True)]
    if rollouts > 1:
        square = torch.stack([each.square().sum() for each in weights]).double().sum()
        scale = torch.where(square > 0, (filled / square).sqrt(), 1.0) / filled
        weights = [each * scale.to(each.dtype) for each in weights]
    return weights


def policy_loss(
    log_pi: Tensor, entropies: Tensor, active: Tensor, worths: Tensor, bonus: float | Tensor
) -> tuple[Tensor, Tensor]:
    """The sum over filled ranks of -(worth * log pi(a_t | s_t) + bonus * entropy), and that of the entropies.

    Args:
        log_pi: [B, R, T], of what was done.
        entropies: [B, R, T].
        active: [B, R, T] bool, whether the rank was filled.
        worths: [B, R, T], without gradient; 0 where a rank was not filled.
        bonus: weight of the entropy.
    """
    place = log_pi.device
    spread = (entropies * active.to(place)).sum()
    return -(log_pi * worths.to(place)).sum() - bonus * spread, spread.detach()
