"""The greedy choice for one large topic, without most of its products.

Lazy evaluation (Minoux 1978): where a score only falls as the list grows, what it was is a bound on what it is. Of the
candidates in falling order of bounds only the first few are kept up to date. Where a later bound reaches their best
score, all candidates with such bounds join them, or all bounds are renewed, whichever takes less time by the number of
products. What is chosen is what computing every score would choose, to the last bit.

Shapes: N candidates, F vector width.
"""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.greedy import BLOCK, Objective, Rows, rows_by
from srd_agents.heuristic.stepwise import Scored, best, highest, least_tied
from srd_gym.dtypes import IntArray
from srd_gym.topic import FloatArray

_LEAST = 64
"""Candidates that are kept up to date at first, and at least as many more at a time."""
_ALONE = 4
"""Time of a product with one direction, overhead included, relative to one of many directions at once."""


def lazily(
    vectors: FloatArray, value: FloatArray, k: int, objective: Objective, ties: FloatArray | None = None
) -> Scored:
    """`ByObjective.first` for one topic whose scores only fall: [k] int64, [k] float64.

    Args:
        vectors: [N, F] float32.
        value: [N] float32.
        k: documents to choose.
        objective: the rest of the score.
        ties: [N] float32 what decides between equal scores; None: the position.
    """
    ranking, scores = np.empty(k, dtype=np.int64), np.empty(k)
    ranking[0] = chosen = best(value, ties, objective.tied)
    scores[0] = value[chosen]
    if k > 1:
        lazy = _Lazy(vectors, value, k, objective, ties)
        for rank in range(1, k):
            lazy.choose(chosen, rank - 1)
            chosen, scores[rank] = lazy.best(rank)
            ranking[rank] = chosen
    return ranking, scores


class _Lazy:
    """One topic's candidates: bounds of all, and the state of those with the highest bounds, which is up to date."""

    def __init__(
        self, vectors: FloatArray, value: FloatArray, k: int, objective: Objective, ties: FloatArray | None
    ) -> None:
        n, width = vectors.shape
        self._vectors, self._objective, self._ties = vectors, objective, ties
        self._rows: Rows | None = None
        self._directions = np.empty((k, width), dtype=np.float32)
        # Of all candidates: what they were after so many directions.
        self._value, self._folded = value.copy(), 0
        self._state = np.full(value.shape, objective.start, dtype=np.float32)
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
            (vector,), (scale,) = rows_by(self._objective.metric, self._vectors[index : index + 1])
        else:
            self._few_values[position] = -np.inf
            vector, scale = self._few.vectors[position], self._few.scale[position]
        self._directions[rank] = direction = self._objective.direction(vector, scale, self._directions[:rank])
        if self._size:
            self._objective.fold(self._few_states, self._few.project(direction))
        elif not self._folded and not self._objective.falls_at_once:
            self._renew(rank + 1)

    def best(self, rank: int) -> tuple[int, float]:
        """The candidate with the highest score, given `rank` chosen documents, and that score."""
        while self._folded < rank:
            size = self._size
            if not size:
                self._extend(rank, _LEAST)
                continue
            score = self._objective.scored(self._few_values, self._few_states)
            equal, below = highest(score, self._objective.tied)
            if size == len(self._value) or below > self._bound[size]:
                self._position = equal[0] if len(equal) == 1 else self._first_of_equal(np.asarray(equal))
                return int(self._members[self._position]), score.item(self._position)
            rivals = int(np.count_nonzero(self._bound[size:] >= below))
            if self._extending_pays(rivals, rank):
                self._extend(rank, size + max(rivals, _LEAST))
            else:
                self._renew(rank)
        self._position = -1
        chosen = best(self._exact, self._ties, self._objective.tied)
        return chosen, self._exact.item(chosen)

    def _extending_pays(self, added: int, rank: int) -> bool:
        """Whether adding candidates to the few takes less time than renewing all bounds, which begins with fewer.

        Those added miss directions, and all of the few need every one ahead. A renewal sorts too, and the first one
        measures lengths: as long as three products, and four.
        """
        missed, ahead = rank - self._folded, len(self._directions) - rank
        extending = added * missed + _ALONE * (self._size + added) * ahead
        return extending <= len(self._value) * (missed + (7 if self._rows is None else 3))

    def _first_of_equal(self, equal: IntArray) -> int:
        """The position of the candidate to which ties go, of those at equally good positions."""
        if self._ties is not None:
            ties = self._ties[self._members[equal]]
            equal = equal[ties >= least_tied(ties.max(), self._objective.tied)]
        return int(equal[self._members[equal].argmin()])

    def _sort(self, bound: FloatArray) -> None:
        """Put the candidates in falling order of bounds; the few begin anew."""
        if (bound[1:] > bound[:-1]).any():
            self._order = np.argsort(-bound)
            self._bound = bound[self._order]
        else:
            self._order, self._bound = np.arange(len(bound)), bound
        self._size = 0

    def _extend(self, rank: int, stop: int) -> None:
        """Let the few be the first `stop` candidates of the order, and fold `rank` directions into those added."""
        start = self._size
        added = np.sort(self._order[start:stop])
        self._size = stop = start + len(added)
        vectors, scale = self._buffers
        rows = self._fetched(added, vectors[start:stop])
        vectors[start:stop], scale[start:stop] = rows
        self._few = Rows(vectors[:stop], scale[:stop])
        self._members[start:stop] = added
        self._few_values, self._few_states = self._kept[:, :stop]
        self._few_values[start:] = self._value[added]
        self._few_states[start:] = self._state[added]
        self._fold_missed(self._few_states[start:], rows, rank)

    def _fetched(self, indices: IntArray, out: FloatArray) -> Rows:
        """Some of the candidates, their vectors in an array that is there where they stay as given."""
        if self._rows is None:
            self._vectors.take(indices, axis=0, out=out, mode="clip")
            return rows_by(self._objective.metric, out)
        self._rows.vectors.take(indices, axis=0, out=out, mode="clip")
        return Rows(out, self._rows.scale[indices])

    def _fold_missed(self, state: FloatArray, rows: Rows, rank: int) -> None:
        """Fold directions into states of some candidates: all after those that bounds have, up to `rank` of them."""
        for projection in rows.project_each(self._directions[self._folded : rank]).T:
            self._objective.fold(state, projection)

    def _renew(self, rank: int) -> None:
        """Fold directions into the state of all candidates, up to `rank` of them, and sort anew."""
        if self._rows is None:
            self._rows = rows_by(self._objective.metric, self._vectors)
        # Block by block, so that the products with many directions stay in the cache.
        step = max(1, BLOCK // (rank - self._folded))
        for start in range(0, len(self._state), step):
            part = slice(start, start + step)
            self._fold_missed(self._state[part], Rows(self._rows.vectors[part], self._rows.scale[part]), rank)
        self._exact, self._folded = self._objective.scored(self._value, self._state), rank
        self._sort(self._exact.copy())
