"""What MMR, MSD and DPP share: relevance, greedily traded for distance to what is chosen; lazy where that is exact.

Shapes: B topics side by side, N candidates, F vector width, t documents chosen so far.

Lazy evaluation (Minoux 1978): where a score only falls as the list grows, what it was is a bound on what it is. Of the
candidates in falling order of bounds only the first few are kept up to date. Where a later bound reaches their best
score, all candidates with such bounds join them, or all bounds are renewed, whichever takes less time by the number of
products. What is chosen is what computing every score would choose, to the last bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from srd_agents.config import check_count
from srd_agents.heuristic.config import TradeOffConfig
from srd_agents.heuristic.stepwise import Progress, Stepwise
from srd_agents.heuristic.vectors import Rows, blocks_of_equal_shape, min_max, rows_of
from srd_gym.protocols import IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic

LAZY_FROM = 1 << 17
"""Vector entries of a topic above which it is ranked alone and lazily; smaller ones are ranked side by side."""
BLOCK = 1 << 18
"""Vector entries that are worked on side by side: about what a processor's second cache holds."""
_LEAST = 64
"""Candidates that are kept up to date at first, and at least as many more at a time."""
_ALONE = 4
"""How long a product with one direction takes, with what goes with it, beside one of many directions at once."""


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


class TradeOff(Stepwise):
    """A greedy ranker by vectors; subclasses say what a document's value and the objective are."""

    title: ClassVar[str]
    """How errors call it."""

    def __init__(self, config: TradeOffConfig | None = None) -> None:
        self.config = config or TradeOffConfig()

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents: [min(k, N)] int64.

        Raises:
            ValueError: the topic lacks vectors, or what the chosen relevance needs.
        """
        return self.rank_batch([topic], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; small topics with equally many candidates are ranked side by side."""
        check_count("k", k)
        rankings: dict[int, IntArray] = {}
        shapes = [topic.require_vectors(self.title).shape for topic in topics]
        for block in blocks_of_equal_shape(shapes, BLOCK):
            chosen = [topics[index] for index in block]
            vectors = [topic.require_vectors(self.title) for topic in chosen]
            ranked = self._select(_stacked(vectors), _stacked([self._valued(topic) for topic in chosen]), k)
            rankings.update(zip(block, ranked, strict=True))
        return [rankings[index] for index in range(len(topics))]

    def progress(self, topic: Topic) -> GreedyProgress:
        """An empty ranking of the topic."""
        return GreedyProgress(topic.require_vectors(self.title), self._valued(topic), self._objective())

    @abstractmethod
    def _value(self, relevance: FloatArray) -> FloatArray:
        """What relevance adds to a score: [N] float32, an array of its own."""

    @abstractmethod
    def _objective(self) -> Objective:
        """The rest of the score."""

    def _select(self, vectors: FloatArray, value: FloatArray, k: int) -> IntArray:
        """Rankings of B topics of equal size: [B, min(k, N)] int64."""
        return select(vectors, value, k, self._objective())

    def _valued(self, topic: Topic) -> FloatArray:
        """What relevance adds to the scores of a topic's candidates: [N] float32."""
        return self._value(relevance_of(topic, self.config.relevance, self.title))


def _stacked(arrays: Sequence[FloatArray]) -> FloatArray:
    """Arrays of one shape side by side; a single one is not copied."""
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)


def relevance_of(topic: Topic, kind: str, ranker: str) -> FloatArray:
    """Relevance of the candidates: [N] float32.

    Args:
        topic: the topic.
        kind: one of `srd_agents.heuristic.config.Relevance`; "auto" is "scores" where the topic has retrieval scores,
            else "cosine".
        ranker: who asks, for the errors.

    Raises:
        ValueError: the topic lacks what this kind needs; the message says which kinds do without.
    """
    if kind == "auto":
        kind = "scores" if topic.retrieval_scores is not None else "cosine"
    if kind == "cosine":
        if topic.query_vector is None:
            raise ValueError(
                f"topic {topic.query_id!r} has no query vector, so {ranker} has no relevance by cosine; "
                "give query vectors, or use relevance='scores' where there are retrieval scores"
            )
        query = rows_of(topic.query_vector[None]).unit(0)
        return rows_of(topic.require_vectors(ranker)).project(query)
    if topic.retrieval_scores is None:
        raise ValueError(
            f"topic {topic.query_id!r} has no retrieval scores, which {ranker} with relevance={kind!r} needs; "
            "use relevance='cosine'"
        )
    return _of_order(topic.retrieval_scores, kind)


def standardised(relevance: FloatArray) -> FloatArray:
    """Relevance less its mean, by its standard deviation: [N] float32; zeros where all are equal."""
    wide = relevance.astype(np.float64)
    wide -= wide.mean()
    spread = float(np.sqrt(np.vecdot(wide, wide) / len(wide)))
    # Equal numbers may leave a rounding error of their mean, which must not become an order.
    if spread <= 1e-9 * float(np.abs(relevance).max(initial=0)):
        return np.zeros_like(relevance)
    scaled: FloatArray = (wide / spread).astype(np.float32)
    return scaled


def _of_order(scores: FloatArray, kind: str) -> FloatArray:
    """Relevance from retrieval scores or ranks."""
    if kind == "raw_scores":
        return scores
    if kind == "scores":
        return min_max(scores)
    ranks = np.arange(len(scores))
    falling = 1.0 - ranks / len(scores) if kind == "rank" else 1.0 / (ranks + 1)
    return falling.astype(np.float32)
