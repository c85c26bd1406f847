"""Episodes of the policy in the simulator: what it sees and does in numpy, gradients later in torch.

Shapes: B topics, R episodes of each, T ranks, N candidates, D relations that change from rank to rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from srd_agents.features import query_vectors, side_by_side
from srd_agents.heuristic.greedy import in_blocks
from srd_agents.reinforce.forward import PolicyWeights, Seen, Standing
from srd_agents.relational.ranker import relations_of
from srd_agents.relational.relations import ANCHORS, DYNAMIC, POSITION, Array, Relations
from srd_gym.core import SelectionCore
from srd_gym.protocols import BoolArray, IntArray
from srd_gym.topic import Topic

KEPT = 2**29
"""Bytes of relations that are kept for the next time; those of further topics are computed whenever asked for."""


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


class SeenTopics:
    """A topic set as the policy sees it: each topic's relations are taken alone, so that padding changes nothing.

    Args:
        topics: with document vectors.
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        self._topics = topics
        self.n_candidates = np.array([topic.n_candidates for topic in topics])
        self._anchors = min(int(self.n_candidates.max()), ANCHORS)
        self._kept: dict[int, list[Array]] = {}
        self._room = KEPT

    def by_size(self, batch: IntArray, count: int) -> list[IntArray]:
        """The topics of a batch in parts of at most `count`, small topics with small ones."""
        rising = batch[np.argsort(self.n_candidates[batch], kind="stable")]
        return [rising[start : start + count] for start in range(0, len(batch), count)]

    def of(self, batch: IntArray) -> Seen:
        """Some topics, padded to the largest of them."""
        found = Relations(*[side_by_side(parts) for parts in zip(*self._of_each(batch), strict=True)])
        # Padding of ramps goes by the whole set, so that products with them do not depend on the batch.
        more = self._anchors - found.ramps.shape[3]
        if more:
            found = found._replace(ramps=np.pad(found.ramps, [(0, 0), (0, 0), (0, 0), (0, more)]))
        topics = [self._topics[index] for index in batch]
        documents = side_by_side([topic.require_vectors("a learned ranker") for topic in topics])
        present = np.arange(documents.shape[1]) < self.n_candidates[batch][:, None]
        return Seen(found, documents, query_vectors(topics, documents.shape[2]), present)

    def _of_each(self, batch: IntArray) -> list[list[Array]]:
        """The relations of each topic, without padding."""
        new = [index for index in batch.tolist() if index not in self._kept]
        computed = in_blocks(new, [(int(self.n_candidates[index]),) for index in new], 4096, self._computed)
        found = dict(zip(new, computed, strict=True))
        return [self._kept.get(index) or found[index] for index in batch.tolist()]

    def _computed(self, block: Sequence[int]) -> list[list[Array]]:
        """The relations of topics of one size; kept, where there is room."""
        relations = relations_of([self._topics[index] for index in block])
        found = [[part[place] for part in relations] for place in range(len(block))]
        self._room -= sum(part.nbytes for part in relations)
        if self._room >= 0:
            self._kept |= dict(zip(block, found, strict=True))
        return found


def roll_out(
    weights: PolicyWeights, core: SelectionCore, seen: Seen, batch: IntArray, rollouts: int, rng: np.random.Generator
) -> Episodes:
    """Act until all episodes end, each action drawn from the softmax of the scores.

    Args:
        weights: of the policy.
        core: the simulator; it is reset.
        seen: these topics.
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
