"""Rankings made one document after the other, in the light of those chosen.

Shapes: N candidates of a topic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_integer, checked_ranking
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.protocols import Ranker, SequentialScorer
from srd_gym.showing import repr_of
from srd_gym.topic import Topic, one_topic

Scored = tuple[IntArray, ScoreArray]
"""A ranking, [K], and the score of each document when it was chosen, [K]."""
Tied = tuple[float, float]
"""(part, unit): scores tie with the best if they are below it by at most part * (unit + |best|)."""
TIED: Tied = (1e-6, 1.0)
"""The rounding of scores that cosines make."""
STRETCHED: Tied = (5e-6, 1.0)
"""The same where they are standardised first."""
ESTIMATED: Tied = (3e-6, 0.01)
"""The same where scores are estimates, which may all be small."""
EXACT: Tied = (0.0, 0.0)


class PartialRanking(Protocol):
    """A topic's ranking in the making.

    It may have `tied`, which scores tie (`Tied`; left out: equal ones), and `ties`: [N] what decides between them,
    after `scores` (left out, or None: the earlier candidate). It may have `best_of(allowed)`, the candidate of the
    highest score of those allowed ([N] bool, one at least) and that score, where that takes less than all scores.
    """

    def scores(self) -> ScoreArray:
        """[N] the score of each candidate as the next document; those of chosen ones mean nothing."""

    def add(self, document: int) -> None:
        """Choose a candidate."""


@runtime_checkable
class StepByStep(Protocol):
    """A ranker whose ranking can be followed, and changed, document by document."""

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""


class OneByOne(Ranker):
    """A ranker of one topic after the other."""

    __repr__ = repr_of("config")

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; what else is in the batch changes nothing."""
        return [self.rank(topic, k) for topic in topics]


class SideBySide(Ranker):
    """A ranker of several topics at once, to which one is a batch of one."""

    __repr__ = repr_of("config")

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents: [min(k, N)] int64.

        Raises:
            ValueError: the topic lacks what the ranker needs, or k is below 1.
        """
        return self.rank_batch([one_topic(topic)], k)[0]


class Stepwise(SideBySide):
    """A ranker whose rankings can be followed, and changed, step by step."""

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


class Scoring(Stepwise):
    """A stepwise ranker that also gives the scores by which it chose."""

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; what else is in the batch changes nothing."""
        return [ranking for ranking, _ in self.rank_scored(topics, k)]

    def rank_scored(self, topics: Sequence[Topic], k: int) -> list[Scored]:
        """`rank_batch`, with the score of each document when it was chosen."""
        check_integer("k", k, 1)
        return [greedily_scored(self.progress(topic), topic.n_candidates, k) for topic in topics]


def rank_scored(ranker: Ranker, topics: Sequence[Topic], k: int) -> list[Scored]:
    """Rankings and scores of a ranker that has `rank_scored`; of any other, 1 / rank are its scores."""
    if hasattr(ranker, "rank_scored"):
        made: list[Scored] = ranker.rank_scored(topics, k)
        return made
    return [(ranking, one_over_rank(len(ranking))) for ranking in ranker.rank_batch(topics, k)]


def one_over_rank(count: int) -> ScoreArray:
    """[K] float64: 1, 1/2, 1/3, ..."""
    return 1.0 / np.arange(1, count + 1)


def least_tied(top: Any, tied: Tied) -> Any:
    """The lowest scores that tie with the best ones, an array or a number of numpy, in the precision of these."""
    part, unit = tied
    return top - part * (unit + abs(top)) if part else top


def highest(scores: NDArray[np.floating], tied: Tied) -> tuple[Sequence[int] | IntArray, float]:
    """The candidates that tie with the best one, and a score that all of them are above.

    Args:
        scores: [N], written to, and restored.
        tied: which scores tie.
    """
    part, unit = tied
    chosen = int(scores.argmax())
    top = scores.item(chosen)
    scores[chosen] = -np.inf
    rival = scores.item(scores.argmax())
    scores[chosen] = top
    below = top - 1.1 * part * (unit + abs(top))
    if not rival >= below:  # mostly, and where a score is NaN
        return (chosen,), below
    return np.flatnonzero(scores >= least_tied(scores[chosen], tied)), below


def best(scores: NDArray[np.floating], ties: NDArray[np.floating] | None, tied: Tied) -> int:
    """The candidate of the highest score, [N].

    Args:
        scores: [N], written to, and restored.
        ties: [N] what decides between tied scores, and then the earlier position; None: the position alone.
        tied: which scores tie.
    """
    equal, _ = highest(scores, tied)
    return int(equal[0 if ties is None or len(equal) == 1 else best(ties[equal], None, tied)])


def best_of(progress: PartialRanking, allowed: BoolArray) -> tuple[int | None, float]:
    """The candidate of the highest score of those allowed, [N], and that score; None if there is none.

    Ties go where the ranker's own go (`PartialRanking` with `ties`), else to the earlier candidate.
    """
    if hasattr(progress, "best_of"):
        return progress.best_of(allowed) if allowed.any() else (None, -np.inf)
    scores = np.where(allowed, progress.scores(), -np.inf)
    document = best(scores, getattr(progress, "ties", None), getattr(progress, "tied", EXACT))
    score = scores.item(document)
    return None if score == -np.inf else document, score


def evened(values: NDArray[np.floating], tied: Tied = TIED) -> NDArray[np.floating]:
    """Values [..., N] in which each that ties with the next higher one equals it, for orders of cosines."""
    order = np.argsort(-values, axis=-1)
    sinking = np.take_along_axis(values, order, axis=-1)
    even = np.empty_like(values)
    tied_with_next = sinking[..., 1:] >= least_tied(sinking[..., :-1], tied)
    sinking[..., 1:][tied_with_next] = np.inf
    np.put_along_axis(even, order, np.minimum.accumulate(sinking, axis=-1), axis=-1)
    return even


def falling_order(values: NDArray[np.floating]) -> IntArray:
    """Positions by falling value, [N] int64; those that tie with the next higher one stand in their order."""
    order = np.argsort(-values)  # equal ones are put in their order below
    sinking = values[order]
    tied = sinking[1:] >= least_tied(sinking[:-1], TIED)
    if np.count_nonzero(tied & (order[1:] < order[:-1])):
        group = np.zeros(len(order), np.int64)
        np.cumsum(~tied, out=group[1:])
        keys = np.sort(group * len(order) + order)  # faster than by two keys
        order = keys % len(order)
    return order


def greedily(progress: PartialRanking, n: int, k: int) -> IntArray:
    """The best candidate of N, again and again, as of `best_of`: [min(k, N)] int64."""
    return greedily_scored(progress, n, k)[0]


def greedily_scored(progress: PartialRanking, n: int, k: int) -> Scored:
    """`greedily`, with the score of each when it was chosen."""
    left, ranking, scores = np.ones(n, np.bool_), np.empty(min(k, n), dtype=np.int64), np.empty(min(k, n))
    for rank in range(len(ranking)):
        if rank:
            progress.add(int(ranking[rank - 1]))
        chosen, scores[rank] = best_of(progress, left)
        ranking[rank] = chosen = int(left.argmax()) if chosen is None else chosen
        left[chosen] = False
    return ranking, scores


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
    return ByScores(made)


class ByScores(PartialRanking):
    """A ranking by scores [N] that no choice changes."""

    def __init__(self, scores: ScoreArray) -> None:
        self._scores = scores

    def scores(self) -> ScoreArray:
        """Those scores."""
        return self._scores

    def add(self, document: int) -> None:
        """It changes nothing."""


class _Asked(PartialRanking):
    """Scores by a function of those chosen so far; it keeps nothing between steps."""

    def __init__(self, score: Callable[[list[int]], ScoreArray]) -> None:
        self._score, self._selected = score, list[int]()

    def scores(self) -> ScoreArray:
        return self._score(self._selected)

    def add(self, document: int) -> None:
        self._selected.append(document)
