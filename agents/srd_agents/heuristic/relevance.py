"""Relevance as heuristics take it, and the ranking by it alone.

Shapes: N candidates of a topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.greedy import rows_of
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, Topic

_ROUNDING = 1e-6
"""Largest rounding error of cosines."""
_SAME = 1e-3
"""Difference up to which scores are taken for the cosines, which vector stores often round."""


def relevance_of(topic: Topic, kind: str, ranker: str) -> FloatArray:
    """Relevance of the candidates: [N] float32.

    Args:
        topic: the topic.
        kind: one of `srd_agents.heuristic.config.Relevance`.
        ranker: who asks, for the errors.

    Raises:
        ValueError: the topic lacks what this kind needs; the message says which kinds do without.
    """
    scores = topic.retrieval_scores
    if kind == "auto":
        kind = "cosine" if scores is None else "scaled"
    if kind == "cosine" or (kind == "matched" and scores is None):
        if topic.query_vector is None:
            raise ValueError(
                f"topic {shown(topic.query_id)} has no query vector, so {ranker} has no relevance by cosine; "
                "give query vectors, or use relevance='scaled' where there are retrieval scores"
            )
        return cosines(topic.query_vector, topic.require_vectors(ranker))
    if scores is None:
        raise ValueError(
            f"topic {shown(topic.query_id)} has no retrieval scores, which {ranker} with relevance={kind!r} needs; "
            "use relevance='cosine'"
        )
    if kind == "scores":
        return scores
    if kind == "matched":
        query = topic.query_vector
        return matched(scores, None if query is None else cosines(query, topic.require_vectors(ranker)))
    if kind == "scaled":
        return min_max(scores)
    return (1.0 - np.arange(len(scores)) / len(scores)).astype(np.float32)


def cosines(query: FloatArray, vectors: FloatArray) -> FloatArray:
    """Cosine of a query [F] and each vector [N, F]: [N] float32."""
    return rows_of(vectors).project(rows_of(query[None]).unit(0))


def matched(scores: FloatArray, near: FloatArray | None) -> FloatArray:
    """Scores on the scale of cosines, so that one weight means the same for every first stage: [N] float32.

    They are multiplied so that their standard deviation is that of the cosines with the query; if they are those
    cosines, up to rounding, the cosines count. Without cosines, or where all of those are equal, scores within [-1, 1]
    count as they are, and others are scaled to [0, 1].

    Args:
        scores: [N], of the first stage.
        near: [N] cosines of query and document; None where there is no query vector.
    """
    if near is not None:
        if np.abs(scores - near).max() <= _SAME:
            return near
        spread, wanted = float(scores.std(dtype=np.float64)), float(near.std(dtype=np.float64))
        if spread > 0.0 and wanted > _ROUNDING:
            on_scale: FloatArray = (scores.astype(np.float64) * (wanted / spread)).astype(np.float32)
            return on_scale
    return scores if float(np.abs(scores).max()) <= 1.0 + _ROUNDING else min_max(scores)


def min_max(values: NDArray[Any]) -> FloatArray:
    """Values scaled to [0, 1]; all 1 where they are equal."""
    wide = values.astype(np.float64)
    low, high = wide.min(), wide.max()
    if high == low:
        return np.ones(values.shape, dtype=np.float32)
    scaled: FloatArray = ((wide - low) / (high - low)).astype(np.float32)
    return scaled


class ByRelevance:
    """The order of relevance, ties to the earlier candidate.

    Args:
        relevance: one of `srd_agents.heuristic.config.Relevance`, "matched" being the order of "auto"; None: "auto",
            or as the candidates stand where the topic has neither scores nor a query.
    """

    name = "order of relevance"

    def __init__(self, relevance: str | None) -> None:
        self.relevance = "auto" if relevance == "matched" else relevance

    @property
    def weighs_cosines(self) -> bool:
        """Whether that is the cosine of query and document where there are no scores."""
        return self.relevance in ("auto", "cosine")

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The k most relevant: [min(k, N)] int64."""
        check_integer("k", k, 1)
        return np.argsort(-relevance_or_none(topic, self.relevance), kind="stable")[:k]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic."""
        return [self.rank(topic, k) for topic in topics]


def relevance_or_none(topic: Topic, kind: str | None) -> ScoreArray:
    """[N] relevance; zeros where nothing says anything of it and the ranker needs none."""
    if kind is None and topic.retrieval_scores is None and topic.query_vector is None:
        return np.zeros(topic.n_candidates)
    return relevance_of(topic, kind or "auto", "relevance=").astype(np.float64)
