"""Episodes that stay on a device: one pass of tensors acts, is paid and keeps what learning takes.

Nothing waits for the device, so that a GPU works while the next calls are on their way to it.

Shapes: B topics, R episodes of each, T ranks, N candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from srd_agents.networks.inputs import MASKED_LOGIT, chosen_log_policy
from srd_agents.reinforce.loss import entropy
from srd_agents.relational.decoding import Draft
from srd_agents.simulators import SelectionSimulator


class OnePass(NamedTuple):
    """R episodes of each of B topics, each [B, R, T]."""

    actions: Tensor
    log_pi: Tensor
    """Log-probabilities of the documents ranked; with gradients, where they are enabled."""
    entropy: Tensor
    """Entropies of the policy, in nats; likewise."""
    rewards: Tensor
    """float32; 0 after an episode's end."""
    active: Tensor
    """Whether the rank was filled."""
    offered: Tensor
    """Number of candidates that were not masked."""


Choice = Callable[[Tensor, int], Tensor]
"""[B, R] int64, the candidates of a rank, given the policy's log-probabilities [B, R, N] and the rank."""


def one_pass(
    draft: Draft,
    simulator: SelectionSimulator,
    topic: Tensor,
    choose: Choice,
    users: Tensor | None,
    *,
    rollouts: int,
    width: int,
) -> OnePass:
    """Act until all episodes end.

    Args:
        draft: empty rankings of these topics, R of each.
        simulator: the task.
        topic: [B] int64.
        choose: how.
        users: [B, R] int64, where users pay.
        rollouts: R.
        width: N.
    """
    count, ranks = len(topic), min(simulator.horizon, width)
    state = simulator.reset(topic.repeat_interleave(rollouts), None if users is None else users.flatten(), width=width)
    kept: list[tuple[Tensor, ...]] = []
    for rank in range(ranks):
        allowed = state.allowed.view(count, rollouts, -1)
        log_pi = draft.scores().masked_fill(~allowed, MASKED_LOGIT).log_softmax(-1)
        chosen = choose(log_pi.detach(), rank)
        active = ~simulator.done(state)
        state, result = simulator.step(state, chosen.flatten())
        kept.append((
            chosen, chosen_log_policy(log_pi, chosen), entropy(log_pi), result.reward.float().view(count, rollouts),
            active.view(count, rollouts), allowed.sum(-1),
        ))  # fmt: skip
        if rank + 1 < ranks:
            draft.add(chosen)
    return OnePass(*(torch.stack(parts, -1) for parts in zip(*kept, strict=True)))


def by_levels(levels: Tensor) -> Choice:
    """Draw from the policy by uniform numbers, [T, B, R] float64."""
    return lambda log_pi, rank: drawn(log_pi, levels[rank])


def drawn(log_pi: Tensor, levels: Tensor) -> Tensor:
    """A candidate of each row, as `srd_agents.reinforce.rollout.drawn` takes it: [...] int64 of [..., N] by [...].

    Rows without numbers (NaN, of a policy that diverged) give the first.
    """
    odds = log_pi.exp().cumsum(-1)
    return (odds <= levels[..., None] * odds[..., -1:]).sum(-1).clamp(max=log_pi.shape[-1] - 1)
