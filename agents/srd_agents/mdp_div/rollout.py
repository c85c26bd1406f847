"""Episodes of the policy in the batched simulator, and the policy's log-probabilities on them.

Acting and learning are two passes: episodes are rolled out without gradients, then one teacher-forced pass over all
their ranks at once gives the log-probabilities with gradients. The reward comes from the simulator alone.

Shapes: M topics, R rollouts of each, B = M * R episodes (a topic's rollouts side by side), T ranks, N candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.mdp_div.network import PolicyNetwork, Projection, on_offer_side_by_side
from srd_agents.networks.inputs import log_policy
from srd_gym.core import SelectionCore
from srd_gym.protocols import IntArray


class Episodes(NamedTuple):
    """What B episodes saw, did and earned."""

    actions: Tensor
    """[B, T] int64, the candidates ranked; any index after an episode's end."""
    allowed: Tensor
    """[B, T, N] bool, the candidates on offer at each rank."""
    rewards: Tensor
    """[B, T], in the network's dtype; 0 after an episode's end."""
    active: Tensor
    """[B, T] bool, whether the rank was filled: false after an episode's end."""
    gathered: bool = False
    """Whether the policy looks at the candidates on offer alone, gathered, instead of at all of a topic at once."""

    def evaluations(self) -> int:
        """How many candidates the policy had to choose among, over all ranks and episodes."""
        return int((self.allowed.sum(-1) * self.active).sum())


@torch.no_grad()
def roll_out(
    network: PolicyNetwork,
    projection: Projection,
    core: SelectionCore,
    topics: IntArray,
    rollouts: int,
    generator: torch.Generator,
) -> Episodes:
    """Act in the simulator until all episodes end, each action drawn from the policy.

    Args:
        network: the policy.
        projection: of these topics' candidates; its graph is left alone.
        core: the simulator; it is reset.
        topics: [M] int64, topics of the simulator's topic set.
        rollouts: R, episodes of each topic.
        generator: on the network's device.

    Returns:
        The episodes, on the network's device.
    """
    core.reset(np.repeat(topics, rollouts))
    known = projection.detach()
    n_topics, n = known.scoring.shape[:2]
    place = known.scoring.device
    gathered = core.pruning is not None
    count, ranks = n_topics * rollouts, int(core.length.max())
    actions = np.zeros((count, ranks), np.int64)
    allowed = np.zeros((count, ranks, n), np.bool_)
    rewards = np.zeros((count, ranks))
    active = np.zeros((count, ranks), np.bool_)

    flat_inputs = known.inputs.reshape(n_topics * n, -1)
    first_row = torch.arange(n_topics, device=place).repeat_interleave(rollouts) * n
    state = known.initial.repeat_interleave(rollouts, dim=0)
    for rank in range(ranks):
        active[:, rank] = ~core.done
        allowed[:, rank] = core.allowed[:, :n]
        if gathered:
            offered, real = on_offer_side_by_side(allowed[:, rank], place)
            logits = network.offered_logits(known, first_row[:, None] + offered, state)
            drawn = offered.gather(1, _draw(logits, real, generator)[:, None]).squeeze(1)
        else:
            logits = network.logits(known, state.view(n_topics, rollouts, -1)).view(count, n)
            drawn = _draw(logits, torch.from_numpy(allowed[:, rank]).to(place), generator)
        actions[:, rank] = drawn.cpu().numpy()
        if count == 1:
            rewards[0, rank] = core.step_episode(0, int(actions[0, rank]))[0]
        else:
            rewards[:, rank] = core.step(actions[:, rank]).reward
        state = network.next_state(state, flat_inputs[first_row + drawn])

    def moved(array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(place)

    paid = moved(rewards).to(known.scoring.dtype)
    return Episodes(moved(actions), moved(allowed), paid, moved(active), gathered)


def episode_log_policy(network: PolicyNetwork, projection: Projection, episodes: Episodes) -> Tensor:
    """Log pi of every candidate at every rank of known episodes, with gradients to all weights.

    Args:
        network: the policy.
        projection: of the episodes' topics, with its graph.
        episodes: as rolled out; their topics side by side as in the projection.

    Returns:
        [B, T, N]; about `MASKED_LOGIT` where a candidate was not on offer.
    """
    n_topics, n = projection.scoring.shape[:2]
    count, ranks = episodes.actions.shape
    rollouts = count // n_topics
    first_row = torch.arange(n_topics, device=projection.scoring.device).repeat_interleave(rollouts) * n
    ranked = projection.inputs.reshape(n_topics * n, -1)[first_row[:, None] + episodes.actions]
    states = network.states(projection.initial.repeat_interleave(rollouts, dim=0), ranked)
    if episodes.gathered:
        logits = network.episode_logits(projection, states, episodes.allowed, episodes.active)
    else:
        logits = network.logits(projection, states.reshape(n_topics, rollouts * ranks, -1)).view(count, ranks, n)
    return log_policy(logits, episodes.allowed)


def _draw(logits: Tensor, allowed: Tensor, generator: torch.Generator) -> Tensor:
    """One candidate a row, drawn from softmax(logits) over those allowed.

    One uniform number a row is looked up in the cumulative probabilities; a number for each candidate (Gumbel-max)
    would take half of the training time.

    Args:
        logits: [B, N].
        allowed: [B, N] bool.
        generator: on the same device.

    Returns:
        [B] int64; any index where nothing is allowed.
    """
    cumulated = log_policy(logits, allowed).exp_().cumsum(1)
    # Below the last sum even after rounding, so that a candidate of probability 0 is never found.
    level = cumulated[:, -1:] * torch.rand(
        len(logits), 1, dtype=logits.dtype, device=logits.device, generator=generator
    )
    # NaN (a diverged policy) would be found behind the last; the training loop then says so in its own words.
    return torch.searchsorted(cumulated, level, right=True).squeeze(1).clamp_(max=logits.shape[1] - 1)
