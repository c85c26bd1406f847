"""The policy that explores around a ranker's order, and the exact probabilities of what it shows.

At each rank it shows, with probability 1 - epsilon, the ranker's best document not shown yet, else one of the documents
not shown yet, all equally likely. Documents are positions in the ranker's order here: probabilities are then the same
for all topics of a size.

Shapes: E episodes, K ranks, M positions that may be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from srd_gym.checks import check_integer, check_number
from srd_gym.dtypes import IntArray, ScoreArray


@dataclass(frozen=True)
class EpsilonPolicy:
    """Epsilon-greedy exploration of a ranker's order, rank by rank.

    Args:
        epsilon: how often a rank is explored, 0 to 1.
        top_n: only the first so many documents of the order are ever shown; None: all.

    Raises:
        TypeError, ValueError: no number from 0 to 1, or no whole number from 1.
    """

    epsilon: float = 0.1
    top_n: int | None = None

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, 0, 1)
        if self.top_n is not None:
            check_integer("top_n", self.top_n, 1)

    def reach(self, n_candidates: IntArray, depth: int) -> IntArray:
        """[E] how many positions of each order may be shown: never fewer than there are ranks to fill.

        Args:
            n_candidates: [E] documents of each episode's topic.
            depth: K.
        """
        most = np.maximum(self.top_n or n_candidates.max(initial=1), np.minimum(depth, n_candidates))
        return np.minimum(n_candidates, most)

    def sample(self, reach: IntArray, depth: int, generator: np.random.Generator) -> IntArray:
        """Positions shown by rank: [E, K] int64, -1 once none is left. Draws [2, E, K] uniform numbers."""
        count = len(reach)
        explores, which = generator.random((2, count, depth))
        free = np.arange(reach.max(initial=0)) < reach[:, None]
        shown, every = np.full((count, depth), -1), np.arange(count)
        for rank in range(depth):
            left = free.sum(axis=1)
            number = np.where(explores[:, rank] < self.epsilon, (which[:, rank] * left).astype(np.int64), 0)
            position = (free.cumsum(axis=1) > number[:, None]).argmax(axis=1)
            shown[:, rank] = np.where(left > 0, position, -1)
            free[every, position] = False
        return shown

    def propensities(self, shown: IntArray, reach: IntArray) -> ScoreArray:
        """The probability of the document at each rank, given those above it.

        Args:
            shown: [E, K] positions; -1 where a rank is empty.
            reach: [E], as `reach` gives it.

        Returns:
            [E, K] float64; 1 where a rank is empty, 0 where the policy never shows the document.
        """
        out, every = np.ones(shown.shape), np.arange(len(shown))
        free = np.arange(max(int(reach.max(initial=0)), int(shown.max(initial=0)) + 1)) < reach[:, None]
        for rank, position in enumerate(shown.T):
            left, may = free.sum(axis=1), free[every, position]
            best = free.argmax(axis=1) == position
            chance = may * ((1 - self.epsilon) * best + self.epsilon / np.maximum(left, 1))
            out[:, rank] = np.where(position < 0, 1.0, chance)
            free[every, position] &= position < 0
        return out

    def slot_propensities(self, shown: IntArray, reach: IntArray) -> ScoreArray:
        """The probability of the document at each rank, whatever stands above it: as `propensities`."""
        out, ranks = np.ones(shown.shape), np.arange(shown.shape[1])
        for size in np.unique(reach).tolist():
            of_size = reach == size
            positions = shown[of_size]
            chances = self.marginals(size, shown.shape[1])[ranks, np.maximum(positions, 0)]
            out[of_size] = np.where(positions < 0, 1.0, chances)
        return out

    def marginals(self, reach: int, depth: int) -> ScoreArray:
        """[K, M] float64, the probability of each position at each rank."""
        return _chain(reach, depth, self.epsilon)

    def pairs(self, reach: int, depth: int) -> ScoreArray:
        """[K M, K M] float64, the probability that slots (rank, position) are both filled."""
        return _pairs(reach, depth, self.epsilon)


# Of the positions above the front (the first one not shown), those explored before are a uniformly random set of their
# size: nothing distinguishes them. So the front and the rank say all about the future, and chances are exact.


def _advance(front: int, explored: int, size: int) -> ScoreArray:
    """[size + 1] where the front is after it was shown: it skips explored positions that follow."""
    out, beyond, chance = np.zeros(size + 1), size - 1 - front, 1.0
    for run in range(explored + 1):
        goes_on = (explored - run) / (beyond - run) if beyond > run else 0.0
        out[front + 1 + run] = chance * (1 - goes_on)
        chance *= goes_on
    return out


def _slot(rank: int, fronts: ScoreArray, size: int, epsilon: float) -> tuple[ScoreArray, ScoreArray]:
    """The chances [M] of each position at a rank, and the fronts [M + 1] after it."""
    shown, after = np.zeros(size), np.zeros(size + 1)
    left = size - rank
    for front in np.flatnonzero(fronts[:size]).tolist():
        chance, explored, beyond = fronts[front], rank - front, size - 1 - front
        best = 1 - epsilon + epsilon / left
        shown[front] += chance * best
        after += chance * best * _advance(front, explored, size)
        if beyond > explored:
            shown[front + 1 :] += chance * epsilon / left * (1 - explored / beyond)
            after[front] += chance * epsilon * (beyond - explored) / left
    return shown, after


@cache
def _chain(size: int, depth: int, epsilon: float, rank: int = 0, front: int = 0) -> ScoreArray:
    """[K - rank, M] chances of positions at the ranks from `rank` on, where the front is known."""
    fronts = np.zeros(size + 1)
    fronts[front] = 1.0
    return _from(size, depth, epsilon, rank, fronts)


def _from(size: int, depth: int, epsilon: float, rank: int, fronts: ScoreArray) -> ScoreArray:
    """`_chain` from a distribution of fronts [M + 1]."""
    out = np.zeros((depth - rank, size))
    for row in range(min(depth, size) - rank):
        out[row], fronts = _slot(rank + row, fronts, size, epsilon)
    return out


@lru_cache(maxsize=1)  # matrices are large
def _pairs(size: int, depth: int, epsilon: float) -> ScoreArray:
    """`EpsilonPolicy.pairs`."""
    table = np.zeros((depth, size, depth, size))
    fronts = np.zeros(size + 1)
    fronts[0] = 1.0
    others = np.arange(size) - (np.arange(size) > np.arange(size)[:, None])  # [i, j]: j where i is left out
    for rank in range(min(depth, size)):
        shown, after = _slot(rank, fronts, size, epsilon)
        table[rank, :, rank] = np.diag(shown)
        for front in np.flatnonzero(fronts[:size]).tolist():
            chance, explored, beyond, left = fronts[front], rank - front, size - 1 - front, size - rank
            later = _from(size, depth, epsilon, rank + 1, _advance(front, explored, size))
            table[rank, front, rank + 1 :] += chance * (1 - epsilon + epsilon / left) * later
            if beyond > explored:
                each = chance * epsilon / left * (1 - explored / beyond)
                # Without the explored position, the rest is the same policy on a list that is one shorter.
                rest = np.pad(_chain(size - 1, depth - 1, epsilon, rank, front), ((0, 0), (0, 1)))
                by_position = rest[:, others] * ~np.eye(size, dtype=np.bool_)
                table[rank, front + 1 :, rank + 1 :] += each * by_position[:, front + 1 :].transpose(1, 0, 2)
        fronts = after
    flat = table.reshape(depth * size, depth * size)
    return np.maximum(flat, flat.T)
