"""Episodes of the network in the simulator: features and forward pass in numpy, gradients later in torch.

Shapes: B topics, R episodes of each, T ranks, N candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from srd_agents.heuristic.blocks import blocks_of_equal_shape
from srd_agents.relational.forward import Weights, first_layer, offered_share, scores
from srd_agents.relational.ranker import relations_of
from srd_agents.relational.relations import ANCHORS, CONTEXT, DYNAMIC, POSITION, STATIC, Array, Ranked, Relations
from srd_gym.core import SelectionCore
from srd_gym.protocols import BoolArray, IntArray
from srd_gym.topic import Topic


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


class PaddedRelations:
    """The relations of a topic set, each topic's taken alone and then padded, so that padding changes nothing.

    Args:
        topics: with document vectors.
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        count, n = len(topics), max(topic.n_candidates for topic in topics)
        vectors = topics[0].require_vectors("a learned ranker")
        self._all = Relations(
            np.zeros((count, n, vectors.shape[1]), np.float32),
            np.zeros((count, n, len(STATIC)), np.float32),
            np.zeros((count, len(CONTEXT)), np.float32),
            np.zeros(count, np.float32),
            np.zeros(count, np.float32),
            np.zeros((count, n, 2, min(n, ANCHORS)), np.float32),
            np.zeros(count, np.float32),
        )
        self.n_candidates = np.array([topic.n_candidates for topic in topics])
        for block in blocks_of_equal_shape([(topic.n_candidates,) for topic in topics], 4096):
            found = relations_of([topics[index] for index in block])
            for kept, part in zip(self._all, found, strict=True):
                if part.ndim > 3:
                    kept[block, : part.shape[1], :, : part.shape[3]] = part
                elif part.ndim > 2:
                    kept[block, : part.shape[1]] = part
                else:
                    kept[block] = part

    def by_size(self, batch: IntArray, count: int) -> list[IntArray]:
        """The topics of a batch in parts of at most `count`, small topics with small ones."""
        rising = batch[np.argsort(self.n_candidates[batch], kind="stable")]
        return [rising[start : start + count] for start in range(0, len(batch), count)]

    def of(self, batch: IntArray) -> Relations:
        """The relations of some topics, padded to the largest of them."""
        n = int(self.n_candidates[batch].max())
        return Relations(*[part[batch, :n] if part.ndim > 2 else part[batch] for part in self._all])


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
