"""The state of B episodes as arrays, and its snapshots.

Shapes: B episodes, N candidates, S subtopics, K horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.core.arrays import TopicArrays, shown
from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.showing import short_repr

Where = int | slice | IntArray


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where some episodes stand: what `restore` needs and nothing else. Small; compares and hashes by value."""

    __repr__ = short_repr

    episodes: tuple[int, ...]
    """The episodes it was taken of."""
    shape: tuple[int, int, int]
    """(N, S, K) of the core: it can be restored only where these agree."""
    state: tuple[bytes, ...]
    """The core's state arrays."""


class Episodes:
    """Where B episodes stand. The public arrays are read-only views of state that changes in place.

    Args:
        arrays: the topics.
        horizon: K.
        episodes: B to begin with; such episodes count as ended.
    """

    topic_index: IntArray
    """[B] index of each episode's topic."""
    rank: IntArray
    """[B] ranks filled so far, wasted ones included: the rank to fill next, counted from 0."""
    length: IntArray
    """[B] ranks to fill in all, min(K, candidates); 0 before the first reset."""
    done: BoolArray
    """[B] whether the episode has ended."""
    allowed: BoolArray
    """[B, N] bool, candidates on offer."""
    mask: NDArray[np.int8]
    """[B, N] int8, the same memory as `allowed`."""
    ranking: IntArray
    """[B, K] int64 candidates by rank; -1 where empty or wasted."""
    coverage: IntArray
    """[B, S] int64, how often each subtopic is covered."""
    gains: ScoreArray
    """[B, K] float64, what was gained at each rank."""

    def __init__(self, arrays: TopicArrays, horizon: int, episodes: int) -> None:
        self.arrays = arrays
        self.horizon = horizon
        self._allocate(episodes)

    def __getstate__(self) -> dict[str, Any]:
        """State without the views, which a copy would cut off from what they show."""
        return {name: value for name, value in self.__dict__.items() if name not in _VIEWS}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A twin with its own episodes; topics and all else that never changes are shared."""
        twin = object.__new__(type(self))
        state = self.__getstate__()
        twin.__setstate__(state | {f"_{name}": state[f"_{name}"].copy() for name in _STATE})
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._show()

    @property
    def n_episodes(self) -> int:
        """B, the number of episodes since the last full reset."""
        return len(self._topic_index)

    def returns(self, episodes: IntArray | None = None) -> ScoreArray:
        """The sum of the gains so far: what the rewards of an episode add up to, the plain measure of its ranking.

        Args:
            episodes: [B'] which episodes; None: all.

        Returns:
            [B'] float64; 0 on unlabelled topics.
        """
        gains = self._gains if episodes is None else self._gains.take(episodes, axis=0)
        # Rank by rank, as a caller adds up rewards: the same to the last bit.
        if len(gains) < gains.shape[1]:
            return np.cumsum(gains, axis=1)[:, -1]
        total = gains[:, 0].copy()
        for rank in range(1, gains.shape[1]):
            total += gains[:, rank]
        return total

    def episode_return(self, episode: int) -> float:
        """`returns` of one episode alone, as a Python float."""
        total: float = np.add.accumulate(self._gains[episode]).item(-1)
        return total

    def snapshot(self, episodes: ArrayLike | None = None) -> Snapshot:
        """Where episodes stand, as a small immutable value.

        Args:
            episodes: [B'] which episodes (or one int); None: all.
        """
        where = np.arange(self.n_episodes) if episodes is None else np.atleast_1d(np.asarray(episodes, dtype=np.int64))
        state = tuple(getattr(self, f"_{name}")[where].tobytes() for name in _STATE)
        return Snapshot(episodes=tuple(where.tolist()), shape=self._shape, state=state)

    def restore(self, snapshot: Snapshot, episodes: ArrayLike | None = None) -> None:
        """Put episodes where a snapshot says.

        Args:
            snapshot: from this core, or from one with the same arguments.
            episodes: [B'] into which ones, as many as in the snapshot, or any number if it holds one; None: those it
                was taken of.

        Raises:
            ValueError: a snapshot of another shape, or episodes that do not fit.
        """
        where = np.array(snapshot.episodes if episodes is None else episodes, dtype=np.int64).reshape(-1)
        count = len(snapshot.episodes)
        if snapshot.shape != self._shape:
            raise ValueError(f"the snapshot is of a core with (N, S, K) = {snapshot.shape}, this one has {self._shape}")
        if count not in (1, len(where)) or (where.size and not (where.min() >= 0 and where.max() < self.n_episodes)):
            raise ValueError(f"cannot restore {count} episodes into episodes {where.tolist()} of {self.n_episodes}")
        for name, saved in zip(_STATE, snapshot.state, strict=True):
            array = getattr(self, f"_{name}")
            array[where] = np.frombuffer(saved, array.dtype).reshape(count, *array.shape[1:])

    @property
    def _shape(self) -> tuple[int, int, int]:
        """(N, S, K)."""
        return self.arrays.max_candidates, self.arrays.max_subtopics, self.horizon

    def _allocate(self, count: int) -> None:
        """State arrays for B episodes, and the read-only views that callers see."""
        n, s, k = self._shape
        self._every = np.arange(count)
        self._topic_index = np.zeros(count, np.int64)
        self._rank = np.zeros(count, np.int64)
        self._length = np.zeros(count, np.int64)
        self._done = np.ones(count, np.bool_)
        self._allowed = np.zeros((count, n), np.bool_)
        self._ranking = np.full((count, k), -1, np.int64)
        self._coverage = np.zeros((count, s), np.int64)
        self._gains = np.zeros((count, k))
        self._show()

    def _show(self) -> None:
        """Lay the read-only views over the state."""
        for name in _STATE:
            setattr(self, name, shown(getattr(self, f"_{name}")))
        self.mask = self.allowed.view(np.int8)


_STATE = ("topic_index", "rank", "length", "done", "allowed", "ranking", "coverage", "gains")
_VIEWS = frozenset((*_STATE, "mask"))
