"""Greedy choice by vectors, lazy where that is exact.

Documents are directions: every product of a document and a direction is a dot product of its own (`numpy.vecdot`),
never a row of a matrix product, whose last bits depend on where in the matrix the row stands. Copies of a document
therefore tie exactly, wherever they stand and whatever is computed with them, and ties fall by the documented rule.

Lazy evaluation (Minoux 1978): where a score only falls as the list grows, what it was is a bound on what it is. Of the
candidates in falling order of bounds only the first few are kept up to date. Where a later bound reaches their best
score, all candidates with such bounds join them, or all bounds are renewed, whichever takes less time by the number of
products. What is chosen is what computing every score would choose, to the last bit.

Shapes: B topics side by side, N candidates, F vector width, t documents chosen so far.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from srd_agents.heuristic.stepwise import Progress
from srd_gym.protocols import IntArray, ScoreArray
from srd_gym.topic import FloatArray

SMALL, LARGE = np.float32(1e-30), np.float32(1e30)
"""Squared lengths between which float32 is exact enough."""
LAZY_FROM = 1 << 17
"""Vector entries of a topic above which it is ranked alone and lazily; smaller ones are ranked side by side."""
BLOCK = 1 << 18
"""Vector entries that are worked on side by side: about what a processor's second cache holds."""
_LEAST = 64
"""Candidates that are kept up to date at first, and at least as many more at a time."""
_ALONE = 4
"""How long a product with one direction takes, with what goes with it, beside one of many directions at once."""


class Rows(NamedTuple):
    """Vectors with what scales each to length 1; nothing is copied to scale it."""

    vectors: FloatArray
    """[..., N, F] float32 as given (where float32 cannot square them: scaled to length 1)."""
    scale: FloatArray
    """[..., N] float32, 1 / length; 0 for a zero vector, whose cosine with anything is 0."""

    def project(self, direction: FloatArray) -> FloatArray:
        """Products of the unit vectors with one direction a topic: [..., N] from [..., F]."""
        products: FloatArray = np.vecdot(self.vectors, direction[..., None, :])
        products *= self.scale
        return products

    def project_each(self, directions: FloatArray) -> FloatArray:
        """`project` with several directions: [N, t] from [t, F]. Each vector is read once."""
        products: FloatArray = np.vecdot(self.vectors[:, None, :], directions)
        products *= self.scale[:, None]
        return products

    def unit(self, index: Any) -> FloatArray:
        """The chosen vectors, scaled to length 1."""
        scaled: FloatArray = self.vectors[index] * self.scale[index][..., None]
        return scaled


def rows_of(vectors: FloatArray) -> Rows:
    """Vectors ready to be compared.

    Args:
        vectors: [..., N, F] float32. Rows whose squares leave float32's range are measured in float64.
    """
    with np.errstate(over="ignore"):
        squares: FloatArray = np.vecdot(vectors, vectors)
    extreme = (squares < SMALL) | (squares > LARGE)
    if not extreme.any():
        return Rows(vectors, np.reciprocal(np.sqrt(squares)))
    squares[extreme] = 1
    scale = np.reciprocal(np.sqrt(squares))
    wide = vectors[extreme].astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1)
    scaled = vectors.copy()
    scaled[extreme] = wide / np.where(lengths > 0, lengths, 1.0)[:, None]
    scale[extreme] = lengths > 0
    return Rows(scaled, scale)


def blocks_of_equal_shape(shapes: Sequence[tuple[int, ...]], size: int) -> Iterator[list[int]]:
    """Indices of items of one shape, in blocks of bounded size.

    Nothing is padded: padding could change the last bit of a sum, and with it how a tie falls, so that a topic's
    ranking would depend on what else is in the batch.

    Args:
        shapes: the shape of each item.
        size: entries a block may hold; a larger item is a block of its own.

    Yields:
        Indices, every one once.
    """
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for index, shape in enumerate(shapes):
        groups[shape].append(index)
    for shape, members in groups.items():
        step = max(1, size // max(1, prod(shape)))
        for start in range(0, len(members), step):
            yield members[start : start + step]


class Objective(ABC):
    """A greedy score: a fixed value of each candidate, and a state that each chosen document changes.

    A chosen document acts through one direction: what every candidate's unit vector projects onto it is folded into
    its state. Scores are asked for after at least one.
    """

    falls = False
    """Whether a score, once a document is folded in, only falls with each further one."""
    falls_at_once = False
    """Whether the first document, too, can only lower a candidate's score below its value."""

    @abstractmethod
    def fresh(self, shape: tuple[int, ...]) -> FloatArray:
        """The state of candidates before any document is chosen."""

    @abstractmethod
    def direction(self, unit: FloatArray, earlier: FloatArray) -> FloatArray:
        """The direction of a newly chosen document: [..., F].

        Args:
            unit: [..., F] its unit vector.
            earlier: [..., t, F] directions of those chosen before.
        """

    @abstractmethod
    def fold(self, state: FloatArray, projection: FloatArray) -> None:
        """Change the state, in place, by the projections on the newest direction."""

    @abstractmethod
    def score(self, value: FloatArray, state: FloatArray) -> FloatArray:
        """Scores of the candidates; a value of minus infinity stays that."""


def select(vectors: FloatArray, value: FloatArray, k: int, objective: Objective) -> IntArray:
    """The greedy choice of B topics with N candidates each: [B, min(k, N)] int64, ties to the earlier candidate.

    Args:
        vectors: [B, N, F] float32.
        value: [B, N] float32, each candidate's part that does not depend on what is chosen: its score at first.
        k: documents to choose.
        objective: the rest of the score.
    """
    k = min(k, value.shape[1])
    if objective.falls and len(value) == 1 and vectors.size > LAZY_FROM:
        return _select_lazily(vectors[0], value[0], k, objective)[None]
    rows, topics = rows_of(vectors), np.arange(len(value))
    ranking = np.empty((len(value), k), dtype=np.int64)
    directions = np.empty((len(value), k, vectors.shape[-1]), dtype=np.float32)
    score = value = value.copy()
    state = objective.fresh(value.shape)
    for rank in range(k):
        if rank:
            score = objective.score(value, state)
        chosen = score.argmax(axis=1)
        ranking[:, rank] = chosen
        if rank + 1 < k:
            value[topics, chosen] = -np.inf
            directions[:, rank] = objective.direction(rows.unit((topics, chosen)), directions[:, :rank])
            objective.fold(state, rows.project(directions[:, rank]))
    return ranking


class GreedyProgress(Progress):
    """The greedy choice for one topic, step by step.

    Args:
        vectors: [N, F] float32.
        value: [N] float32, as for `select`.
        objective: the rest of the score.
    """

    def __init__(self, vectors: FloatArray, value: FloatArray, objective: Objective) -> None:
        # One topic, as in `select`: the same sums, so that ties fall alike.
        self._rows, self._state = rows_of(vectors[None]), objective.fresh((1, len(value)))
        self._value, self._objective = value, objective
        self._directions, self._count = np.empty((1, *vectors.shape), dtype=np.float32), 0

    def scores(self) -> ScoreArray:
        """[N]."""
        scores = self._objective.score(self._value[None], self._state)[0] if self._count else self._value
        return scores.astype(np.float64)

    def add(self, document: int) -> None:
        """Choose a candidate."""
        position, self._count = self._count, self._count + 1
        earlier = self._directions[:, :position]
        direction = self._objective.direction(self._rows.unit((0, [document])), earlier)
        self._directions[:, position] = direction
        self._objective.fold(self._state, self._rows.project(direction))


def _select_lazily(vectors: FloatArray, value: FloatArray, k: int, objective: Objective) -> IntArray:
    """`select` for one topic: [k] int64."""
    ranking = np.empty(k, dtype=np.int64)
    ranking[0] = chosen = int(value.argmax())
    if k > 1:
        lazy = _Lazy(vectors, value, k, objective)
        for rank in range(1, k):
            lazy.choose(chosen, rank - 1)
            ranking[rank] = chosen = lazy.best(rank)
    return ranking


class _Lazy:
    """One topic's candidates: bounds of all, and the state of those with the highest bounds, which is up to date."""

    def __init__(self, vectors: FloatArray, value: FloatArray, k: int, objective: Objective) -> None:
        n, width = vectors.shape
        self._vectors, self._objective = vectors, objective
        self._rows: Rows | None = None
        self._directions = np.empty((k, width), dtype=np.float32)
        # Of all candidates: what they were after so many directions.
        self._value, self._state, self._folded = value.copy(), objective.fresh(value.shape), 0
        self._exact = self._value
        self._sort(value)
        # Of the few: the first `size` of the order, in buffers; the last one chosen stands at `position`.
        self._members = np.empty(n, dtype=np.int64)
        self._buffers = Rows(np.empty((n, width), dtype=np.float32), np.empty(n, dtype=np.float32))
        self._kept = np.empty((2, n), dtype=np.float32)
        self._position = -1

    def choose(self, index: int, rank: int) -> None:
        """Take note of the document chosen at a rank, counted from 0."""
        self._value[index] = self._exact[index] = -np.inf
        position = self._position
        if position < 0:
            unit = rows_of(self._vectors[index : index + 1]).unit(0)
        else:
            self._few_values[position] = -np.inf
            unit = self._few.vectors[position] * self._few.scale[position]
        self._directions[rank] = direction = self._objective.direction(unit, self._directions[:rank])
        if self._size:
            self._objective.fold(self._few_states, self._few.project(direction))
        elif not self._folded and not self._objective.falls_at_once:
            self._renew(rank + 1)

    def best(self, rank: int) -> int:
        """The candidate with the highest score, given `rank` chosen documents."""
        while self._folded < rank:
            size = self._size
            if not size:
                self._extend(rank, _LEAST)
                continue
            score = self._objective.score(self._few_values, self._few_states)
            position = int(score.argmax())
            if size == len(self._value) or score[position] > self._bound[size]:
                if not self._in_candidate_order:
                    position = self._earliest(score, position)
                self._position = position
                return int(self._members[position])
            rivals = int(np.count_nonzero(self._bound[size:] >= score[position]))
            if self._extending_pays(rivals, rank):
                self._extend(rank, size + max(rivals, _LEAST))
            else:
                self._renew(rank)
        self._position = -1
        return int(self._exact.argmax())

    def _extending_pays(self, added: int, rank: int) -> bool:
        """Whether adding candidates to the few takes less time than renewing all bounds, which begins with fewer.

        Those added miss directions, and all of the few need every one ahead. A renewal sorts too, and the first one
        measures lengths: as long as three products, and four.
        """
        missed, ahead = rank - self._folded, len(self._directions) - rank
        extending = added * missed + _ALONE * (self._size + added) * ahead
        return extending <= len(self._value) * (missed + (7 if self._rows is None else 3))

    def _earliest(self, score: FloatArray, position: int) -> int:
        """Where the first candidate stands that is as good as the one at a position."""
        equal = score == score[position]
        if np.count_nonzero(equal) > 1:
            positions = np.flatnonzero(equal)
            position = int(positions[self._members[positions].argmin()])
        return position

    def _sort(self, bound: FloatArray) -> None:
        """Put the candidates in falling order of bounds; the few begin anew."""
        if (bound[1:] > bound[:-1]).any():
            self._order = np.argsort(-bound)
            self._bound = bound[self._order]
        else:
            self._order, self._bound = np.arange(len(bound)), bound
        self._size, self._in_candidate_order = 0, True

    def _extend(self, rank: int, stop: int) -> None:
        """Let the few be the first `stop` candidates of the order, and fold `rank` directions into those added."""
        start = self._size
        added = np.sort(self._order[start:stop])
        self._size = stop = start + len(added)
        vectors, scale = self._buffers
        rows = self._fetched(added, vectors[start:stop])
        vectors[start:stop], scale[start:stop] = rows
        self._few = Rows(vectors[:stop], scale[:stop])
        self._in_candidate_order &= not start or bool(self._members[start - 1] < added[0])
        self._members[start:stop] = added
        self._few_values, self._few_states = self._kept[:, :stop]
        self._few_values[start:] = self._value[added]
        self._few_states[start:] = self._state[added]
        self._fold_missed(self._few_states[start:], rows, rank)

    def _fetched(self, indices: IntArray, out: FloatArray) -> Rows:
        """Some of the candidates, their vectors in an array that is there where they stay as given."""
        if self._rows is None:
            self._vectors.take(indices, axis=0, out=out, mode="clip")
            return rows_of(out)
        self._rows.vectors.take(indices, axis=0, out=out, mode="clip")
        return Rows(out, self._rows.scale[indices])

    def _fold_missed(self, state: FloatArray, rows: Rows, rank: int) -> None:
        """Fold directions into states of some candidates: all after those that bounds have, up to `rank` of them."""
        for projection in rows.project_each(self._directions[self._folded : rank]).T:
            self._objective.fold(state, projection)

    def _renew(self, rank: int) -> None:
        """Fold directions into the state of all candidates, up to `rank` of them, and sort anew."""
        if self._rows is None:
            self._rows = rows_of(self._vectors)
        # Block by block, so that the products with many directions stay in the cache.
        step = max(1, BLOCK // (rank - self._folded))
        for start in range(0, len(self._state), step):
            part = slice(start, start + step)
            self._fold_missed(self._state[part], Rows(self._rows.vectors[part], self._rows.scale[part]), rank)
        self._exact, self._folded = self._objective.score(self._value, self._state), rank
        self._sort(self._exact.copy())
