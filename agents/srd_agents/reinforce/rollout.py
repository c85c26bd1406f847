"""Episodes of the policy in the simulator: what it sees and does in numpy, gradients later in torch.

Shapes: B topics, R episodes of each, T ranks, N candidates, D relations that change from rank to rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from srd_agents.reinforce.forward import PolicyWeights, Seen, Standing
from srd_agents.relational.ranker import PaddedRelations
from srd_agents.relational.relations import DYNAMIC, POSITION, Array
from srd_gym.core import SelectionCore
from srd_gym.protocols import BoolArray, IntArray


class Episodes(NamedTuple):
    """What the episodes of B topics saw, did and earned."""

    seen: Seen
    """The topics, padded to the largest."""
    dynamic: Array
    """[B, D, T, R, N], what each candidate looked like at each rank; no ranks where relations are not looked at."""
    position: Array
    """[T, P]."""
    allowed: BoolArray
    """[B, R, T, N]."""
    scores: Array
    """[B, R, T, N], the policy's."""
    actions: IntArray
    """[B, R, T]; any index after an episode's end."""
    rewards: Array
    """[B, R, T]; 0 after an episode's end."""
    active: BoolArray
    """[B, R, T], whether the rank was filled."""


def seen_of(core: SelectionCore, known: PaddedRelations, batch: IntArray) -> Seen:
    """Some of the simulator's topics as the policy sees them, padded to the largest of them."""
    relations = known.of(batch)
    n = relations.static.shape[1]
    present = np.arange(n) < known.n_candidates[batch][:, None]
    return Seen(relations, known.documents(batch), core.arrays.queries[batch], present)


def roll_out(
    weights: PolicyWeights, core: SelectionCore, seen: Seen, batch: IntArray, rollouts: int, rng: np.random.Generator
) -> Episodes:
    """Act until all episodes end, each action drawn from the softmax of the scores.

    Args:
        weights: of the policy.
        core: the simulator; it is reset.
        seen: these topics, of `seen_of`.
        batch: [B] topics.
        rollouts: R.
        rng: draws the actions.
    """
    count, n = seen.present.shape
    core.reset(np.repeat(batch, rollouts))
    standing, ranks, episodes = Standing(weights, seen, rollouts), int(core.length.max()), (count, rollouts)
    ranked = standing.ranked
    dynamic = np.zeros((count, DYNAMIC, ranks if ranked else 0, rollouts, n), np.float32)
    position = np.zeros((ranks, POSITION), np.float32)
    allowed, kept = np.zeros((*episodes, ranks, n), np.bool_), np.zeros((*episodes, ranks, n), np.float32)
    actions, active = np.zeros((*episodes, ranks), np.int64), np.zeros((*episodes, ranks), np.bool_)
    rewards = np.zeros((*episodes, ranks), np.float32)
    for rank in range(ranks):
        if ranked is not None:
            dynamic[:, :, rank], position[rank] = ranked.features, ranked.position()
        allowed[:, :, rank] = core.allowed[:, :n].reshape(*episodes, n)
        active[:, :, rank] = ~core.done.reshape(episodes)
        scores = kept[:, :, rank] = standing.scores()
        # Gumbel-max: the largest of score + noise is a draw from the softmax. Minus the log of an exponential is that.
        noisy = scores - np.log(rng.standard_exponential(scores.shape)).astype(np.float32)
        actions[:, :, rank] = np.where(allowed[:, :, rank], noisy, -np.inf).argmax(axis=2)
        rewards[:, :, rank] = core.step(actions[:, :, rank].ravel()).reward.reshape(episodes)
        if rank + 1 < ranks:
            standing.add(actions[:, :, rank])
    return Episodes(seen, dynamic, position, allowed, kept, actions, rewards, active)
