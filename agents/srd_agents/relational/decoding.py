"""From a policy to one ranking: the likeliest document at each rank. Numpy only.

Shapes: B topics, R rankings of each, N candidates, K ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from srd_agents.heuristic.greedy import in_blocks
from srd_agents.heuristic.stepwise import EXACT, Tied, least_tied
from srd_gym.dtypes import IntArray
from srd_gym.topic import Topic

_BLOCK = 1 << 19
"""Numbers of vectors worked on at once: about the processor's cache."""


class Draft(Protocol):
    """R rankings of each of B topics in progress, as a policy sees them: in arrays, or on a device in tensors."""

    def scores(self) -> Any:
        """[B, R, N] float32, logits of every candidate as the next document; those of ranked ones mean nothing."""

    def add(self, chosen: Any) -> None:
        """Put these candidates, [B, R] int64, at the next rank."""


def rankings_of(
    topics: Sequence[Topic], k: int, begin: Callable[[list[Topic]], Draft], tied: Tied = EXACT
) -> list[IntArray]:
    """Greedy rankings of topics with document vectors, [min(k, N)] int64 each; none depends on the others.

    Ties go to the earlier candidate.

    Args:
        topics: the topics.
        k: ranks wanted.
        begin: makes one empty ranking of each of topics of equal shape.
        tied: which scores tie.
    """

    def side_by_side(part: list[Topic]) -> IntArray:
        count, n = len(part), part[0].n_candidates
        draft, rankings = begin(part), np.empty((count, min(k, n)), np.int64)
        taken, rows = np.zeros((count, 1, n), np.float32), np.arange(count)
        for rank in range(rankings.shape[1]):
            scores = draft.scores() + taken
            chosen = (scores >= least_tied(scores.max(axis=2, keepdims=True), tied)).argmax(axis=2)
            rankings[:, rank] = chosen[:, 0]
            taken[rows, 0, chosen[:, 0]] = -np.inf
            if rank + 1 < rankings.shape[1]:
                draft.add(chosen)
        return rankings

    shapes = [topic.require_vectors("a learned ranker").shape for topic in topics]
    return in_blocks(topics, shapes, _BLOCK, side_by_side)
