"""The explicit methods, xQuAD and PM-2, by estimates of how far each candidate covers each subtopic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.blend import Blend
from srd_agents.heuristic.config import ExplicitConfig, Relevance, XQuADConfig
from srd_agents.heuristic.greedy import BLOCK, Choice, Greedy, Rows, rows_of
from srd_agents.heuristic.named import estimate
from srd_agents.heuristic.relevance import ROUNDING, ByRelevance, min_max, relevance_of
from srd_agents.heuristic.stepwise import ESTIMATED
from srd_gym.dtypes import IntArray
from srd_gym.protocols import Ranker
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, Topic

_LARGE = BLOCK // 2
"""Vector entries of a topic above which products are one matrix product, whose last bits depend on where a row is."""
_RANGE = 0.5
"""Highest less lowest of a subtopic's scores in the place of cosines, where those do not differ or are not there."""
Numbers = NDArray[np.floating]


class Told(NamedTuple):
    """Inputs of an explicit ranker for a topic, in float64 or float32."""

    coverage: Numbers
    """[S, N], 0 to 1."""
    weights: Numbers
    """[S]."""
    order: Numbers | None
    """[N] what the order is worth beside the subtopics; None where the estimates leave it out."""
    novelty: float
    """Difference from the chosen documents that a document needs, 0 to 1."""


class Explicit(Greedy):
    """A greedy ranker with explicit subtopics; subclasses say how documents change what is still to be covered.

    States are [B, S] for B topics side by side with N candidates and S subtopics each.
    """

    uses_subtopics = True
    start: ClassVar[float]
    """The state of a subtopic before any document is chosen."""

    def __init__(self, config: ExplicitConfig | None = None) -> None:
        self.config = config or ExplicitConfig()

    def with_diversity(self, diversity: float) -> Ranker:
        """Blended with relevance."""
        return Blend(self, diversity) if diversity else ByRelevance(None)

    @abstractmethod
    def _value(self, topic: Topic, order: Numbers | None) -> Numbers:
        """The part of a score that does not depend on subtopics: [N], from what the order is worth."""

    @abstractmethod
    def _gains(self, coverage: Numbers, weights: Numbers, state: Numbers) -> tuple[Numbers, Numbers | None]:
        """Value of each candidate's coverage at the next rank: [B, N], an array of its own, from [B, S, N].

        And what decides between equal ones, [B, N], or None: the position.
        """

    @abstractmethod
    def _cover(self, state: Numbers, covered: Numbers) -> None:
        """Change the state, in place, by the estimates of a chosen document: [B, S]."""

    def _told(self, topic: Topic, rows: Rows | None) -> Told:
        """The estimates for a topic; without document vectors from its scores of subtopics alone."""
        topic = named_only(topic)
        config, units = self.config, rows_of(subtopics_of(topic, self.name)).unit(slice(None))
        if config.coverage != "named":
            weights = np.ones(len(units)) if topic.subtopic_weights is None else topic.subtopic_weights
            weights = np.asarray(weights, dtype=np.float64) / weights.sum(dtype=np.float64)
            evidence = _rated(topic, _products(rows, units, topic.n_candidates))
            return Told(coverage_of(evidence, config.coverage, config.sharpness), weights, None, 0.0)
        # Scores alone are in no unit in which the query's cosines could be compared with them.
        query = None if rows is None or topic.subtopic_vectors is None else topic.query_vector
        unit = None if query is None else rows_of(query[None]).unit(0)
        told = units if unit is None else np.vstack([units, unit])
        evidence = _rated(topic, _cosines(rows, told, topic.n_candidates))
        estimated = estimate(
            evidence[: len(units)],
            None if unit is None else evidence[-1],
            about=None if unit is None else np.vecdot(units, unit),
            scores=topic.retrieval_scores,
            weights=topic.subtopic_weights,
            ordered=config.ordered,
        )
        coverage = estimated.coverage if config.sharpness == 1 else estimated.coverage**config.sharpness
        novelty = 0.0 if topic.retrieval_scores is not None or rows is None else 1.0 - estimated.trust
        return Told(coverage, estimated.weights, estimated.order, novelty)

    def _shape(self, topic: Topic) -> tuple[int, ...]:
        return len(subtopics_of(named_only(topic), self.name)), topic.n_candidates

    def _choice(self, topics: Sequence[Topic], most: int) -> _Choice:
        return _Choice(self, topics)

    def _rows(self, topic: Topic) -> Rows | None:
        """The candidates' vectors; None where scores of subtopics make do without."""
        if topic.doc_vectors is None and topic.n_subtopics and topic.subtopic_scores is not None:
            return None
        return rows_of(topic.require_vectors(f"ranker {self.name!r}"))


def subtopics_of(topic: Topic, ranker: str) -> FloatArray:
    """Vectors of the subtopics of a topic: [S, F] float32; zeros where only scores tell of them.

    Args:
        topic: the topic.
        ranker: name of who asks, for the error.

    Raises:
        ValueError: there are neither.
    """
    if topic.n_subtopics and topic.subtopic_vectors is not None:
        return topic.subtopic_vectors
    if topic.n_subtopics and topic.subtopic_scores is not None:
        return np.zeros((topic.n_subtopics, topic.vector_width or 0), dtype=np.float32)
    raise ValueError(
        f"topic {shown(topic.query_id)} has no subtopic vectors, with which ranker {ranker!r} compares "
        "documents: give `diversify` subtopics= (vectors, or texts with embed=) or subtopic_scores=, and a topic "
        "subtopic_ids with vectors (`srd data build --vectors lsa` makes them of texts) or with scores; or take "
        "mmr, msd or dpp, which need none"
    )


def named_only(topic: Topic) -> Topic:
    """The topic without the subtopics that only the judges know: those with an empty text, zeros as vector, no score.

    A topic without any other is returned as it is.
    """
    texts, vectors = topic.subtopic_texts, topic.subtopic_vectors
    if texts is None or vectors is None or topic.subtopic_scores is not None or all(texts):
        return topic
    named = [row for row, text in enumerate(texts) if text or vectors[row].any()]
    if len(named) in (0, len(texts)):
        return topic
    weights = topic.subtopic_weights
    return replace(
        topic,
        subtopic_ids=tuple(topic.subtopic_ids[row] for row in named),
        subtopic_texts=tuple(texts[row] for row in named),
        subtopic_vectors=vectors[named],
        subtopic_weights=None if weights is None else weights[named],
        judgments=None,
        pool=None,
        pool_ids=None,
    )


class XQuAD(Explicit):
    """xQuAD (Santos, Macdonald & Ounis, WWW 2010).

    Greedy choice by lambda * rel(d) + (1 - lambda) * sum_t w_t P(d | t) prod_{s in S} (1 - P(s | t)).

    rel is as in MMR; w_t are the topic's subtopic weights scaled to sum to 1 (uniform where it has none); P(d | t) is
    estimated from cosines (`coverage_of`). Ties go to the earlier candidate. O(N S (F + k)).

    Differs from the paper (Equation 6): lambda weighs relevance here, as for the other rankers; it is the paper's
    1 - lambda. P(d | q) and P(d | t) are scores in [0, 1], not distributions over documents: with those, 1 - P hardly
    differs from 1.

    Args:
        config: lambda, what counts as relevance, and how coverage is scaled.
    """

    name = "xquad"
    start = 1.0  # nothing is covered: all of each subtopic is left

    def __init__(self, config: XQuADConfig | None = None) -> None:
        self.config: XQuADConfig = config or XQuADConfig()

    def with_diversity(self, diversity: float) -> Ranker:
        """With lambda = 1 - diversity."""
        return XQuAD(replace(self.config, lambda_=1.0 - diversity)) if diversity else ByRelevance(self.config.relevance)

    def with_relevance(self, relevance: Relevance) -> Ranker:
        """With another kind of relevance."""
        return XQuAD(replace(self.config, relevance=relevance))

    def _value(self, topic: Topic, order: Numbers | None) -> Numbers:
        if order is None or self.config.relevance != "auto":
            order = relevance_of(topic, self.config.relevance, f"ranker {self.name!r}").astype(np.float64)
        value: Numbers = self.config.lambda_ * order
        return value

    def _gains(self, coverage: Numbers, weights: Numbers, state: Numbers) -> tuple[Numbers, None]:
        left = (1.0 - self.config.lambda_) * weights * state
        # Sums over subtopics, one after the other: their last bits depend on nothing else, so that equal documents tie.
        return (coverage * left[:, :, None]).sum(axis=1), None

    def _cover(self, state: Numbers, covered: Numbers) -> None:
        state *= 1.0 - covered


class PM2(Explicit):
    """PM-2 (Dang & Croft, SIGIR 2012).

    Seats of the ranking are given to subtopics by the Sainte-Lague method, and documents to seats.

    At each rank subtopic t has the quotient v_t = w_t / (2 s_t + 1); i is the subtopic with the largest one. The
    document with the largest lambda * v_i P(d | i) + (1 - lambda) * sum_{t != i} v_t P(d | t) is chosen, and the seat
    is shared among the subtopics that it covers: s_t += P(d | t) / sum_t' P(d | t'). w are the topic's subtopic weights
    (uniform where it has none); P(d | t) is estimated from cosines (`coverage_of`). A document that covers nothing
    takes no seat. Relevance counts through P(d | t), and with coverage "named" through the order. O(N S (F + k)); where
    a document needs a difference from those chosen (`Told.novelty`), O(N (S F + k (S + F))).

    Among subtopics with equal quotients (all, at the first rank, unless they have weights) it is the turn of the one
    that gives the highest score: the order of subtopics, which may tell how popular they are, decides nothing. Ties of
    documents go to the earlier candidate.

    Differs from the paper: P(d | t) are scores in [0, 1], not distributions over documents; the paper does not say
    whose turn it is among equals.

    Args:
        config: lambda, and how coverage is scaled.
    """

    name = "pm2"
    start = 0.0  # no subtopic has a seat

    def _value(self, topic: Topic, order: Numbers | None) -> Numbers:
        return np.zeros(topic.n_candidates) if order is None else (1.0 - self.config.lambda_) * order

    def _gains(self, coverage: Numbers, weights: Numbers, state: Numbers) -> tuple[Numbers, None]:
        lambda_ = self.config.lambda_
        quotients = weights / (2.0 * state + 1.0)
        # Every subtopic as one of the others, and then what its turn adds to that.
        weighted = coverage * quotients[:, :, None]
        gains: Numbers = (1.0 - lambda_) * weighted.sum(axis=1)
        turns = quotients == quotients.max(axis=1, keepdims=True)
        weighted *= 2.0 * lambda_ - 1.0
        weighted[~turns] = -np.inf
        gains += weighted.max(axis=1)
        return gains, None

    def _cover(self, state: Numbers, covered: Numbers) -> None:
        total = covered.sum(axis=1, keepdims=True)
        state += np.divide(covered, total, out=np.zeros_like(covered), where=total > 0)


class _Choice(Choice):
    """Documents chosen so far for B topics of equal size, and what is to be known for the next ones."""

    tied = ESTIMATED

    def __init__(self, ranker: Explicit, topics: Sequence[Topic]) -> None:
        self._ranker, self._rows = ranker, [ranker._rows(topic) for topic in topics]
        told = [ranker._told(topic, own) for topic, own in zip(topics, self._rows, strict=True)]
        values = [ranker._value(topic, own.order) for topic, own in zip(topics, told, strict=True)]
        self.value: Numbers = np.stack(values)
        self._coverage = np.stack([own.coverage for own in told])
        self._weights = np.stack([own.weights for own in told])
        self._state = np.full_like(self._weights, ranker.start)
        self._each = np.arange(len(values))
        self._novelty = [own.novelty for own in told]
        self._nearest = np.zeros_like(self.value) if any(self._novelty) else None

    def scores(self) -> Numbers:
        scores, self.ties = self._ranker._gains(self._coverage, self._weights, self._state)
        if self._nearest is not None:
            scores *= 1.0 - self._nearest
        scores += self.value
        return scores

    def add(self, chosen: IntArray) -> None:
        self._ranker._cover(self._state, self._coverage[self._each, :, chosen])
        if self._nearest is None:
            return
        for nearest, novelty, rows, document in zip(self._nearest, self._novelty, self._rows, chosen, strict=True):
            if rows is not None:
                near = rows.project(rows.unit(document))
                near[near > 1.0 - ROUNDING] = 1.0
                np.maximum(nearest, novelty * near, out=nearest)


def _cosines(rows: Rows | None, units: FloatArray, count: int) -> FloatArray:
    """Cosines of the N candidates with S unit vectors: [S, N] float32; zeros where candidates have no vectors."""
    if rows is None or rows.vectors.size <= _LARGE:
        return _products(rows, units, count)
    cosines: FloatArray = np.ascontiguousarray((rows.vectors @ units.T).T)
    cosines *= rows.scale
    return cosines


def _products(rows: Rows | None, units: FloatArray, count: int) -> FloatArray:
    """`_cosines` one by one: equal candidates have equal ones to the last bit, wherever they stand."""
    if rows is None:
        return np.zeros((len(units), count), dtype=np.float32)
    return np.ascontiguousarray(rows.project_each(units).T)


def _rated(topic: Topic, cosines: FloatArray) -> FloatArray:
    """Similarity of each candidate and subtopic: cosines, and scores in their place where there are any.

    `subtopic_scores` are scaled, for each subtopic, to the range of the cosines that they replace. Candidates that are
    not rated for it keep their cosines; without subtopic vectors they stand at the mean of those rated. Equal scores
    stand in the middle.

    Args:
        topic: N candidates, S subtopics.
        cosines: [S' >= S, N] float32, written to: those of the subtopics first, then any others.
    """
    if topic.subtopic_scores is not None:
        for row, scores in zip(cosines, topic.subtopic_scores.T, strict=False):
            _rate(row, scores, fill=topic.subtopic_vectors is None)
    return cosines


def _rate(row: FloatArray, scores: FloatArray, fill: bool) -> None:
    """Put a subtopic's scores, [N] with NaN, in the place of its cosines; `fill`: their mean where nobody rated."""
    rated = ~np.isnan(scores)
    if not rated.any():
        if fill:
            row[:] = _RANGE / 2
        return
    low, high = float(row[rated].min()), float(row[rated].max())
    if high - low < 1e-6:
        high = low + _RANGE
    same = scores[rated].min() == scores[rated].max()
    row[rated] = low + (high - low) * (0.5 if same else min_max(scores[rated]))
    if fill:
        row[~rated] = row[rated].mean()


def coverage_of(cosines: FloatArray, scaling: str, sharpness: float = 1.0) -> Numbers:
    """Estimates of P(d | t), how far each candidate covers each subtopic, from the cosine of their vectors.

    The papers estimate it with the retrieval model that ranks the candidates for the subtopic as a query, its scores
    scaled within the topic; a cosine, or a score given, takes the place of that.

    Args:
        cosines: [S, N] float32.
        scaling: "cosine": negative ones count as 0. "topic": scaled to [0, 1] over all N x S pairs. "subtopic": scaled
            to [0, 1] over the candidates, for each subtopic. Where all to be scaled are equal, all are 1.
        sharpness: power that the scaled cosine is raised to.

    Returns:
        [S, N] float64 from 0 to 1.
    """
    if scaling == "topic":
        cosines = min_max(cosines)
    elif scaling == "subtopic":
        cosines = np.stack([min_max(row) for row in cosines])
    estimates: Numbers = np.clip(cosines, 0.0, 1.0).astype(np.float64) ** sharpness
    return estimates
