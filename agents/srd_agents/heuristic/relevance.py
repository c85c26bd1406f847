"""Relevance as heuristics take it, and the ranking by it alone.

Shapes: N candidates of a topic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_agents.heuristic.config import Metric
from srd_agents.heuristic.greedy import rows_by
from srd_agents.heuristic.stepwise import ByScores, OneByOne, PartialRanking, Scored, evened, falling_order
from srd_gym.checks import check_integer
from srd_gym.dtypes import AnyArray, IntArray, ScoreArray
from srd_gym.reading import shown
from srd_gym.showing import repr_of
from srd_gym.topic import FloatArray, Topic

ROUNDING = 1e-6
"""Largest rounding error of cosines."""
_SAME = 1e-3
"""Difference up to which scores are taken for the cosines, which vector stores often round."""


def relevance_of(topic: Topic, kind: str, ranker: str, metric: Metric = "cosine") -> FloatArray:
    """Relevance of the candidates: [N] float32.

    Args:
        topic: the topic.
        kind: one of `srd_agents.heuristic.config.Relevance`.
        ranker: who asks, for the errors.
        metric: what the cosine is: the product of both vectors for "dot".

    Raises:
        ValueError: the topic lacks what this kind needs; the message says which kinds do without.
    """
    scores = topic.retrieval_scores
    if kind == "auto":
        kind = "cosine" if scores is None else "minmax"
    if kind == "cosine" or (kind == "matched" and scores is None):
        if topic.query_vector is None:
            raise ValueError(
                f"topic {shown(topic.query_id)} has no query vector, so {ranker} has no relevance by cosine; "
                "give query vectors, or use relevance='minmax' where there are retrieval scores"
            )
        near = cosines(topic.query_vector, topic.require_vectors(ranker), metric)
        if near.item(near.argmax()) - near.item(near.argmin()) <= ROUNDING:
            near[:] = near[0]  # which no scaling may turn into an order
        return near
    if scores is None:
        raise ValueError(
            f"topic {shown(topic.query_id)} has no retrieval scores, which {ranker} with relevance={kind!r} needs; "
            "use relevance='cosine'"
        )
    if kind == "scores":
        return scores
    if kind == "matched":
        query = topic.query_vector
        return matched(scores, None if query is None else cosines(query, topic.require_vectors(ranker), metric))
    if kind == "minmax":
        return min_max(scores)
    return (1.0 - np.arange(len(scores)) / len(scores)).astype(np.float32)


def cosines(query: FloatArray, vectors: FloatArray, metric: Metric = "cosine") -> FloatArray:
    """Cosine of a query [F] and each vector [N, F], or their product: [N] float32."""
    return rows_by(metric, vectors).project(rows_by(metric, query[None]).unit(0))


def matched(scores: FloatArray, near: FloatArray | None) -> FloatArray:
    """Scores on the scale of cosines, so that one weight means the same for every first stage: [N] float32.

    They get the mean and the standard deviation of the cosines with the query; if they are then those cosines, up to
    rounding, the cosines count. Without cosines, or where all of those are equal, they are scaled to [0, 1]. So an
    affine change of scores (a * s + b, a > 0) changes nothing.

    Args:
        scores: [N], of the first stage.
        near: [N] cosines of query and document; None where there is no query vector.
    """
    if near is None:
        return min_max(scores)
    (on_scale, _, spread), (_, mean, wanted) = centred(scores), centred(near)
    if wanted <= ROUNDING or spread <= ROUNDING * float(np.abs(scores).max()):
        return min_max(scores)
    on_scale *= wanted / spread
    on_scale += mean
    if np.abs(on_scale - near).max() <= min(_SAME, wanted / 10):
        return near
    return on_scale.astype(np.float32)


def centred(values: FloatArray) -> tuple[ScoreArray, float, float]:
    """Values [N] less their mean, in float64, the mean, and the standard deviation."""
    wide = values.astype(np.float64)
    mean = float(np.add.reduce(wide)) / len(wide)
    wide -= mean
    return wide, mean, float(np.vecdot(wide, wide) / len(wide)) ** 0.5


def min_max(values: AnyArray, rounding: float = ROUNDING) -> FloatArray:
    """Values scaled to [0, 1]; all 1 where they are equal but for rounding, which is this part of the largest."""
    wide = values.astype(np.float64)
    low, high = wide.item(wide.argmin()), wide.item(wide.argmax())  # `min` takes longer to begin
    if high - low <= rounding * max(abs(low), abs(high)):
        return np.ones(values.shape, dtype=np.float32)
    wide -= low
    wide /= high - low
    return wide.astype(np.float32)


class ByRelevance(OneByOne):
    """The order of relevance, ties to the earlier candidate.

    Args:
        relevance: one of `srd_agents.heuristic.config.Relevance`, "matched" being the order of "auto"; None: "auto",
            or as the candidates stand where the topic has neither scores nor a query.
        metric: one of `srd_agents.heuristic.config.Metric`.
    """

    __repr__ = repr_of("relevance")

    name = "order of relevance"

    def __init__(self, relevance: str | None, metric: Metric = "cosine") -> None:
        self.relevance, self.metric = "auto" if relevance == "matched" else relevance, metric

    @property
    def weighs_cosines(self) -> bool:
        """Whether that is the cosine of query and document where there are no scores."""
        return self.relevance in ("auto", "cosine")

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The k most relevant: [min(k, N)] int64."""
        return self.rank_scored([topic], k)[0][0]

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        return ByScores(evened(relevance_or_none(topic, self.relevance, self.metric)).astype(np.float64))

    def rank_scored(self, topics: Sequence[Topic], k: int) -> list[Scored]:
        """`rank_batch`, with the relevance."""
        check_integer("k", k, 1)
        every = [relevance_or_none(topic, self.relevance, self.metric) for topic in topics]
        orders = [falling_order(relevance)[:k].copy() for relevance in every]
        return [(order, relevance[order]) for order, relevance in zip(orders, every, strict=True)]


def relevance_or_none(topic: Topic, kind: str | None, metric: Metric = "cosine") -> ScoreArray:
    """[N] relevance; zeros where nothing says anything of it and the ranker needs none."""
    if kind is None and topic.retrieval_scores is None and topic.query_vector is None:
        return np.zeros(topic.n_candidates)
    return relevance_of(topic, kind or "auto", "relevance=", metric).astype(np.float64)
