"""Near-duplicates among documents that are shown one after the other.

Documents that are no near-duplicates themselves are originals. A document is compared with the first `COMPARED`
originals of a list, and with the originals among the last `COMPARED` documents shown before the list. So the work grows
with the number of documents, not with its square, however many are ranked. Documents further down that are alike keep
their ranks.

Shapes: N candidates, F vector width, P documents in their order, M documents compared at once, T originals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from srd_agents.heuristic.config import Metric
from srd_agents.heuristic.greedy import LARGE, SMALL, Rows, rows_by, rows_of
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.topic import FloatArray

COMPARED = 1_000
"""Originals of a list with which later documents are compared, and documents shown before it."""
BLOCK = 256
"""Documents compared at once."""
ROUNDING = 1e-6
"""Largest error of a cosine: a limit is reached from so much below it on."""
_DOUBT = 1e-4
"""Largest error of a fast matrix product; pairs so close to the limit are compared once more, exactly."""


class Originals:
    """Documents shown so far that are no near-duplicates of earlier ones.

    Args:
        metric: "given" where `vectors` are similarities of all pairs, [N, N]; else documents are compared by cosine.
        vectors: [N, F] float32 of the candidates.
        limit: cosine from which on a document is a near-duplicate, above 0.
        before: documents shown before the list, in their order.
    """

    def __init__(self, metric: Metric, vectors: FloatArray, limit: float, before: Sequence[int] = ()) -> None:
        self._vectors, self._metric, self._limit = vectors, metric, limit - ROUNDING
        most = min(len(vectors), COMPARED + min(len(before), COMPARED))
        self._units = np.empty((most, 0 if metric == "given" else vectors.shape[1]), np.float32)
        self._documents, self._count, self._room = np.empty(most, np.int64), 0, COMPARED
        self.sift(before[-COMPARED:])
        self._room = COMPARED

    def sift(self, documents: Sequence[int] | IntArray, shows: Callable[[int], bool] | None = None) -> BoolArray:
        """Which documents are near-duplicates of earlier ones: [P] bool. The others become originals.

        Args:
            documents: [P] candidates, in the order in which they are shown.
            shows: asked of each that is no near-duplicate: whether it is shown. None: all are.
        """
        every, near = np.asarray(documents, np.int64), np.zeros(len(documents), np.bool_)
        for start in range(0, len(every), BLOCK):
            near[start : start + BLOCK] = self._sifted(every[start : start + BLOCK], shows)
        return near

    def near(self) -> BoolArray:
        """[N] which candidates are near-duplicates of an original."""
        every, near = np.arange(len(self._vectors)), np.zeros(len(self._vectors), np.bool_)
        for start in range(0, len(every) if self._count else 0, BLOCK):
            block = every[start : start + BLOCK]
            near[block] = self._near(block, self._rows_of(block))
        return near

    def add(self, document: int) -> BoolArray:
        """Make it an original, and tell which candidates are its near-duplicates: [N] bool."""
        unit = self._rows.unit(document)
        if not self._noted(document, unit):
            return np.zeros(len(self._vectors), np.bool_)
        near: BoolArray = self._rows.project(unit) >= self._limit
        return near

    @cached_property
    def _rows(self) -> Rows:
        """All candidates, ready to be compared."""
        return rows_by(self._metric, self._vectors)

    def _sifted(self, block: IntArray, shows: Callable[[int], bool] | None) -> BoolArray:
        """`sift` of at most `BLOCK` documents."""
        rows = self._rows_of(block)
        near = self._near(block, rows)
        fresh = np.flatnonzero(~near)
        block, own = block[fresh], Rows(rows.vectors[fresh], rows.scale[fresh])
        units, found = own.unit(slice(None)), np.zeros(len(fresh), np.bool_)
        alike = dict(self._alike(block, units, block, own, later=True))
        for place, document in enumerate(block.tolist()):
            if found[place] or not (shows is None or shows(document)):
                continue
            if self._noted(document, units[place]) and place in alike:
                found[alike[place]] = True
        near[fresh[found]] = True
        return near

    def _noted(self, document: int, unit: FloatArray) -> bool:
        """Whether later documents are compared with this one, from now on."""
        if not self._room:
            return False
        self._documents[self._count], self._units[self._count] = document, unit[: self._units.shape[1]]
        self._count, self._room = self._count + 1, self._room - 1
        return True

    def _rows_of(self, documents: IntArray) -> Rows:
        """Some candidates, ready to be compared; of similarities nothing is needed."""
        if self._metric == "given":
            return Rows(np.empty((len(documents), 0), np.float32), np.ones(len(documents), np.float32))
        return rows_of(self._vectors[documents])

    def _near(self, block: IntArray, rows: Rows) -> BoolArray:
        """[M] which of these documents are near-duplicates of an original."""
        near = np.zeros(len(block), np.bool_)
        for _, found in self._alike(self._documents[: self._count], self._units[: self._count], block, rows):
            near[found] = True
        return near

    def _alike(
        self, earlier: IntArray, units: FloatArray, block: IntArray, rows: Rows, *, later: bool = False
    ) -> Iterator[tuple[int, IntArray]]:
        """The place of an earlier document that some of the block are near-duplicates of, and their places: of each.

        Args:
            earlier: [T].
            units: [T, F] their vectors, scaled to length 1.
            block: [M].
            rows: [M] their vectors.
            later: whether the earlier documents are the block, of which only what comes after each is looked at.
        """
        if self._metric == "given":
            close = self._vectors[np.ix_(earlier, block)] >= self._limit
        else:
            products = units @ rows.vectors.T
            products *= rows.scale
            close = products >= self._limit - _DOUBT
        if later:
            close = np.triu(close, k=1)
        for place in np.flatnonzero(close.any(axis=1)).tolist():
            found = np.flatnonzero(close[place])
            if self._metric != "given":
                exact = np.vecdot(rows.vectors[found], units[place]) * rows.scale[found]
                found = found[exact >= self._limit]
            yield place, found


def near_copies(vectors: FloatArray, limit: float, metric: Metric = "cosine") -> BoolArray:
    """Which documents are near-duplicates of an earlier one that is none itself: [P] bool.

    Args:
        vectors: [P, F] float32, in the order in which the documents are shown; for "given" [P, P].
        limit: cosine from which on they are, above 0.
        metric: as of `Originals`.
    """
    if metric != "given" and len(vectors) <= BLOCK and _all_apart(vectors, limit - ROUNDING - _DOUBT):
        return np.zeros(len(vectors), dtype=np.bool_)
    return Originals(metric, vectors, limit).sift(np.arange(len(vectors)))


def _all_apart(vectors: FloatArray, limit: float) -> bool:
    """Whether a look at all products shows that no cosine reaches the limit; False where it does not show that."""
    with np.errstate(over="ignore", invalid="ignore"):
        products = vectors @ vectors.T
    squares = products.diagonal()
    known = squares.tolist()
    if not (known and min(known) >= SMALL and max(known) <= LARGE):
        return not known
    lengths = np.sqrt(squares)
    return bool(np.count_nonzero(products >= np.multiply.outer(limit * lengths, lengths)) <= len(vectors))
