"""Maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_agents.config import check_count
from srd_agents.heuristic.blocks import blocks_of_equal_shape
from srd_agents.heuristic.config import MMRConfig
from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic

_BLOCK = 1 << 15
"""Vector entries worked on at once: stacking pays for small topics only, large ones are ranked one by one."""
_SMALL, _LARGE = np.float32(1e-15), np.float32(1e15)
"""Lengths between which float32's squares are exact enough."""


class MMR:
    """Greedy choice of the next document by lambda * rel(d) - (1 - lambda) * max_{s in S} sim(d, s).

    rel is the cosine of query and document, or a retrieval score or rank (see `MMRConfig.relevance`); sim is the cosine
    of two documents; the cosine with a zero vector is 0. With nothing selected the second part is 0. Ties go to the
    earlier candidate. One row of similarities per selected document is computed: O(k N F) time, no N x N matrix.

    Args:
        config: lambda, and what counts as relevance.
    """

    def __init__(self, config: MMRConfig | None = None) -> None:
        self.config = config or MMRConfig()

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents: [min(k, N)] int64.

        Raises:
            ValueError: the topic lacks vectors, or what the chosen relevance needs.
        """
        return self.rank_batch([topic], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; topics with equally many candidates are ranked side by side."""
        check_count("k", k)
        rankings: dict[int, IntArray] = {}
        for block in blocks_of_equal_shape([_vectors(topic).shape for topic in topics], _BLOCK):
            rankings.update(zip(block, self._rank_block([topics[index] for index in block], k), strict=True))
        return [rankings[index] for index in range(len(topics))]

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """MMR's score of each candidate as the next document: [N] float64.

        Args:
            topic: the topic.
            selected: [r] int64, candidates ranked so far.
            allowed: [N] bool; others score minus infinity.
        """
        unit = _unit(_vectors(topic)[None])
        value = np.float32(self.config.lambda_) * self._relevance(topic, unit[0])
        if len(selected):
            # Row by row, as `select` does it: the same sums, so that ties fall alike.
            value -= np.max([_penalty(unit, unit[:, i], self.config.lambda_)[0] for i in selected], axis=0)
        return np.where(allowed, value.astype(np.float64), -np.inf)

    def _rank_block(self, topics: Sequence[Topic], k: int) -> IntArray:
        """Rankings of B topics of equal size: [B, k] int64."""
        unit = _unit(_vectors(topics[0])[None] if len(topics) == 1 else np.stack([_vectors(topic) for topic in topics]))
        relevance = np.stack([self._relevance(topic, rows) for topic, rows in zip(topics, unit, strict=True)])
        return select(unit, relevance, self.config.lambda_, min(k, unit.shape[1]))

    def _relevance(self, topic: Topic, unit: FloatArray) -> FloatArray:
        """[N] float32 relevance of the candidates, whose unit vectors are given."""
        kind = self.config.relevance
        if kind == "auto":
            kind = "scores" if topic.retrieval_scores is not None else "cosine"
        if kind == "cosine":
            if topic.query_vector is None:
                raise ValueError(
                    f"topic {topic.query_id!r} has no query vector, so MMR has no relevance by cosine; "
                    "give query vectors, or use relevance='scores' where there are retrieval scores"
                )
            cosine: FloatArray = unit @ _unit(topic.query_vector[None])[0]
            return cosine
        if topic.retrieval_scores is None:
            raise ValueError(
                f"topic {topic.query_id!r} has no retrieval scores, which MMR with relevance={kind!r} needs; "
                "use relevance='cosine'"
            )
        ranks = np.arange(topic.n_candidates)
        if kind == "rank":
            return (1.0 - ranks / topic.n_candidates).astype(np.float32)
        if kind == "reciprocal_rank":
            return (1.0 / (ranks + 1)).astype(np.float32)
        return _min_max(topic.retrieval_scores)


def select(unit: FloatArray, relevance: FloatArray, lambda_: float, k: int) -> IntArray:
    """MMR of B topics with N candidates each, side by side.

    Args:
        unit: [B, N, F] float32 unit vectors (or zero).
        relevance: [B, N] float32.
        lambda_: weight of relevance.
        k: documents to choose, at most N.

    Returns:
        [B, k] int64.
    """
    lanes = np.arange(len(unit))
    ranking = np.empty((len(unit), k), dtype=np.int64)
    value = np.float32(lambda_) * relevance
    nearest = np.full_like(value, -np.inf)
    score = value
    for rank in range(k):
        if rank:
            score = value - nearest
        chosen = np.argmax(score, axis=1)
        ranking[:, rank] = chosen
        if rank + 1 < k:
            value[lanes, chosen] = -np.inf
            np.maximum(nearest, _penalty(unit, unit[lanes, chosen], lambda_), out=nearest)
    return ranking


def _penalty(unit: FloatArray, chosen: FloatArray, lambda_: float) -> FloatArray:
    """(1 - lambda) times the cosine of every candidate and the chosen one: [B, N], from [B, N, F] and [B, F]."""
    # The weight goes into the chosen vector: F products instead of N.
    weighted = chosen * np.float32(1.0 - lambda_)
    row: FloatArray = np.matmul(unit, weighted[:, :, None])[:, :, 0]
    return row


def _vectors(topic: Topic) -> FloatArray:
    """The document vectors of a topic, or an error that says how to make them."""
    if topic.doc_vectors is None:
        raise ValueError(
            f"topic {topic.query_id!r} has no document vectors, which MMR compares documents by; "
            "make them with `srd data build ... --vectors lsa` (from texts) or `--vectors FILE`"
        )
    return topic.doc_vectors


def _unit(vectors: FloatArray) -> FloatArray:
    """Vectors scaled to length 1 along the last axis; zero vectors stay zero.

    Rows whose squares leave float32's range are measured in float64.
    """
    with np.errstate(over="ignore"):
        lengths: FloatArray = np.sqrt(np.einsum("...f,...f->...", vectors, vectors), dtype=np.float32)
    extreme = (lengths < _SMALL) | (lengths > _LARGE)
    if not extreme.any():
        unit: FloatArray = np.divide(vectors, lengths[..., None], dtype=np.float32)
        return unit
    lengths[extreme] = 1
    unit = np.divide(vectors, lengths[..., None], dtype=np.float32)
    rows = vectors[extreme].astype(np.float64)
    exact = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit[extreme] = rows / np.where(exact > 0, exact, 1.0)
    return unit


def _min_max(scores: FloatArray) -> FloatArray:
    """Scores scaled to [0, 1]; all 1 where they are equal."""
    wide = scores.astype(np.float64)
    low, high = wide.min(), wide.max()
    if high == low:
        return np.ones_like(scores)
    scaled: FloatArray = ((wide - low) / (high - low)).astype(np.float32)
    return scaled
