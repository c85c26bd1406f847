"""The explicit methods, xQuAD and PM-2, by estimates of how far each candidate covers each subtopic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from srd_agents.heuristic.config import ExplicitConfig, XQuADConfig
from srd_agents.heuristic.greedy import Choice, Greedy, Rows, rows_of
from srd_agents.heuristic.trade_off import min_max, relevance_of, standardised
from srd_gym.protocols import IntArray, ScoreArray
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, Topic

_RANKS = 25
"""Ranks after which a document covers the order only e times less than the first."""
_RANGE = 0.5
"""Highest less lowest of a subtopic's scores in the place of cosines, where those do not differ or are not there."""


class Explicit(Greedy):
    """A greedy ranker that is told the subtopics; subclasses say how documents change what is still to be covered.

    States are [B, S] float64 for B topics side by side with N candidates and S subtopics each.
    """

    start: ClassVar[float]
    """The state of a subtopic before any document is chosen."""

    def __init__(self, config: ExplicitConfig | None = None) -> None:
        self.config = config or ExplicitConfig()

    def _value(self, topic: Topic) -> ScoreArray:
        """The part of a score that does not depend on subtopics, if there is any: [N] float64."""
        return np.zeros(topic.n_candidates)

    @abstractmethod
    def _gains(self, coverage: ScoreArray, weights: ScoreArray, state: ScoreArray) -> ScoreArray:
        """What each candidate's coverage is worth at the next rank: [B, N] float64, an array of its own."""

    @abstractmethod
    def _cover(self, state: ScoreArray, covered: ScoreArray) -> None:
        """Change the state, in place, by the estimates of a chosen document: [B, S] float64."""

    def _named(self, topic: Topic) -> tuple[FloatArray, ScoreArray]:
        """Vectors of the subtopics, the query's last where it counts, and weights that sum to 1, the order's last."""
        vectors = _vectors_of(topic)
        if vectors is None or not topic.n_subtopics:
            raise ValueError(
                f"topic {shown(topic.query_id)} has no subtopic vectors, with which ranker {self.name!r} compares "
                "documents: name subtopics (subtopic_ids) and give their vectors, or their texts and `--vectors lsa` "
                "to `srd data build` or `srd train`, or subtopic_scores, ratings of documents; or take mmr, msd or "
                "dpp, which need none"
            )
        weights = np.ones(len(vectors)) if topic.subtopic_weights is None else topic.subtopic_weights
        weights = np.asarray(weights, dtype=np.float64) / weights.sum(dtype=np.float64)
        share = self.config.order_weight / len(weights)
        if share and topic.query_vector is not None:
            vectors = np.vstack([vectors, topic.query_vector])
        if share and not (topic.query_vector is None and topic.retrieval_scores is None):
            weights = np.append(weights, share) / (1.0 + share)
        return vectors, weights

    def _shape(self, topic: Topic) -> tuple[int, ...]:
        return topic.n_candidates, len(self._named(topic)[1])

    def _choice(self, topics: Sequence[Topic], most: int) -> _Choice:
        values, coverage, rows, shares = [], [], [], []
        for topic in topics:
            subtopics, weights = self._named(topic)
            rated_alone = topic.doc_vectors is None and topic.subtopic_scores is not None and not self.config.novel
            candidates = None if rated_alone else rows_of(topic.require_vectors(f"ranker {self.name!r}"))
            if candidates is not None:
                rows.append(candidates)
            evidence = evidence_of(topic, candidates, subtopics)
            covered = coverage_of(evidence, self.config.coverage, self.config.sharpness)
            if self.config.order_weight and topic.retrieval_scores is not None:
                # The query's cosines only scaled those of the subtopics.
                by_order = np.exp(-np.arange(topic.n_candidates) / _RANKS)
                covered = np.column_stack([covered[:, : topic.n_subtopics], by_order])
            coverage.append(covered)
            values.append(self._value(topic))
            shares.append(weights)
        rows_that_count = rows if self.config.novel else ()
        return _Choice(self, np.stack(values), np.stack(coverage), np.stack(shares), rows_that_count)


class XQuAD(Explicit):
    """xQuAD (Santos, Macdonald & Ounis, WWW 2010).

    Greedy choice by lambda * rel(d) + (1 - lambda) * sum_t w_t P(d | t) prod_{s in S} (1 - P(s | t)).

    rel is as in MMR; w_t are the topic's subtopic weights scaled to sum to 1 (uniform where it has none); P(d | t) is
    estimated from cosines (`coverage_of`). Ties go to the earlier candidate.
    O(N S (F + k)).

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

    def _value(self, topic: Topic) -> ScoreArray:
        relevance = relevance_of(topic, self.config.relevance, f"ranker {self.name!r}")
        return self.config.lambda_ * relevance.astype(np.float64)

    def _gains(self, coverage: ScoreArray, weights: ScoreArray, state: ScoreArray) -> ScoreArray:
        left = (1.0 - self.config.lambda_) * weights * state
        # One dot product a candidate: its last bits depend on nothing else, so that equal documents tie.
        gains: ScoreArray = np.vecdot(coverage, left[:, None, :])
        return gains

    def _cover(self, state: ScoreArray, covered: ScoreArray) -> None:
        state *= 1.0 - covered


class PM2(Explicit):
    """PM-2 (Dang & Croft, SIGIR 2012).

    Seats of the ranking are given to subtopics by the Sainte-Lague method, and documents to seats.

    At each rank subtopic t has the quotient v_t = w_t / (2 s_t + 1); i is the subtopic with the largest one. The
    document with the largest lambda * v_i P(d | i) + (1 - lambda) * sum_{t != i} v_t P(d | t) is chosen, and the seat
    is shared among the subtopics that it covers: s_t += P(d | t) / sum_t' P(d | t'). w are the topic's subtopic weights
    (uniform where it has none); P(d | t) is estimated from cosines (`coverage_of`). A
    document that covers nothing takes no seat. Relevance counts only through P(d | t), where one t may be the order of
    the scores (`order_weight`). O(N S (F + k)); with `novel`, which multiplies the score, O(N (S F + k (S + F))).

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

    def _gains(self, coverage: ScoreArray, weights: ScoreArray, state: ScoreArray) -> ScoreArray:
        lambda_ = self.config.lambda_
        quotients = weights / (2.0 * state + 1.0)
        # Every subtopic as one of the others, and then what its turn adds to that.
        gains: ScoreArray = np.vecdot(coverage, (1.0 - lambda_) * quotients[:, None, :])
        turns = quotients == quotients.max(axis=1, keepdims=True)
        added = (2.0 * lambda_ - 1.0) * quotients[:, None, :] * coverage
        gains += np.where(turns[:, None, :], added, -np.inf).max(axis=2)
        return gains

    def _cover(self, state: ScoreArray, covered: ScoreArray) -> None:
        total = covered.sum(axis=1, keepdims=True)
        state += np.divide(covered, total, out=np.zeros_like(covered), where=total > 0)


class _Choice(Choice):
    """Documents chosen so far for B topics of equal size, and what is to be known for the next ones.

    Args:
        ranker: whose gains count.
        value: [B, N] float64, the part of a score that does not depend on subtopics.
        coverage: [B, N, S] float64 estimates.
        weights: [B, S] float64.
        rows: the candidates of each topic where their novelty counts, else empty.
    """

    def __init__(
        self, ranker: Explicit, value: ScoreArray, coverage: ScoreArray, weights: ScoreArray, rows: Sequence[Rows]
    ) -> None:
        self.value: ScoreArray = value
        self._ranker, self._coverage, self._weights, self._rows = ranker, coverage, weights, rows
        self._state = np.full_like(weights, ranker.start)
        self._each = np.arange(len(value))
        self._nearest = np.zeros(value.shape, dtype=np.float32)

    def scores(self) -> ScoreArray:
        scores = self._ranker._gains(self._coverage, self._weights, self._state)
        if self._rows:
            scores *= 1.0 - self._nearest
        scores += self.value
        return scores

    def add(self, chosen: IntArray) -> None:
        self._ranker._cover(self._state, self._coverage[self._each, chosen])
        if self._rows:
            for nearest, rows, document in zip(self._nearest, self._rows, chosen, strict=True):
                np.maximum(nearest, rows.project(rows.unit(document)).clip(max=1), out=nearest)


def _vectors_of(topic: Topic) -> FloatArray | None:
    """[S, F] vectors of the subtopics; zeros where only scores tell of them; None where nothing does."""
    if topic.subtopic_vectors is not None or topic.subtopic_scores is None:
        return topic.subtopic_vectors
    query = topic.query_vector
    width = topic.vector_width or (0 if query is None else len(query))
    return np.zeros((topic.n_subtopics, width), dtype=np.float32)


def evidence_of(topic: Topic, rows: Rows | None, vectors: FloatArray) -> FloatArray:
    """How far each candidate speaks of each subtopic: their cosines, and scores in their place where there are any.

    `subtopic_scores` are scaled, for each subtopic, to the range of the cosines that they replace. Candidates that are
    not rated for it keep their cosines; without subtopic vectors they stand at the mean of those rated. Equal scores
    stand in the middle.

    Args:
        topic: N candidates, S subtopics.
        rows: the candidates' vectors; None where they have none, and only scores count.
        vectors: [S' >= S, F] float32, those of the subtopics first, then any others.

    Returns:
        [N, S'] float32.
    """
    if rows is None:
        cosines = np.zeros((topic.n_candidates, len(vectors)), dtype=np.float32)
    else:
        units = rows_of(vectors)
        cosines = np.stack([rows.project(units.unit(s)) for s in range(len(vectors))], axis=1)
    if topic.subtopic_scores is not None:
        for column, scores in zip(cosines.T, topic.subtopic_scores.T, strict=False):
            _rate(column, scores, fill=topic.subtopic_vectors is None)
    return cosines


def _rate(column: FloatArray, scores: FloatArray, fill: bool) -> None:
    """Put a subtopic's scores, [N] with NaN, in the place of its cosines; `fill`: their mean where nobody rated."""
    rated = ~np.isnan(scores)
    if not rated.any():
        if fill:
            column[:] = _RANGE / 2
        return
    low, high = float(column[rated].min()), float(column[rated].max())
    if high - low < 1e-6:
        high = low + _RANGE
    same = scores[rated].min() == scores[rated].max()
    column[rated] = low + (high - low) * (0.5 if same else min_max(scores[rated]))
    if fill:
        column[~rated] = column[rated].mean()


def coverage_of(cosines: FloatArray, scaling: str, sharpness: float = 1.0) -> ScoreArray:
    """Estimates of P(d | t), how far each candidate covers each subtopic, from the cosine of their vectors.

    The papers estimate it with the retrieval model that ranks the candidates for the subtopic as a query, its scores
    scaled within the topic; a cosine, or a score given (`evidence_of`), takes the place of that.

    Args:
        cosines: [N, S] float32.
        scaling: "cosine": negative ones count as 0. "topic": scaled to [0, 1] over all N x S pairs. "subtopic": scaled
            to [0, 1] over the candidates, for each subtopic. Where all to be scaled are equal, all are 1.
            "standardised": exp(z + z_t / 2) by its largest value, with standard scores z over all N x S pairs and z_t
            over the candidates, for each subtopic: an irrelevant subtopic, which no candidate is near, then counts
            little, as with "topic", and one that all candidates are near does not count for each of them.
        sharpness: power that the scaled cosine is raised to.

    Returns:
        [N, S] float64 from 0 to 1.
    """
    if scaling == "topic":
        cosines = min_max(cosines)
    elif scaling == "subtopic":
        cosines = np.stack([min_max(column) for column in cosines.T], axis=1)
    elif scaling == "standardised":
        apart = standardised(cosines.ravel()).reshape(cosines.shape).astype(np.float64)
        apart += np.stack([standardised(column) for column in cosines.T], axis=1) / 2
        cosines = np.exp(apart - apart.max())
    estimates: ScoreArray = np.clip(cosines, 0.0, 1.0).astype(np.float64) ** sharpness
    return estimates
