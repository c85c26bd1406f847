"""The state of B episodes as arrays, and its snapshots.

Shapes: B episodes, N candidates, S subtopics, K horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.core.arrays import TopicArrays
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.reading import with_type
from srd_gym.showing import short_repr
from srd_gym.topic_fields import read_only

Where = int | slice | IntArray


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of some episodes: what `restore` needs and nothing else. Small; compares and hashes by value."""

    __repr__ = short_repr

    episodes: tuple[int, ...]
    """The episodes it was taken of."""
    shape: tuple[int, int, int]
    """(N, S, K) of the core: it can be restored only where these, topics and reward agree."""
    topics: str
    """Fingerprint of the topic set."""
    reward: str
    """The reward and the time it is given: its name and a digest."""
    state: tuple[bytes, ...]
    """The core's state arrays."""


class Episodes:
    """State of B episodes. The public arrays are read-only views of state that changes in place.

    Args:
        arrays: the topics.
        horizon: K.
        episodes: B to begin with; such episodes count as ended.
    """

    topic_index: IntArray
    """[B] index of each episode's topic."""
    rank: IntArray
    """[B] ranks filled so far, wasted ones included: the rank to fill next, counted from 0."""
    wasted: IntArray
    """[B] int64, ranks left empty so far, as a masked candidate was chosen."""
    length: IntArray
    """[B] ranks to fill in all, min(K, candidates); 0 before the first reset."""
    done: BoolArray
    """[B] whether the episode has ended."""
    allowed: BoolArray
    """[B, N] bool, candidates that are not masked."""
    mask: NDArray[np.int8]
    """[B, N] int8, the same memory as `allowed`."""
    ranking: IntArray
    """[B, K] int64 candidates by rank; -1 where empty or wasted."""
    coverage: IntArray
    """[B, S] int64, how often each subtopic is covered."""
    gains: ScoreArray
    """[B, K] float64, what was gained at each rank."""
    user: IntArray
    """[B] int64, each episode's user where users pay; else 0."""
    _paid_by: str
    """The reward, as snapshots name it."""

    def __init__(self, arrays: TopicArrays, horizon: int, episodes: int) -> None:
        self.arrays = arrays
        self.horizon = horizon
        self._allocate(episodes)

    def __getstate__(self) -> dict[str, Any]:
        """State without the views, which a copy would cut off from what they show."""
        return {name: value for name, value in self.__dict__.items() if name not in _VIEWS}

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """A twin with its own episodes; topics and all else that never changes are shared."""
        twin = object.__new__(type(self))
        state = self.__getstate__()
        twin.__setstate__(state | {f"_{name}": state[f"_{name}"].copy() for name in _STATE})
        return twin

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._show()

    @property
    def every(self) -> IntArray:
        """[B] int64, the indices of all episodes."""
        return self._every

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
        """State of episodes, as a small immutable value.

        Args:
            episodes: which episodes: [B'] int (or one), or [B] bool; None: all.

        Raises:
            TypeError: episodes that are neither integers nor a mask.
            ValueError: one out of range, or a mask of another shape or without True.
        """
        where = self._every if episodes is None else episode_indices(episodes, self.n_episodes)
        at = _place(where)
        return Snapshot(
            episodes=tuple(where.tolist()),
            shape=self._shape,
            topics=self.arrays.topics.fingerprint,
            reward=self._paid_by,
            state=tuple(getattr(self, f"_{name}")[at].tobytes() for name in _STATE),
        )

    def restore(self, snapshot: Snapshot, episodes: ArrayLike | None = None) -> None:
        """Put episodes where a snapshot says.

        Args:
            snapshot: from this core, or from one with the same arguments.
            episodes: into which ones, as for `snapshot`: as many as it holds, or any number if it holds one; None:
                those it was taken of.

        Raises:
            TypeError: episodes that are neither integers nor a mask.
            ValueError: a snapshot of another shape, other topics or another reward, or episodes that do not fit.
        """
        if snapshot.shape != self._shape:
            raise ValueError(
                f"the snapshot is of a core with (N, S, K) = {snapshot.shape}, this one has {self._shape}; restore it "
                "with the same topics, max_candidates and horizon"
            )
        if snapshot.topics != self.arrays.topics.fingerprint:
            raise ValueError(
                f"the snapshot is of other topics than {self.arrays.topics.name!r}; restore it with the topic set, "
                "including vectors and judgments, that it was taken with"
            )
        if snapshot.reward != self._paid_by:
            raise ValueError(
                f"the snapshot is of episodes with reward {snapshot.reward}, these have {self._paid_by}; restore it "
                "with the same reward"
            )
        count = len(snapshot.episodes)
        where = episode_indices(snapshot.episodes if episodes is None else episodes, self.n_episodes)
        if count not in (1, len(where)):
            raise ValueError(
                f"cannot restore {count} episodes into episodes {where.tolist()} of {self.n_episodes}; expected as "
                "many as the snapshot holds, or a snapshot of one"
            )
        at = _place(where)
        for name, saved in zip(_STATE, snapshot.state, strict=True):
            array = getattr(self, f"_{name}")
            array[at] = np.frombuffer(saved, array.dtype).reshape(count, *array.shape[1:])

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
        self._wasted = np.zeros(count, np.int64)
        self._user = np.zeros(count, np.int64)
        self._show()

    def _show(self) -> None:
        """Lay the read-only views over the state."""
        for name in _STATE:
            setattr(self, name, read_only(getattr(self, f"_{name}")))
        self.mask = self.allowed.view(np.int8)
        # Of the only episode, where there is one, kept: making them takes a tenth of its step.
        self.only = self.rows(0) if len(self._rank) == 1 else None

    def rows(self, episode: int) -> tuple[IntArray, NDArray[np.int8], BoolArray, IntArray]:
        """Views of one episode: ranking [K], mask [N], allowed [N], and coverage [S] for the simulator to change."""
        return self.ranking[episode], self.mask[episode], self.allowed[episode], self._coverage[episode]


def _place(where: IntArray) -> slice | IntArray:
    """The same episodes; one alone as a slice, which is faster."""
    return slice(where.item(), where.item() + 1) if len(where) == 1 else where


def episode_indices(episodes: ArrayLike, count: int) -> IntArray:
    """[B'] which of so many episodes somebody asks for.

    Args:
        episodes: indices (or one), or a mask.
        count: B.

    Raises:
        TypeError: neither integers nor a mask.
        ValueError: one out of range, or a mask of another shape or without True.
    """
    given = np.atleast_1d(np.asarray(episodes))
    if given.dtype == np.bool_:
        return np.flatnonzero(checked_mask("episodes", given, count))
    if given.size == 0:
        return np.zeros(0, np.int64)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise TypeError(
            f"episodes must be integers from 0 to {count - 1}, or a [{count}] bool mask, got {with_type(given)}"
        )
    indices = given.astype(np.int64)
    beyond = indices.view(np.uint64) >= count  # as unsigned numbers, negative ones are huge
    if np.count_nonzero(beyond):
        raise ValueError(f"there is no episode {given[beyond][0]}: expected 0 to {count - 1}")
    return indices


def checked_mask(name: str, mask: ArrayLike, count: int) -> BoolArray:
    """A mask of episodes.

    Raises:
        ValueError: no bool array, another shape, or no True in it.
    """
    given = np.asarray(mask)
    if given.dtype != np.bool_ or given.shape != (count,) or not given.any():
        wanted = f"[{count}] bool, True for at least one sub-environment"
        raise ValueError(f"{name} must be {wanted}, got {with_type(given)}")
    return given


_STATE = ("topic_index", "rank", "wasted", "length", "done", "allowed", "ranking", "coverage", "gains", "user")
_VIEWS = frozenset((*_STATE, "mask", "only"))
