"""Episodes of the network in the simulator: features and forward pass in numpy, gradients later in torch.

Shapes: B topics, R episodes of each, T ranks, N candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from srd_agents.relational.forward import Weights, first_layer, offered_share, scores
from srd_agents.relational.padded import PaddedRelations
from srd_agents.relational.relations import DYNAMIC, POSITION, Array, Ranked, Relations
from srd_gym.core import SelectionCore
from srd_gym.protocols import BoolArray, IntArray


class Episodes(NamedTuple):
    """What the episodes of B topics saw, did and earned."""

    relations: Relations
    """Of the topics, padded to the largest."""
    share: Array
    """[B, N], 1 / (real candidates)."""
    dynamic: Array
    """[B, R, T, D, N], what each candidate looked like at each rank."""
    position: Array
    """[T, P]."""
    allowed: BoolArray
    """[B, R, T, N]."""
    actions: IntArray
    """[B, R, T]; any index after an episode's end."""
    rewards: Array
    """[B, R, T]; 0 after an episode's end."""
    active: BoolArray
    """[B, R, T], whether the rank was filled."""


def roll_out(
    weights: Weights,
    core: SelectionCore,
    known: PaddedRelations,
    batch: IntArray,
    rollouts: int,
    generator: np.random.Generator,
) -> Episodes:
    """Act until all episodes end, each action drawn from the softmax of the scores.

    Args:
        weights: the network.
        core: the simulator; it is reset.
        known: relations of the simulator's topics.
        batch: [B] topics.
        rollouts: R.
        generator: draws the actions.
    """
    relations = known.of(batch)
    count, n = relations.static.shape[:2]
    core.reset(np.repeat(batch, rollouts))
    present = np.arange(n) < known.n_candidates[batch][:, None]
    share = offered_share(present)
    ranked = Ranked(relations, rollouts, present)
    ranks, episodes = int(core.length.max()), (count, rollouts)
    dynamic = np.zeros((*episodes, ranks, len(DYNAMIC), n), np.float32)
    position = np.zeros((ranks, len(POSITION)), np.float32)
    allowed = np.zeros((*episodes, ranks, n), np.bool_)
    actions, active = np.zeros((*episodes, ranks), np.int64), np.zeros((*episodes, ranks), np.bool_)
    rewards = np.zeros((*episodes, ranks), np.float32)
    fixed = first_layer(weights, relations)
    for rank in range(ranks):
        dynamic[:, :, rank], position[rank] = ranked.features, ranked.position()
        allowed[:, :, rank] = core.allowed[:, :n].reshape(*episodes, n)
        active[:, :, rank] = ~core.done.reshape(episodes)
        score = scores(weights, fixed, ranked, share)
        score = np.where(allowed[:, :, rank], score + generator.gumbel(size=score.shape).astype(np.float32), -np.inf)
        actions[:, :, rank] = score.argmax(axis=2)
        rewards[:, :, rank] = core.step(actions[:, :, rank].ravel()).reward.reshape(episodes)
        ranked.add(actions[:, :, rank])
    return Episodes(relations, share, dynamic, position, allowed, actions, rewards, active)
