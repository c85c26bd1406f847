"""The relations of a topic set, padded, for those who learn from many topics at once. Numpy only.

Shapes: B topics, N candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_agents.heuristic.vectors import blocks_of_equal_shape
from srd_agents.relational.ranker import relations_of
from srd_agents.relational.relations import ANCHORS, CONTEXT, STATIC, Relations
from srd_gym.protocols import IntArray
from srd_gym.topic import Topic


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
