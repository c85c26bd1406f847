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
from srd_agents.heuristic.stepwise import TIED, PartialRanking, Scored, best, greedily_scored, least_tied
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

    def _units(self, topic: Topic) -> FloatArray:
        """[N, F] vectors of length 1."""
        return rows_of(topic.require_vectors(f"ranker {self.name!r}")).unit(slice(None))

    def _weight(self, n: int) -> np.float32:
        """Weight of what one of N candidates adds."""
        weight = np.float32(1.0 - self.config.lambda_)
        return weight / np.float32(n) if self.config.scale == "mean" else weight

    def _gains(self, similarities: FloatArray, state: FloatArray) -> FloatArray:
        """Gains of candidates: [..., M] from their similarities [..., M, N], and states [..., N]."""
        state = state[..., None, :]
        added: FloatArray = self.worth(self.folded(state, similarities)) - self.worth(state)
        gains: FloatArray = added.sum(axis=-1)
        gains *= self._weight(state.shape[-1])
        return gains

    def _shape(self, topic: Topic) -> tuple[int, ...]:
        n, width = super()._shape(topic)
        return n, max(n, width)

    def _choice(self, topics: Sequence[Topic], most: int) -> _Choice:
        return _Choice(self, topics)

    def _first(self, topics: Sequence[Topic], k: int) -> Iterable[Scored]:
        n = topics[0].n_candidates
        if n * n <= LAZY_FROM:
            return super()._first(topics, k)
        return [greedily_scored(_Lazy(self, topic), n, k) for topic in topics]

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


def _similarities(units: FloatArray, documents: IntArray) -> FloatArray:
    """[M, N] of some candidates with all."""
    cosines: FloatArray = np.vecdot(units[documents][:, None], units)
    return np.maximum(cosines, 0, out=cosines)


class _Choice(Choice):
    """Documents chosen so far for B topics of equal size."""

    def __init__(self, ranker: Covering, topics: Sequence[Topic]) -> None:
        self.value, self.ties = ranker._values(topics)
        self._ranker, self._each = ranker, np.arange(len(topics))
        every = np.arange(topics[0].n_candidates)
        self._similarities = np.stack([_similarities(ranker._units(topic), every) for topic in topics])
        self._state = np.zeros_like(self.value)

    def scores(self) -> FloatArray:
        return self._ranker._gains(self._similarities, self._state) + self.value

    def add(self, chosen: IntArray) -> None:
        self._state = self._ranker.folded(self._state, self._similarities[self._each, chosen])


class _Lazy(PartialRanking):
    """The choice for one large topic; no N x N matrix is held."""

    tied = TIED

    def __init__(self, ranker: Covering, topic: Topic) -> None:
        self._ranker, self._units = ranker, ranker._units(topic)
        (self._value,), ties = ranker._values([topic])
        self.ties = None if ties is None else ties[0]
        self._state = np.zeros(topic.n_candidates, dtype=np.float32)
        self._bound = self.scores().astype(np.float32)
        self._doubt = _DOUBT * float((self._bound - self._value).max(initial=0))

    def scores(self) -> ScoreArray:
        """[N], all of them computed."""
        every = np.arange(len(self._state))
        parts = [self._scores(every[start : start + _AT_ONCE]) for start in every[::_AT_ONCE]]
        return np.concatenate(parts, dtype=np.float64)

    def add(self, document: int) -> None:
        """Choose a candidate; what others added is now a bound on what they add."""
        self._state = self._ranker.folded(self._state, _similarities(self._units, np.array([document]))[0])

    def best_of(self, allowed: BoolArray) -> tuple[int, float]:
        """The candidate with the highest score of those allowed, [N], of which there is one, and that score.

        Bounds of those that could be it become their scores.
        """
        places, highest = np.flatnonzero(allowed), -np.inf
        order = places[np.argsort(-self._bound[places], kind="stable")]
        for start in range(0, len(order), _AT_ONCE):
            part = order[start : start + _AT_ONCE]
            if self._bound[part[0]] < min(highest - self._doubt, least_tied(highest, TIED)):
                break
            self._bound[part] = self._scores(part)
            highest = max(highest, float(self._bound[part].max()))
        # Of those not computed anew none reaches it.
        chosen = best(np.where(allowed, self._bound, -np.inf), self.ties, TIED)
        return chosen, self._bound.item(chosen)

    def _scores(self, documents: IntArray) -> FloatArray:
        """Scores of some candidates, [M]."""
        gains = self._ranker._gains(_similarities(self._units, documents), self._state)
        gains += self._value[documents]
        return gains
