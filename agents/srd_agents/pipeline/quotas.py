"""Groups of which at least so many documents must be shown, while documents are chosen one after the other.

Shapes: N candidates of a topic, A and B groups of two kinds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_agents.pipeline.groups import Kind
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray

_FINE = 1 << 40
"""Parts of the largest cost, so that costs are whole numbers, which sum exactly."""


class Quotas:
    """Documents of each group that must still be shown.

    Where not all that is asked for can be shown, as much as can be is: of the first kind before the second, and of the
    groups whose first candidate comes earlier before others.

    Args:
        kinds: the groups.
        rooms: of each kind, [G] documents that may still be shown of each group.
        left: [N] candidates that are not shown.
        costs: [N].
        most: documents to choose.
        money: what they may cost.
    """

    def __init__(
        self,
        kinds: Sequence[Kind],
        rooms: Sequence[IntArray],
        left: BoolArray,
        costs: ScoreArray,
        most: int,
        money: float,
    ) -> None:
        self._kinds, self._costs = kinds, costs
        asked = [np.maximum(kind.least + room - kind.most, 0) for kind, room in zip(kinds, rooms, strict=True)]
        if self._can_meet(asked, rooms, left, most, money):
            self._needs = asked
            return
        self._needs = [np.zeros_like(need) for need in asked]
        for need, wanted in zip(self._needs, asked, strict=True):
            for group in np.flatnonzero(wanted):
                while need[group] < wanted[group]:
                    need[group] += 1
                    if not self._can_meet(self._needs, rooms, left, most, money):
                        need[group] -= 1
                        break

    @property
    def met(self) -> bool:
        """Whether nothing more must be shown."""
        return not any(need.any() for need in self._needs)

    def _can_meet(
        self, needs: Sequence[IntArray], rooms: Sequence[IntArray], left: BoolArray, most: int, money: float
    ) -> bool:
        if not any(need.any() for need in needs):
            return True
        parts = [(kind.of, need, room) for kind, need, room in zip(self._kinds, needs, rooms, strict=True)]
        return can_meet(parts, left, self._costs, most, money)

    def narrow(self, allowed: BoolArray, most: int) -> None:
        """Leave only candidates that a glance does not rule out, in place; `most` documents are still to be chosen."""
        for kind, need in zip(self._kinds, self._needs, strict=True):
            if need.any():
                allowed &= need.sum() - (need[kind.of] > 0) < most

    def bear(self, document: int, rooms: Sequence[IntArray], left: BoolArray, most: int, money: float) -> bool:
        """Whether all can still be met once this candidate is chosen."""
        needs, others = ([each.copy() for each in counts] for counts in (self._needs, rooms))
        for kind, need, room in zip(self._kinds, needs, others, strict=True):
            need[kind.of[document]] = max(0, need[kind.of[document]] - 1)
            room[kind.of[document]] -= 1
        rest = left.copy()
        rest[document] = False
        return self._can_meet(needs, others, rest, most - 1, money - float(self._costs[document]))

    def note(self, document: int) -> None:
        """It is chosen."""
        for kind, need in zip(self._kinds, self._needs, strict=True):
            need[kind.of[document]] = max(0, need[kind.of[document]] - 1)


def can_meet(
    kinds: Sequence[tuple[IntArray, IntArray, IntArray]], left: BoolArray, costs: ScoreArray, most: int, money: float
) -> bool:
    """Whether at most so many of the candidates left, for at most this money, meet all needs.

    Each candidate is an edge between its group of one kind and its group of the other. A flow of n units from kind to
    kind is a choice of n documents; successive shortest paths (Ahuja, Magnanti & Orlin 1993, section 9.7) make it meet
    as many needs as n can, for the least cost. So the answer is exact.

    Args:
        kinds: one or two, of each [N] the candidates' groups, [A] documents needed of each group, at least 0, and [A]
            documents that it may have at most; the least of both counts.
        left: [N] candidates that may be chosen.
        costs: [N] at least 0.
        most: documents at most.
        money: what they may cost.
    """
    (groups, needs, rooms), *more = kinds
    others, other_needs, other_rooms = more[0] if more else (np.zeros_like(groups), *np.array([[0], [most]]))
    asked = int(needs.sum() + other_needs.sum())
    if max(needs.sum(), other_needs.sum()) > most:
        return False
    helps = left & ((needs[groups] > 0) | (other_needs[others] > 0)) & (costs <= money)
    edges, of_class = list[tuple[int, int, int]](), dict[tuple[int, int], int]()
    for document in np.flatnonzero(helps)[np.argsort(costs[helps], kind="stable")].tolist():
        pair = int(groups[document]), int(others[document])
        of_class[pair] = of_class.get(pair, 0) + 1
        if of_class[pair] <= needs[pair[0]] + other_needs[pair[1]]:  # the cheapest of those that are alike
            edges.append((document, *pair))
    scale = _FINE / (float(costs.max()) or 1.0)
    bonus = (len(edges) + 1) * _FINE
    flow, source, sink = _Flow(), (0, 0), (3, 0)
    for kind, (need, room) in enumerate(((needs, rooms), (other_needs, other_rooms)), start=1):
        for group in sorted({edge[kind] for edge in edges}):
            ends = (source, (1, group)) if kind == 1 else ((2, group), sink)
            flow.connect(*ends, max(0, min(int(need[group]), int(room[group]))), -bonus)
            flow.connect(*ends, max(0, int(room[group] - need[group])), 0)
    used = [flow.connect((1, a), (2, b), 1, int(costs[document] * scale)) for document, a, b in edges]
    met = -(flow.send(source, sink, most) // bonus)  # all costs together are less than a bonus
    spent = sum(float(costs[edge[0]]) for edge, number in zip(edges, used, strict=True) if not flow.room[number])
    return met >= asked and spent <= money


class _Flow:
    """A network; each edge has its way back beside it."""

    def __init__(self) -> None:
        self.room, self._ends, self._costs = list[int](), list[tuple[tuple[int, int], tuple[int, int]]](), list[int]()

    def connect(self, start: tuple[int, int], end: tuple[int, int], room: int, cost: int) -> int:
        """The number of a new edge."""
        self._ends += [(start, end), (end, start)]
        self.room += [room, 0]
        self._costs += [cost, -cost]
        return len(self.room) - 2

    def send(self, source: tuple[int, int], sink: tuple[int, int], most: int) -> int:
        """The cost of a flow of at most so many units, the lowest there is."""
        total = 0
        for _ in range(most):
            far, by = {source: 0}, dict[tuple[int, int], int]()
            changed = True
            while changed:
                changed = False
                for number, (start, end) in enumerate(self._ends):
                    if self.room[number] and start in far:
                        length = far[start] + self._costs[number]
                        if end not in far or length < far[end]:
                            far[end], by[end], changed = length, number, True
            if far.get(sink, 0) >= 0:
                break
            total, at = total + far[sink], sink
            while at != source:
                number = by[at]
                self.room[number] -= 1
                self.room[number ^ 1] += 1
                at = self._ends[number][0]
        return total
