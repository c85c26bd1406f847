"""Episodes of the policy in the batched simulator, and the gradient that they teach, written out.

What acting computes is kept, so that learning needs no second pass: the gradient with regard to the logits is known in
closed form, and from there it is carried back rank by rank. The reward comes from the simulator alone.

Shapes: M topics, R rollouts of each, B = M * R episodes (a topic's rollouts side by side), T ranks, N candidates,
H hidden width.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from srd_agents.mdp_div.network import PolicyNetwork, Projection
from srd_agents.networks.inputs import MASKED_LOGIT, Inputs
from srd_gym.core import SelectionCore
from srd_gym.protocols import IntArray


class Episodes(NamedTuple):
    """What B episodes saw, did and earned; what the policy computed comes rank by rank."""

    actions: Tensor
    """[B, T] int64, the candidates ranked; any index after an episode's end."""
    rewards: Tensor
    """[B, T], in the network's dtype; 0 after an episode's end."""
    active: Tensor
    """[B, T] bool, whether the rank was filled: false after an episode's end."""
    states: Tensor
    """[M, T, R, H + 1], h_0 ... h_{T-1}, and a 1."""
    logits: Tensor
    """[M, T, R, N], less the largest of those on offer; about `MASKED_LOGIT` where not on offer."""
    odds: Tensor
    """[M, T, R, N], their exponentials."""
    totals: Tensor
    """[M, T, R, 1], the sums of these."""
    evaluations: int
    """How many candidates the policy had to choose among, over all ranks and episodes."""


@torch.no_grad()
def roll_out(
    network: PolicyNetwork,
    known: Projection,
    core: SelectionCore,
    topics: IntArray,
    rollouts: int,
    generator: torch.Generator,
) -> Episodes:
    """Act in the simulator until all episodes end, each action drawn from the policy.

    Args:
        network: the policy.
        known: the projection of these topics' candidates.
        core: the simulator; it is reset.
        topics: [M] int64, topics of the simulator's topic set.
        rollouts: R, episodes of each topic.
        generator: on the network's device.

    Returns:
        The episodes, on the network's device.
    """
    core.reset(np.repeat(topics, rollouts))
    scoring, inputs = known.scoring, known.inputs.flatten(0, 1)
    (n_topics, width, n), ranks, place = scoring.shape, int(core.length.max()), scoring.device
    count, shape = n_topics * rollouts, (n_topics, ranks, rollouts)
    rewards, offered = np.zeros((count, ranks)), np.zeros(ranks, np.int64)

    logits, odds, states = scoring.new_empty(*shape, n), scoring.new_empty(*shape, n), scoring.new_ones(*shape, width)
    states[:, 0, :, :-1] = known.initial[:, None]
    found, cumulated = scoring.new_empty(n_topics, rollouts, n), scoring.new_empty(n_topics, rollouts, n)
    actions = torch.empty(ranks, n_topics, rollouts, 1, dtype=torch.int64, device=place)
    # One uniform number a row is looked up in the cumulative odds; a number for each candidate (Gumbel-max) would take
    # longer than all else.
    levels = torch.rand(actions.shape, dtype=scoring.dtype, device=place, generator=generator)

    def fill(rank: int) -> None:
        offered[rank] = np.count_nonzero(core.allowed)
        rewards[:, rank] = core.step(actions[rank].flatten().cpu().numpy()).reward

    first_row, masked = torch.arange(n_topics, device=place)[:, None, None] * n, _masked(core, n, found)
    kept = zip(states.unbind(1), logits.unbind(1), odds.unbind(1), levels, actions, strict=True)
    for rank, (state, here, odd, level, drawn) in enumerate(kept):
        torch.baddbmm(masked, state, scoring, out=found)
        torch.sub(found, found.amax(2, keepdim=True), out=here)
        torch.cumsum(torch.exp(here, out=odd), 2, out=cumulated)
        # Below the last sum even after rounding, so that a candidate of probability 0 is never found. NaN (a diverged
        # policy) would be found behind the last; the training loop then says so in its own words.
        torch.searchsorted(cumulated, cumulated[:, :, -1:] * level, right=True, out=drawn).clamp_(max=n - 1)
        # What is on offer is known without the simulator unless it prunes: it follows then, faster in one go.
        if core.pruning is None:
            masked.scatter_(2, drawn, MASKED_LOGIT)
        else:
            fill(rank)
            masked = _masked(core, n, found)
        if rank + 1 < ranks:
            ranked = inputs.index_select(0, (first_row + drawn).flatten())
            following = network.next_state(state.reshape(count, width)[:, :-1], ranked)
            states[:, rank + 1, :, :-1] = following.view(n_topics, rollouts, -1)
    if core.pruning is None:
        for rank in range(ranks):
            fill(rank)
    return Episodes(
        actions=actions.view(ranks, count).T,
        rewards=torch.from_numpy(rewards).to(place, scoring.dtype),
        active=torch.from_numpy(np.arange(ranks) < core.length[:, None]).to(place),
        states=states,
        logits=logits,
        odds=odds,
        totals=odds.sum(3, keepdim=True),
        evaluations=int(offered.sum()),
    )


@torch.no_grad()
def gradients(
    network: PolicyNetwork, topics: Inputs, known: Projection, episodes: Episodes, weights: Tensor, bonus: Tensor
) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """The gradient of -sum (weights * log pi of the documents ranked + bonus * entropy), at the weights that acted.

    Args:
        network: the policy that acted.
        topics: the episodes' M topics.
        known: their projection.
        episodes: as rolled out.
        weights: [B, T]; 0 where a rank was not filled.
        bonus: [B, T], likewise.

    Returns:
        - the gradient of each of the network's parameters, by name, contiguous: fused Adam reads no strides
        - [B, T], log pi of the documents ranked
        - [B, T], the policy's entropies, in nats
    """
    logits, odds, totals = episodes.logits, episodes.odds, episodes.totals
    n_topics, ranks, rollouts, n = logits.shape

    def by_rank(part: Tensor) -> Tensor:
        return part.reshape(n_topics, rollouts, ranks, 1).transpose(1, 2)

    def by_episode(part: Tensor) -> Tensor:
        return part.transpose(1, 2).reshape(n_topics * rollouts, ranks)

    actions, weight, worth = by_rank(episodes.actions), by_rank(weights), by_rank(bonus)
    into_logits = odds * logits
    mean = into_logits.sum(3, keepdim=True) / totals
    # d log pi(a) / d logit_i = [i = a] - pi_i, and d entropy / d logit_i = -pi_i (logit_i - mean of the logits).
    into_logits.mul_(worth / totals).addcmul_(odds, (weight - worth * mean) / totals)
    into_logits.scatter_add_(3, actions, -weight)
    into_logits = into_logits.view(n_topics, ranks * rollouts, n)
    into_scoring = torch.bmm(episodes.states.flatten(1, 2).transpose(1, 2), into_logits)
    into_states = torch.bmm(into_logits, known.scoring.transpose(1, 2)).view_as(episodes.states)

    # Back in time, [T, B, H]: through each state to the sum that the logistic function is taken of.
    reached, into_sums = (part[..., :-1].transpose(0, 1).flatten(1, 2) for part in (episodes.states, into_states))
    slopes = reached * (1 - reached)
    into_sums[-1] *= slopes[-1]
    for rank in range(ranks - 2, -1, -1):
        into_sums[rank].addmm_(into_sums[rank + 1], network.state_weight).mul_(slopes[rank])
    later, first_row = into_sums[1:].flatten(0, 1), torch.arange(n_topics, device=actions.device) * n
    ranked = (actions[:, :-1] + first_row[:, None, None, None]).transpose(0, 1).flatten()
    into_initial = into_sums[0].view(n_topics, rollouts, -1).sum(1)
    found = network.carried_back(topics, into_scoring, into_initial, ranked, later)
    found["state_weight"] = later.T @ reached[:-1].flatten(0, 1)
    return found, by_episode(logits.gather(3, actions) - totals.log()), by_episode(totals.log() - mean)


def _masked(core: SelectionCore, n: int, like: Tensor) -> Tensor:
    """What is added to logits of this shape [M, R, N]: `MASKED_LOGIT` where a candidate is not on offer, else 0."""
    off = torch.from_numpy(~core.allowed[:, :n]).to(like.device).view_as(like)
    return torch.zeros_like(like).masked_fill_(off, MASKED_LOGIT)
