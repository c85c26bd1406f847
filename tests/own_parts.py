"""A reward, a pruning strategy and a measure of a user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from srd_gym.core import TopicArrays
from srd_gym.core.binding import bind_measure
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.measures import Measure, parse_measure
from srd_gym.measures.base import Statistics
from srd_gym.measures.bound import Term
from srd_gym.protocols import SelectionStep


class Gains:
    """Pays what a measure pays, times a factor."""

    name = "gains"

    def __init__(self, of: str = "alpha_DCG", factor: float = 1.0) -> None:
        self.of, self._factor = of, factor

    def bind(self, topics: TopicArrays, horizon: int) -> Any:
        bound, covers = bind_measure(topics, parse_measure(self.of).plain(), horizon), topics.covers(1)

        def pay(step: SelectionStep) -> ScoreArray:
            covered = covers[step.topic_index, step.action] & (step.action >= 0)[:, None]
            return self._factor * bound.step_gains(covered, step.coverage, step.rank, step.topic_index)

        return pay


class First:
    """Keeps the candidates that were retrieved first."""

    def __init__(self, keep: int) -> None:
        self.keep = keep

    def bind(self, topics: TopicArrays, horizon: int) -> First:
        return self

    def at_reset(self, topic: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        return allowed & (allowed.cumsum(axis=1) <= np.maximum(self.keep, needed)[:, None])

    def after_step(
        self, topic: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        return allowed


@dataclass(frozen=True, kw_only=True)
class Early(Measure):
    """Subtopics covered, each discounted by the rank of its first document."""

    name: ClassVar[str] = "early"

    patience: float = 0.8

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        first = np.array([1.0] + [0.0] * depth)
        weights = statistics.weights / np.maximum(statistics.total, 1)[:, None]
        return (Term(self._cut(self.patience ** np.arange(depth)), first, weights),)
