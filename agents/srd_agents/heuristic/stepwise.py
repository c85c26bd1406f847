"""Rankings made one document after the other, in the light of those chosen.

Shapes: N candidates of a topic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from srd_gym.checks import check_integer, checked_ranking
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.protocols import Ranker, SequentialScorer
from srd_gym.showing import repr_of
from srd_gym.topic import Topic, one_topic


class PartialRanking(Protocol):
    """A topic's ranking in the making."""

    def scores(self) -> ScoreArray:
        """[N] the score of each candidate as the next document; those of chosen ones mean nothing."""

    def add(self, document: int) -> None:
        """Choose a candidate."""


@runtime_checkable
class StepByStep(Protocol):
    """A ranker whose ranking can be followed, and changed, document by document."""

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""


class Stepwise(ABC):
    """A ranker whose rankings can be followed, and changed, step by step."""

    __repr__ = repr_of("config")

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents: [min(k, N)] int64.

        Raises:
            ValueError: the topic lacks what the ranker needs, or k is below 1.
        """
        return self.rank_batch([one_topic(topic)], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; what else is in the batch changes nothing."""
        check_integer("k", k, 1)
        return [greedily(self.progress(topic), topic.n_candidates, k) for topic in topics]

    @abstractmethod
    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic.

        Raises:
            ValueError: the topic lacks what the ranker needs.
        """

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """The score of each candidate as the next document: [N] float64; minus infinity where not allowed.

        Args:
            topic: the topic.
            selected: [r] int64, candidates ranked so far.
            allowed: [N] bool.
        """
        progress = self.progress(topic)
        for document in selected:
            progress.add(int(document))
        scores: ScoreArray = np.where(allowed, progress.scores(), -np.inf)
        return scores


def greedily(progress: PartialRanking, n: int, k: int) -> IntArray:
    """The best candidate of N, again and again, ties to the earlier one: [min(k, N)] int64."""
    left, ranking = np.zeros(n), np.empty(min(k, n), dtype=np.int64)
    for rank in range(len(ranking)):
        if rank:
            progress.add(int(ranking[rank - 1]))
        ranking[rank] = chosen = (progress.scores() + left).argmax()
        left[chosen] = -np.inf
    return ranking


def progress_of(ranker: Ranker, topic: Topic) -> PartialRanking:
    """An empty ranking of the topic by a ranker of any kind.

    One that scores candidates in the light of those chosen is asked at each step; any other ranks the topic once, and
    its best candidate left is the next.
    """
    if isinstance(ranker, StepByStep):
        return ranker.progress(topic)
    if isinstance(ranker, SequentialScorer):
        scorer, every = ranker, np.arange(topic.n_candidates)
        return _Asked(lambda chosen: scorer.score(topic, np.array(chosen, np.int64), ~np.isin(every, chosen)))
    ranking = checked_ranking(ranker.rank(topic, topic.n_candidates), topic, ranker, topic.n_candidates)
    made = np.full(topic.n_candidates, -np.inf)
    made[ranking] = -np.arange(len(ranking))
    return _Asked(lambda selected: made)


class _Asked(PartialRanking):
    """Scores by a function of those chosen so far; it keeps nothing between steps."""

    def __init__(self, score: Callable[[list[int]], ScoreArray]) -> None:
        self._score, self._selected = score, list[int]()

    def scores(self) -> ScoreArray:
        return self._score(self._selected)

    def add(self, document: int) -> None:
        self._selected.append(document)
