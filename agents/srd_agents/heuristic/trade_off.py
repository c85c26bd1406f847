"""MMR, MSD and DPP: relevance, greedily traded for distance to what is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from srd_agents.heuristic.config import Metric, MMRConfig, Relevance, TradeOffConfig
from srd_agents.heuristic.greedy import BLOCK, ByObjective, Greedy, Objective, Rows, chosen_alone, rows_of
from srd_agents.heuristic.lazy import lazily
from srd_agents.heuristic.relevance import ROUNDING, ByRelevance, centred, relevance_of
from srd_agents.heuristic.stepwise import STRETCHED, TIED, Scored, best
from srd_gym.protocols import Ranker
from srd_gym.topic import FloatArray, Topic

LAZY_FROM = BLOCK // 2
"""Vector entries of a topic above which it is ranked alone and lazily."""
_DOUBT = 1e-5
"""A score by a fast product that is this much below the best, for each document chosen, may still be it."""
SPANNED = 1e-6
"""Squared rest of a unit vector below which the documents chosen before span it."""
_LEAST = np.float32(SPANNED)
_SMALL = 0.01
"""Squared rest of a vector below which its direction is made orthogonal a second time."""


class Weighing(Greedy):
    """A greedy ranker by vectors that weighs relevance, by lambda, against something else."""

    def __init__(self, config: TradeOffConfig | None = None) -> None:
        self.config = config or TradeOffConfig()

    @property
    def weighs_cosines(self) -> bool:
        """Whether relevance is the cosine of query and document where there are no scores."""
        return self.config.relevance in ("auto", "cosine", "matched")

    def with_relevance(self, relevance: Relevance) -> Ranker:
        """With another kind of relevance."""
        return self._with(relevance=relevance)

    def _with(self, **options: Any) -> Ranker:
        made: Any = type(self)
        ranker: Ranker = made(replace(self.config, **options))
        return ranker

    def _values(self, topics: Sequence[Topic]) -> tuple[FloatArray, FloatArray | None]:
        """Part of relevance in the scores of topics of one size, an array of its own, and ties: [B, N] float32."""
        relevance = _stacked([self._relevance(topic) for topic in topics])
        value: FloatArray = np.float32(self.config.lambda_) * relevance
        return value, ties_of(topics, relevance)

    def _relevance(self, topic: Topic) -> FloatArray:
        """[N] float32."""
        return relevance_of(topic, self.config.relevance, f"ranker {self.name!r}")

    def _shape(self, topic: Topic) -> tuple[int, ...]:
        return topic.require_vectors(f"ranker {self.name!r}").shape


class AgainstLikeness(Weighing):
    """A greedy ranker that weighs relevance against the similarity of the documents chosen, so it takes a diversity."""

    def with_diversity(self, diversity: float) -> Ranker:
        """With lambda = 1 - diversity, and "matched" in the place of relevance "auto"."""
        relevance = "matched" if self.config.relevance == "auto" else self.config.relevance
        if not diversity:
            return ByRelevance(relevance, getattr(self.config, "metric", "cosine"))
        return self._with(lambda_=1.0 - diversity, relevance=relevance)


class TradeOff(AgainstLikeness, Objective):
    """A greedy ranker by vectors: a document's value is its weighted relevance, the rest of its score a state."""

    def __init__(self, config: TradeOffConfig | None = None) -> None:
        super().__init__(config)
        self._weight = np.float32(1.0 - self.config.lambda_)

    def _choice(self, topics: Sequence[Topic], most: int) -> ByObjective:
        vectors = _stacked([topic.require_vectors(f"ranker {self.name!r}") for topic in topics])
        value, ties = self._values(topics)
        return ByObjective(vectors, value, self, most, ties)

    def _first(self, topics: Sequence[Topic], k: int) -> Iterable[Scored]:
        if len(topics) > 1 or self.metric == "given":
            return super()._first(topics, k)
        vectors = topics[0].require_vectors(f"ranker {self.name!r}")
        (value,), ties = self._values(topics)
        one = None if ties is None else ties[0]
        if vectors.size <= LAZY_FROM:
            return [chosen_alone(vectors, value, k, self, one)]
        return [self._large(vectors, value, k, one)]

    def _large(self, vectors: FloatArray, value: FloatArray, k: int, ties: FloatArray | None) -> Scored:
        """The ranking of a large topic, which is ranked alone, and its scores: [k]."""
        return lazily(vectors, value, k, self, ties)


class MMR(TradeOff):
    """Greedy choice of the next document by lambda * rel(d) - (1 - lambda) * max_{s in S} sim(d, s).

    rel is the cosine of query and document, or a retrieval score or rank (see `MMRConfig.relevance`); sim is the cosine
    of two documents (or another `MMRConfig.metric`); the cosine with a zero vector is 0. With nothing selected the
    second part is 0. At most one row of similarities per selected document is computed, O(k N F), and of large topics
    only those that can matter (`srd_agents.heuristic.lazy`); there is no N x N matrix.

    Args:
        config: lambda, and what counts as relevance and similarity.
    """

    name = "mmr"
    looks_back = False

    def __init__(self, config: MMRConfig | None = None) -> None:
        config = config or MMRConfig()
        super().__init__(config)
        # A similarity below 0 would raise a score at first.
        self.falls_at_once, self.metric = config.clip, config.metric
        self.start = 0.0 if config.clip else -np.inf

    def with_metric(self, metric: Metric) -> Ranker:
        """With another kind of similarity."""
        return self._with(metric=metric)

    def _relevance(self, topic: Topic) -> FloatArray:
        return relevance_of(topic, self.config.relevance, f"ranker {self.name!r}", self.metric)

    def direction(self, vector: FloatArray, scale: Any, earlier: FloatArray) -> FloatArray:
        """The weight goes into the chosen vector: F products instead of N."""
        weighted: FloatArray = vector * (scale * self._weight)
        return weighted

    def fold(self, state: FloatArray, projection: FloatArray) -> None:
        """The state is the weighted similarity with the nearest chosen document."""
        np.maximum(state, projection, out=state)


class MSD(TradeOff):
    """Greedy choice of the next document by lambda * rel(d) + (1 - lambda) * sum_{s in S} (1 - cos(d, s)).

    The sum of distances is |S| - d . sum_s s, and |S| is the same for every document: one product with the sum of the
    chosen unit vectors ranks them. The cosine with a zero vector is 0. O(k N F).
    Scores grow with the list, so that nothing bounds them: every product is computed.

    Differs from the paper: the greedy step takes the whole sum of distances, not half of it (Borodin et al. weigh the
    next document's distances by the number it adds to the final sum); lambda makes up for the factor.

    Args:
        config: lambda, and what counts as relevance.
    """

    name = "msd"

    def _large(self, vectors: FloatArray, value: FloatArray, k: int, ties: FloatArray | None) -> Scored:
        return _by_fast_products(rows_of(vectors), value, k, self._weight, ties)

    def direction(self, vector: FloatArray, scale: Any, earlier: FloatArray) -> FloatArray:
        """The weighted sum of the chosen documents."""
        total: FloatArray = vector * (scale * self._weight)
        if earlier.shape[-2]:
            total += earlier[..., -1, :]
        return total

    def fold(self, state: FloatArray, projection: FloatArray) -> None:
        """The state is the product with that sum."""
        state[...] = projection


def ties_of(topics: Sequence[Topic], relevance: FloatArray) -> FloatArray | None:
    """Tie breakers of topics of one size.

    Args:
        topics: B of them.
        relevance: [B, N].

    Returns:
        [B, N] float32: relevance, and zeros for topics with a retrieval order; None where all have one.
    """
    unordered = [topic.retrieval_scores is None for topic in topics]
    return relevance * np.array(unordered)[:, None] if any(unordered) else None


def _by_fast_products(rows: Rows, value: FloatArray, k: int, weight: np.float32, ties: FloatArray | None) -> Scored:
    """The choice for one topic, and its scores: [k].

    The last bits of a matrix product depend on where a row stands, so candidates within rounding of the best are
    compared by products of their own: the choice is that of `ByObjective`.
    """
    vectors, scale = rows
    weighted = scale * weight
    ranking = np.empty(k, dtype=np.int64)
    score = np.empty_like(value)
    total = np.zeros(vectors.shape[1], dtype=np.float32)
    ranking[0] = chosen = best(value, ties, TIED)
    scores = np.empty(k)
    scores[0] = value[chosen]
    for rank in range(1, k):
        value[chosen] = -np.inf
        total += vectors[chosen] * weighted[chosen]
        np.dot(vectors, total, out=score)
        score *= scale
        np.subtract(value, score, out=score)
        chosen = int(score.argmax())
        least = float(score[chosen]) - _DOUBT * rank
        score[chosen] = -np.inf
        if score[score.argmax()] >= least:
            close = np.append(np.flatnonzero(score >= least), chosen)
            close.sort()
            exact = value[close] - Rows(vectors[close], scale[close]).project(total)
            chosen = int(close[best(exact, None if ties is None else ties[close], TIED)])
        ranking[rank], scores[rank] = chosen, value[chosen] - np.vecdot(vectors[chosen], total) * scale[chosen]
    return ranking, scores


class DPP(TradeOff):
    """Greedy choice of the documents S with the largest lambda * sum rel(d) + (1 - lambda) * log det C_S.

    C holds the cosines of the documents, so det C_S is the squared volume that their unit vectors span. This is the
    most probable set of the process with kernel L = diag(e^(a rel)) C diag(e^(a rel)), a = lambda / (2 (1 - lambda))
    (Chen et al. 2018, Equations 8 to 10), for every lambda below 1; lambda = 1 is the order of relevance. rel is
    standardised within the topic (mean 0, deviation 1). A document adds lambda * rel(d) + (1 - lambda) * log r(d),
    where r(d) = 1 - sum_s (d . q_s)^2 is what the directions q of the chosen documents leave of it: the squared
    diagonal of their incremental Cholesky factor, found by projecting, so that documents nobody asks about cost
    nothing. No residual is taken as less than 1e-6: documents that the chosen ones span, copies and all documents
    after the F-th among them, follow in the order of relevance. A zero vector is orthogonal to all.

    Differs from the paper: relevance is standardised, so that one lambda means the same for every kind of relevance;
    cosines are not shifted to (1 + cos) / 2; and residuals have a floor instead of the list an early end.

    Args:
        config: lambda, and what counts as relevance.
    """

    name = "dpp"
    start = 1.0
    falls_at_once = True
    tied = STRETCHED

    def _relevance(self, topic: Topic) -> FloatArray:
        return standardised(super()._relevance(topic))

    def direction(self, vector: FloatArray, scale: Any, earlier: FloatArray) -> FloatArray:
        """Direction that the document adds to the span of those chosen."""
        unit = vector * scale
        return _new_direction(unit, earlier) if unit.ndim == 1 else _new_directions(unit, earlier)

    def fold(self, state: FloatArray, projection: FloatArray) -> None:
        """The state is what is left of the squared length."""
        projection *= projection
        state -= projection

    def scored(self, value: FloatArray, state: FloatArray) -> FloatArray:
        """Value plus the weighted logarithm of what is left."""
        left: FloatArray = np.maximum(state, _LEAST)
        np.log(left, out=left)
        left *= self._weight
        left += value
        return left


def _new_direction(unit: FloatArray, earlier: FloatArray) -> FloatArray:
    """Part of a unit vector [F] outside orthonormal directions [t, F], at length 1; zeros where there is none."""
    rest: FloatArray = np.subtract(unit, earlier.dot(unit).dot(earlier))
    square = float(rest.dot(rest))
    if square < _SMALL:
        # Much was taken away: what rounding left of it in the earlier directions is taken away as well.
        rest -= earlier.dot(rest).dot(earlier)
        square = float(rest.dot(rest))
    rest *= np.float32(square**-0.5 if square > SPANNED else 0.0)
    return rest


def _new_directions(unit: FloatArray, earlier: FloatArray) -> FloatArray:
    """`_new_direction` of B topics: [B, F] from [B, F] and [B, t, F]; no topic's numbers depend on another's."""
    rest: FloatArray = unit - _within(unit, earlier)
    squares = np.vecdot(rest, rest)
    again = squares < _SMALL
    if again.any():
        rest[again] -= _within(rest[again], earlier[again])
        squares = np.vecdot(rest, rest)
    new = squares > SPANNED
    rest *= np.divide(1, np.sqrt(squares), out=np.zeros_like(squares), where=new)[:, None]
    return rest


def _within(vectors: FloatArray, directions: FloatArray) -> FloatArray:
    """Part of vectors [B, F] in orthonormal directions [B, t, F]."""
    inside: FloatArray = np.matmul(np.matmul(vectors[:, None, :], directions.swapaxes(1, 2)), directions)[:, 0]
    return inside


def _stacked(arrays: Sequence[FloatArray]) -> FloatArray:
    """Arrays of one shape side by side; a single one is not copied."""
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)


def standardised(relevance: FloatArray) -> FloatArray:
    """Relevance less its mean, by its standard deviation: [N] float32; zeros where all are equal."""
    wide, _, spread = centred(relevance)
    # Equal numbers may leave a rounding error of their mean, which must not become an order.
    if spread <= ROUNDING * float(np.abs(relevance).max(initial=0)):
        return np.zeros_like(relevance)
    scaled: FloatArray = (wide / spread).astype(np.float32)
    return scaled
