"""Greedy choice of one document after the other, for topics side by side.

Documents are directions: every product of a document and a direction is a dot product of its own (`numpy.vecdot`),
never a row of a matrix product, whose last bits depend on where in the matrix the row stands. Scores that differ by
rounding tie (`srd_agents.heuristic.stepwise.Tied`), so that lengths of vectors change nothing. Ties go to the earlier
candidate; where there is no retrieval order and the ranker weighs relevance, to the more relevant one, and then to the
earlier.

Shapes: B topics side by side, N candidates, F vector width, t documents chosen so far.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.config import Metric
from srd_agents.heuristic.stepwise import TIED, PartialRanking, Scored, Scoring, best, least_tied
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic

T = TypeVar("T")
R = TypeVar("R")

SMALL, LARGE = np.float32(1e-30), np.float32(1e30)
"""Squared lengths between which float32 is exact enough."""
BLOCK = 1 << 18
"""Vector entries that are worked on at once: about what a processor's second cache holds."""


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


class Similarities(Rows):
    """Rows of a symmetric matrix [N, N] of similarities in place of vectors: a sum of rows is its own projection."""

    def project(self, direction: FloatArray) -> FloatArray:
        """The similarities with the documents of which the direction is the weighted sum."""
        return direction


def rows_by(metric: Metric, vectors: FloatArray) -> Rows:
    """Vectors ready to be compared by a metric."""
    if metric == "cosine":
        return rows_of(vectors)
    kind = Rows if metric == "dot" else Similarities
    return kind(vectors, np.ones(vectors.shape[:-1], np.float32))


def rows_of(vectors: FloatArray) -> Rows:
    """Vectors ready to be compared.

    Args:
        vectors: [..., N, F] float32. Rows whose squares leave float32's range are measured in float64.
    """
    with np.errstate(over="ignore"):
        squares: FloatArray = np.vecdot(vectors, vectors)
    extreme = (squares < SMALL) | (squares > LARGE)
    if not np.count_nonzero(extreme):
        return Rows(vectors, np.reciprocal(np.sqrt(squares)))
    squares[extreme] = 1
    scale = np.reciprocal(np.sqrt(squares))
    wide = vectors[extreme].astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1)
    scaled = vectors.copy()
    scaled[extreme] = wide / np.where(lengths > 0, lengths, 1.0)[:, None]
    scale[extreme] = lengths > 0
    return Rows(scaled, scale)


def in_blocks(
    items: Sequence[T], shapes: Sequence[tuple[int, ...]], size: int, work: Callable[[list[T]], Iterable[R]]
) -> list[R]:
    """Work on items of one shape side by side, in blocks of bounded size.

    Nothing is padded: padding could change the last bit of a sum, and with it how a tie falls, so that a topic's
    ranking would depend on what else is in the batch.

    Args:
        items: topics, for example.
        shapes: of each, what is worked on.
        size: entries a block may hold; a larger item is a block of its own.
        work: what items of one shape come to.

    Returns:
        What each item came to.
    """
    if len(items) == 1:
        return list(work(list(items)))
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for index, shape in enumerate(shapes):
        groups[shape].append(index)
    results: dict[int, R] = {}
    for shape, members in groups.items():
        step = max(1, size // max(1, prod(shape)))
        for start in range(0, len(members), step):
            block = members[start : start + step]
            results.update(zip(block, work([items[index] for index in block]), strict=True))
    return [results[index] for index in range(len(items))]


class Objective(ABC):
    """A greedy score: a fixed value of each candidate, and a state that each chosen document changes.

    A chosen document acts through one direction: what every candidate's unit vector projects onto it is folded into
    its state. Scores are asked for after at least one.
    """

    start = 0.0
    """The state of a candidate before any document is chosen."""
    looks_back = True
    """Whether a direction depends on earlier ones."""
    falls_at_once = False
    """Whether the first document can only lower a candidate's score below its value, as further ones do."""
    tied = TIED
    """Which scores tie."""
    metric: Metric = "cosine"
    """Kind of product that a projection is."""

    @abstractmethod
    def direction(self, vector: FloatArray, scale: Any, earlier: FloatArray) -> FloatArray:
        """The direction of a newly chosen document: [..., F].

        Args:
            vector: [..., F] its vector.
            scale: [..., 1] what scales it to length 1, or a number.
            earlier: [..., t, F] directions of those chosen before.
        """

    @abstractmethod
    def fold(self, state: FloatArray, projection: FloatArray) -> None:
        """Change the state, in place, by the projections on the newest direction."""

    def scored(self, value: FloatArray, state: FloatArray) -> FloatArray:
        """Scores of the candidates, an array of their own: value less state, unless an objective says otherwise.

        A value of minus infinity stays that.
        """
        left: FloatArray = value - state
        return left


class Choice(ABC):
    """Documents chosen so far for B topics of equal size, and scores of the next."""

    ties: NDArray[np.floating] | None = None
    """[B, N] what decides between equal scores, after `scores`; None: the position."""
    tied = TIED
    """Which scores tie."""

    value: NDArray[np.floating]
    """[B, N], each candidate's part of a score that does not depend on what is chosen."""

    @abstractmethod
    def scores(self) -> NDArray[np.floating]:
        """[B, N] the score of each candidate as the next document; one whose value is minus infinity has that score."""

    @abstractmethod
    def add(self, chosen: IntArray) -> None:
        """Choose one document for each topic, [B]."""

    def first(self, k: int) -> Scored:
        """The next k of each topic, [B, k] int64, and their scores, [B, k] float64."""
        topics = np.arange(len(self.value))
        ranking, chosen_scores = np.empty((len(topics), k), dtype=np.int64), np.empty((len(topics), k))
        for rank in range(k):
            own = scores = self.scores()
            equal = scores >= least_tied(scores.max(axis=1, keepdims=True), self.tied)
            if self.ties is not None:
                scores = np.where(equal, self.ties, -np.inf)
                equal = scores >= least_tied(scores.max(axis=1, keepdims=True), self.tied)
            ranking[:, rank] = chosen = equal.argmax(axis=1)
            chosen_scores[:, rank] = own[topics, chosen]
            if rank + 1 < k:
                self.value[topics, chosen] = -np.inf
                self.add(chosen)
        return ranking, chosen_scores


class _ChoiceForOne(PartialRanking):
    """The choice for one topic."""

    def __init__(self, choice: Choice) -> None:
        self._choice, self.tied = choice, choice.tied

    @property
    def ties(self) -> NDArray[np.floating] | None:
        """[N] those of the next choice."""
        return None if self._choice.ties is None else self._choice.ties[0]

    def scores(self) -> ScoreArray:
        scores: ScoreArray = self._choice.scores()[0].astype(np.float64)
        return scores

    def add(self, document: int) -> None:
        self._choice.add(np.array([document]))


class Greedy(Scoring):
    """A ranker that takes the best next document, again and again; subclasses say what is best."""

    name: ClassVar[str]
    """Its name in the registry."""

    @abstractmethod
    def _shape(self, topic: Topic) -> tuple[int, ...]:
        """Shape that topics ranked side by side have in common."""

    @abstractmethod
    def _choice(self, topics: Sequence[Topic], most: int) -> Choice:
        """An empty choice for topics of one shape, of so many documents at most."""

    def rank_scored(self, topics: Sequence[Topic], k: int) -> list[Scored]:
        """`rank_batch` with scores; small topics of one shape are ranked side by side."""
        check_integer("k", k, 1)
        shapes = [self._shape(topic) for topic in topics]
        return in_blocks(topics, shapes, 2 * BLOCK, lambda block: self._first(block, min(k, block[0].n_candidates)))

    def _first(self, topics: Sequence[Topic], k: int) -> Iterable[Scored]:
        """The rankings of topics of one shape, and scores, each [k]."""
        return zip(*self._choice(topics, k).first(k), strict=True)

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        return _ChoiceForOne(self._choice([topic], topic.n_candidates))


class ByObjective(Choice):
    """The greedy choice by an objective.

    Args:
        vectors: [B, N, F] float32.
        value: [B, N] float32: the score at first; changed in place.
        objective: the rest of the score.
        most: documents chosen at most.
        ties: [B, N] float32 what decides between equal scores; None: the position.
    """

    def __init__(
        self, vectors: FloatArray, value: FloatArray, objective: Objective, most: int, ties: FloatArray | None = None
    ) -> None:
        self.value: FloatArray = value
        self.ties, self.tied = ties, objective.tied
        self._rows, self._objective = rows_by(objective.metric, vectors), objective
        self._state = np.full(value.shape, objective.start, dtype=np.float32)
        count, _, width = vectors.shape
        self._directions, self._count = np.empty((count, most, width), dtype=np.float32), 0
        self._topics = np.arange(count)

    def scores(self) -> FloatArray:
        """[B, N]."""
        return self._objective.scored(self.value, self._state) if self._count else self.value

    def add(self, chosen: IntArray) -> None:
        """Choose one document for each topic, [B]."""
        vector, scale = self._rows.vectors[self._topics, chosen], self._rows.scale[self._topics, chosen]
        direction = self._objective.direction(vector, scale[:, None], self._directions[:, : self._count])
        if self._objective.looks_back:
            self._directions[:, self._count] = direction
        self._count += 1
        self._objective.fold(self._state, self._rows.project(direction))


def chosen_alone(
    vectors: FloatArray, value: FloatArray, k: int, objective: Objective, ties: FloatArray | None = None
) -> Scored:
    """`ByObjective.first` of one topic, to the last bit, with fewer calls: [k] int64, [k] float64.

    Args:
        vectors: [N, F] float32.
        value: [N] float32; changed in place.
        k: documents to choose.
        objective: the rest of the score.
        ties: [N] float32 what decides between equal scores; None: the position.
    """
    ranking, (rows, scale) = np.empty(k, dtype=np.int64), rows_by(objective.metric, vectors)
    state = np.full(value.shape, objective.start, dtype=np.float32)
    projection = np.empty_like(state)
    earlier = directions = np.empty((1, k, vectors.shape[1]), dtype=np.float32)
    ranking[0] = chosen = best(value, ties, objective.tied)
    chosen_scores = np.empty(k)
    chosen_scores[0] = value[chosen]
    for rank in range(1, k):
        value[chosen] = -np.inf
        if objective.looks_back:
            earlier = directions[:, : rank - 1]
        direction = objective.direction(rows[chosen : chosen + 1], scale[chosen], earlier)
        if objective.looks_back:
            directions[:, rank - 1] = direction
        np.vecdot(rows, direction, out=projection)
        projection *= scale
        objective.fold(state, projection)
        scores = objective.scored(value, state)
        ranking[rank] = chosen = best(scores, ties, objective.tied)
        chosen_scores[rank] = scores[chosen]
    return ranking, chosen_scores
