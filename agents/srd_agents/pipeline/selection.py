"""The choice of one document after the other within limits.

Shapes: N candidates of a topic, K chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srd_agents.heuristic.greedy import rows_by
from srd_agents.heuristic.stepwise import PartialRanking, best_of
from srd_agents.pipeline.quotas import Quotas
from srd_agents.pipeline.safe import ROUNDING
from srd_gym.dtypes import BoolArray
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
        self._spent = 0.0
        self._rows = None
        if limits.near_duplicates is not None:
            self._rows = rows_by(limits.metric, topic.require_vectors("near_duplicates="))
        self._left, self._near = np.ones(n, np.bool_), np.zeros(n, np.bool_)
        self._rooms = [kind.most.copy() for kind in limits.groups]
        self.scores = dict[int, float]()
        """Score of each document when it was chosen."""
        pins = limits.pins
        for document in (*limits.already_shown, *pins):
            if document in pins:
                self.scores[document] = float(progress.scores()[document])
            self._note(document)
            progress.add(document)
        self._spent = float(self._costs[pins].sum())
        self._quotas = Quotas(limits.groups, self._rooms, self._left, self._costs, most, self._money - self._spent)

    def next(self) -> int | None:
        """The best candidate that may be shown, which is then shown; None if there is none."""
        allowed = self._allowed()
        fresh = allowed & ~self._near
        document = self._best(fresh)
        if document is None:
            document = self._best(allowed & self._near)
        if document is not None:
            self._note(document)
            self._quotas.note(document)
            self._most -= 1
            self._spent += float(self._costs[document])
            if self._most:
                self._progress.add(document)
        return document

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

    def _note(self, document: int) -> None:
        """It is shown: it comes no more, and its copies and its groups' others later."""
        self._left[document] = False
        for kind, room in zip(self._limits.groups, self._rooms, strict=True):
            room[kind.of[document]] -= 1
        if self._rows is not None and not self._near[document]:
            limit = (self._limits.near_duplicates or 0.0) - ROUNDING
            self._near[self._rows.project(self._rows.unit(document)) >= limit] = True
