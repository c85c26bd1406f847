"""What relevance is to a heuristic: a column of numbers for a topic's candidates, from what the topic has."""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.vectors import min_max, rows_of
from srd_gym.topic import FloatArray, Topic


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
