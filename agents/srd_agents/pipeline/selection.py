"""The choice of one document after the other within limits.

Shapes: N candidates of a topic, K chosen, P documents in falling order of their scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srd_agents.heuristic.stepwise import ByScores, PartialRanking, best_of
from srd_agents.pipeline.near_duplicates import BLOCK, Originals
from srd_agents.pipeline.quotas import Quotas
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.topic import Topic


class Selection:
    """The documents shown of a topic so far, and the choice of the next.

    Args:
        limits: the `srd_agents.pipeline.limits.Limits` of the topic.
        topic: the topic.
        progress: scores of the candidates.
        most: documents to choose, beside those shown before and those pinned, which are noted here.
    """

    def __init__(self, limits: Any, topic: Topic, progress: PartialRanking, most: int) -> None:
        n = topic.n_candidates
        self._limits, self._progress, self._most = limits, progress, most
        self._costs = np.zeros(n) if limits.costs is None else limits.costs
        self._money = limits.affordable if limits.costs is not None else 0.0
        self._left: BoolArray = limits.free(n)
        self._near = np.zeros(n, np.bool_)
        self._rooms = [kind.most.copy() for kind in limits.groups]
        self.scores = dict[int, float]()
        """Score of each document when it was chosen."""
        pins = limits.pins
        for document in limits.already_shown:
            self._note(document)
            progress.add(document)
        for document in pins:
            self.scores[document] = float(progress.scores()[document])
            self._note(document)
            progress.add(document)
        self._originals = None
        if limits.near_duplicates is not None:
            self._originals = Originals(
                limits.metric, limits.compared(topic), limits.near_duplicates, limits.already_shown
            )
            self._originals.sift(pins)
        self._spent = float(self._costs[pins].sum())
        self._quotas = Quotas(limits.groups, self._rooms, self._left, self._costs, most, self._money - self._spent)

    def choose(self) -> list[int]:
        """The documents to show, best first.

        Scores that no choice changes take O(N) steps, unless `min_per_group` asks for more; others O(N) a document.
        """
        if isinstance(self._progress, ByScores) and self._quotas.met:
            return self._in_order(self._progress.scores())
        if self._originals is not None:
            self._near = self._originals.near()
        chosen = list[int]()
        while self._most and (document := self._next()) is not None:
            chosen.append(document)
        return chosen

    def _next(self) -> int | None:
        """The best candidate that may be shown, which is then shown; None if there is none."""
        allowed = self._allowed()
        fresh = allowed & ~self._near
        document = self._best(fresh)
        if document is None:
            document = self._best(allowed & self._near)
        if document is not None:
            self._show(document)
            self._quotas.note(document)
            if self._originals is not None and not self._near[document]:
                self._near |= self._originals.add(document)
            if self._most:
                self._progress.add(document)
        return document

    def _in_order(self, scores: Any) -> list[int]:
        """The documents that `_next` would choose: one that does not fit now never will.

        Near-duplicates come after all others, and documents above `max_per_group` after both.
        """
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > -np.inf]
        chosen = list[int]()
        for fill in (False, True) if self._limits.fill else (False,):
            for near in (False, True):
                chosen += self._taken(order[self._left[order] & (self._near[order] == near)], fill=fill)
        self.scores.update(zip(chosen, scores[chosen].tolist(), strict=True))
        return chosen

    def _taken(self, documents: IntArray, *, fill: bool) -> list[int]:
        """Those of the documents, [P] in their order, that are shown: all near-duplicates, or those that are none."""
        taken = list[int]()

        def shows(document: int) -> bool:
            fits = fill or all(
                room[kind.of[document]] > 0 for kind, room in zip(self._limits.groups, self._rooms, strict=True)
            )
            shown = bool(self._most and fits and self._spent + self._costs[document] <= self._money)
            if shown:
                taken.append(document)
                self._show(document)
            return shown

        step = min(BLOCK, max(32, 2 * self._most))  # few of them are shown where few are wanted
        for start in range(0, len(documents), step):
            block = documents[start : start + step]
            if not self._most:
                break
            if self._originals is None or self._near[block[0]]:
                for document in block.tolist():
                    shows(document)
            else:
                self._near[block] = self._originals.sift(block, shows)
        return taken

    def _allowed(self) -> BoolArray:
        """[N] candidates within the limits, those above `max_per_group` where no other is and they fill up."""
        affordable = self._left & (self._spent + self._costs <= self._money)
        within = affordable.copy()
        for kind, room in zip(self._limits.groups, self._rooms, strict=True):
            within &= room[kind.of] > 0
        allowed = affordable if self._limits.fill and not within.any() else within
        self._quotas.narrow(allowed, self._most)
        return allowed

    def _best(self, allowed: BoolArray) -> int | None:
        """The best of these after which what must be shown still can."""
        while allowed.any():
            document, score = best_of(self._progress, allowed)
            if document is None:
                break
            if self._quotas.bear(document, self._rooms, self._left, self._most, self._money - self._spent):
                self.scores[document] = score
                return document
            allowed[document] = False
        return None

    def _show(self, document: int) -> None:
        """It is chosen."""
        self._note(document)
        self._most -= 1
        self._spent += float(self._costs[document])

    def _note(self, document: int) -> None:
        """It is shown: it comes no more, and others of its groups have less room."""
        self._left[document] = False
        for kind, room in zip(self._limits.groups, self._rooms, strict=True):
            room[kind.of[document]] -= 1
