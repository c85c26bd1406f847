"""The relations of a topic set, padded, for those who learn from many topics at once. Numpy only.

Shapes: B topics, N candidates, F vector width.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_agents.features import side_by_side
from srd_agents.heuristic.greedy import in_blocks
from srd_agents.relational.ranker import NAME, relations_of
from srd_agents.relational.relations import ANCHORS, Array, Relations
from srd_gym.protocols import IntArray
from srd_gym.topic import Topic

KEPT = 2**29
"""Bytes of relations that are kept for the next time; those of further topics are computed whenever asked for."""


class PaddedRelations:
    """The relations of a topic set, each topic's taken alone and then padded, so that padding changes nothing.

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

    def of(self, batch: IntArray) -> Relations:
        """The relations of some topics, padded to the largest of them."""
        found = Relations(*[side_by_side(parts) for parts in zip(*self._of_each(batch), strict=True)])
        # Padding of ramps goes by the whole set, so that products with them do not depend on the batch.
        more = self._anchors - found.ramps.shape[3]
        return found._replace(ramps=np.pad(found.ramps, [(0, 0), (0, 0), (0, 0), (0, more)])) if more else found

    def documents(self, batch: IntArray) -> Array:
        """The vectors of some topics, [B, N, F], padded to the largest of them."""
        return side_by_side([self._topics[index].require_vectors(NAME) for index in batch])

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
