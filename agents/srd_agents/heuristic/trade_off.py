"""What MMR, MSD and DPP share: relevance traded for distance to the documents chosen before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from srd_agents.config import check_count
from srd_agents.heuristic.blocks import blocks_of_equal_shape
from srd_agents.heuristic.config import TradeOffConfig
from srd_agents.heuristic.greedy import BLOCK, Objective, next_scores, select
from srd_agents.heuristic.relevance import relevance_of
from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic


class TradeOff(ABC):
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

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """The score of each candidate as the next document: [N] float64; minus infinity where not allowed.

        Args:
            topic: the topic.
            selected: [r] int64, candidates ranked so far.
            allowed: [N] bool.
        """
        vectors, value = topic.require_vectors(self.title), self._valued(topic)
        scores = next_scores(vectors, value, selected, self._objective())
        return np.where(allowed, scores.astype(np.float64), -np.inf)

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
