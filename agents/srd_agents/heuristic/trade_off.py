"""What MMR, MSD and DPP share: relevance, made of what a topic has, traded for distance to what is chosen before."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from srd_agents.config import check_count
from srd_agents.heuristic.blocks import blocks_of_equal_shape
from srd_agents.heuristic.config import TradeOffConfig
from srd_agents.heuristic.greedy import BLOCK, GreedyProgress, Objective, select
from srd_agents.heuristic.stepwise import Stepwise
from srd_agents.heuristic.vectors import min_max, rows_of
from srd_gym.protocols import IntArray
from srd_gym.topic import FloatArray, Topic


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
