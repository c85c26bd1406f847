"""Rankers whose documents are to stand for all candidates: COVER and facility location.

Each adds to relevance a monotone submodular function of the documents chosen: what a document adds only falls as the
list grows. The greedy choice is therefore within 1 - 1/e of the best set (Nemhauser, Wolsey & Fisher 1978), and large
topics are ranked lazily (Minoux 1978): what a candidate added last is a bound on what it adds now, and only candidates
whose bounds reach the best are computed anew. What is chosen is what computing every one would choose.

They take no `diversity`: documents that stand for many others are alike, so that the documents shown may resemble each
other more, not less, as lambda falls.

Similarity w is the cosine, below 0 taken as 0: negative ones would break monotonicity. Copies of a document
tie exactly, as every cosine is a dot product of its own.

Shapes: B topics side by side, N candidates, F vector width, M some of the candidates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np

from srd_agents.heuristic.config import CoverageConfig, CoverConfig
from srd_agents.heuristic.greedy import BLOCK, Choice, rows_of
from srd_agents.heuristic.stepwise import TIED, PartialRanking, best, least_tied
from srd_agents.heuristic.trade_off import Weighing
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic

LAZY_FROM = BLOCK // 2
"""Similarities (N x N) of a topic above which it is ranked alone and lazily."""
_AT_ONCE = 32
"""Candidates whose gains are computed together."""
_DOUBT = 1e-4
"""Least distance of a bound from the best, in shares of the first gain, at which rounding does not matter."""


class Covering(Weighing):
    """A greedy ranker by lambda * rel(d) + (1 - lambda) * (C(S + d) - C(S)); subclasses say what C is.

    C(S) sums over all candidates i (or is the mean, see `CoverageConfig.scale`) how far the documents chosen stand for
    i, which is a function of one number a candidate, the state. O(N^2 F) once and O(N^2) a rank; lazily, without an
    N x N matrix, a few times N F a rank.

    Args:
        config: lambda, what counts as relevance, and the scale.
    """

    def __init__(self, config: CoverageConfig | None = None) -> None:
        self.config: CoverageConfig = config or CoverageConfig()

    @abstractmethod
    def folded(self, state: FloatArray, similarity: FloatArray) -> FloatArray:
        """The state with one more document, [..., N], from its similarities with all candidates, [..., N]."""

    @abstractmethod
    def worth(self, state: FloatArray) -> FloatArray:
        """Degree to which each candidate is represented: [..., N] from states."""

    def _shape(self, topic: Topic) -> tuple[int, ...]:
        n, width = topic.require_vectors(f"ranker {self.name!r}").shape
        return n, max(n, width)

    def _choice(self, topics: Sequence[Topic], most: int) -> _Choice:
        return _Choice(self, topics)

    def _first(self, topics: Sequence[Topic], k: int) -> Iterable[IntArray]:
        n = topics[0].n_candidates
        if n * n <= LAZY_FROM:
            return super()._first(topics, k)
        return [_Lazy(self, topic).first(k) for topic in topics]

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        return _Lazy(self, topic) if topic.n_candidates**2 > LAZY_FROM else super().progress(topic)


class Cover(Covering):
    """COVER (pyversity): C(S) = sum over candidates i of (sum over s in S of w_is)^gamma.

    Concave over modular: with gamma 1 every document counts alone, whatever is chosen.
    """

    name: ClassVar[str] = "cover"

    def __init__(self, config: CoverConfig | None = None) -> None:
        self.config: CoverConfig = config or CoverConfig()

    def folded(self, state: FloatArray, similarity: FloatArray) -> FloatArray:
        """The sum of similarities."""
        return state + similarity

    def worth(self, state: FloatArray) -> FloatArray:
        """Its power."""
        powers: FloatArray = np.sqrt(state) if self.config.gamma == 0.5 else state ** np.float32(self.config.gamma)
        return powers


class FacilityLocation(Covering):
    """Facility location: C(S) = sum over candidates i of max over s in S of w_is (Lin & Bilmes, ACL-HLT 2011).

    With the mean over candidates instead of the sum (`scale`), and relevance beside it.
    """

    name: ClassVar[str] = "facility-location"

    def folded(self, state: FloatArray, similarity: FloatArray) -> FloatArray:
        """The similarity with the nearest document chosen."""
        nearest: FloatArray = np.maximum(state, similarity)
        return nearest

    def worth(self, state: FloatArray) -> FloatArray:
        """That similarity."""
        return state


class _Topic:
    """One topic's similarities and values.

    Args:
        ranker: whose choice it is.
        topic: with vectors.
    """

    def __init__(self, ranker: Covering, topic: Topic) -> None:
        rows = rows_of(topic.require_vectors(f"ranker {ranker.name!r}"))
        self._units = rows.unit(slice(None))
        (self.value,), ties = ranker._values([topic])
        self.ties = None if ties is None else ties[0]
        self.weight = np.float32(1.0 - ranker.config.lambda_)
        if ranker.config.scale == "mean":
            self.weight /= np.float32(topic.n_candidates)

    def similarities(self, documents: IntArray) -> FloatArray:
        """[M, N] of some candidates with all."""
        cosines: FloatArray = np.vecdot(self._units[documents][:, None], self._units)
        return np.maximum(cosines, 0, out=cosines)


def _gains(ranker: Covering, similarities: FloatArray, state: FloatArray) -> FloatArray:
    """Gains of candidates: [..., M] from their similarities [..., M, N], and states [..., N]."""
    state = state[..., None, :]
    added: FloatArray = ranker.worth(ranker.folded(state, similarities)) - ranker.worth(state)
    gains: FloatArray = added.sum(axis=-1)
    return gains


class _Choice(Choice):
    """Documents chosen so far for B topics of equal size."""

    def __init__(self, ranker: Covering, topics: Sequence[Topic]) -> None:
        each = [_Topic(ranker, topic) for topic in topics]
        self.value, self.ties = ranker._values(topics)
        every = np.arange(topics[0].n_candidates)
        self._ranker, self._weight, self._each = ranker, each[0].weight, np.arange(len(each))
        self._similarities = np.stack([own.similarities(every) for own in each])
        self._state = np.zeros_like(self.value)

    def scores(self) -> FloatArray:
        """[B, N]."""
        gains = _gains(self._ranker, self._similarities, self._state)
        gains *= self._weight
        gains += self.value
        return gains

    def add(self, chosen: IntArray) -> None:
        """Choose one document for each topic, [B]."""
        self._state = self._ranker.folded(self._state, self._similarities[self._each, chosen])


class _Lazy(PartialRanking):
    """The choice for one large topic; no N x N matrix is held."""

    tied = TIED

    def __init__(self, ranker: Covering, topic: Topic) -> None:
        self._ranker, self._topic = ranker, _Topic(ranker, topic)
        self.ties = self._topic.ties
        self._state = np.zeros(topic.n_candidates, dtype=np.float32)
        self._bound = self._all()
        self._doubt = _DOUBT * float((self._bound - self._topic.value).max(initial=0))
        self._exact = True

    def scores(self) -> ScoreArray:
        """[N], all of them computed."""
        return self._all().astype(np.float64)

    def _all(self) -> FloatArray:
        every = np.arange(len(self._state))
        return np.concatenate([self._scores(every[start : start + _AT_ONCE]) for start in every[::_AT_ONCE]])

    def add(self, document: int) -> None:
        """Choose a candidate; what others added is now a bound on what they add."""
        self._state = self._ranker.folded(self._state, self._topic.similarities(np.array([document]))[0])
        self._exact = False

    def first(self, k: int) -> IntArray:
        """The first k: [k] int64."""
        ranking, left = np.empty(k, dtype=np.int64), np.ones(len(self._state), np.bool_)
        for rank in range(k):
            ranking[rank] = chosen = self.best_of(left)
            left[chosen] = False
            if rank + 1 < k:
                self.add(chosen)
        return ranking

    def best_of(self, allowed: BoolArray) -> int:
        """The candidate with the highest score of those allowed, [N], of which there is one.

        Bounds of those that could be it become their scores.
        """
        places, highest = np.flatnonzero(allowed), -np.inf
        order = places[:0] if self._exact else places[np.argsort(-self._bound[places], kind="stable")]
        for start in range(0, len(order), _AT_ONCE):
            part = order[start : start + _AT_ONCE]
            if self._bound[part[0]] < min(highest - self._doubt, least_tied(highest, TIED)):
                break
            self._bound[part] = self._scores(part)
            highest = max(highest, float(self._bound[part].max()))
        # Of those not computed anew none reaches it.
        return best(np.where(allowed, self._bound, -np.inf), self.ties, TIED)

    def _scores(self, documents: IntArray) -> FloatArray:
        """Scores of some candidates, [M]."""
        similarities = self._topic.similarities(documents)
        gains = self._topic.weight * _gains(self._ranker, similarities, self._state)
        gains += self._topic.value[documents]
        return gains
