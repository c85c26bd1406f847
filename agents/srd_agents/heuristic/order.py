"""Orders that look at no vector: as retrieved, and at random."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from srd_agents.heuristic.config import OrderConfig, RandomConfig
from srd_agents.heuristic.stepwise import ByScores, OneByOne, PartialRanking, Scored
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.reading import shown
from srd_gym.topic import Topic


class RetrievalOrder(OneByOne):
    """The candidates in the order in which they were retrieved: what every other ranker has to beat.

    Args:
        config: the column to order by instead.
    """

    name = "retrieval-order"

    def __init__(self, config: OrderConfig | None = None) -> None:
        self.config = config or OrderConfig()

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k candidates: [min(k, N)] int64.

        Raises:
            ValueError: the topic has no such column, or no retrieval scores: its candidates are then shuffled.
        """
        check_integer("k", k, 1)
        if topic.retrieval_scores is None:
            raise ValueError(
                f"topic {shown(topic.query_id)} has no retrieval order (no retrieval_scores; its candidates were "
                "shuffled); leave 'retrieval-order' out for this topic set, or load it with the run that retrieved it"
            )
        if self.config.by:
            return np.argsort(-self._scores(topic), kind="stable")[:k].astype(np.int64)
        return np.arange(min(k, topic.n_candidates), dtype=np.int64)

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        self.rank(topic, 1)
        return ByScores(self._scores(topic))

    def rank_scored(self, topics: Sequence[Topic], k: int) -> list[Scored]:
        """`rank_batch`, with the scores that it is the order of."""
        rankings = self.rank_batch(topics, k)
        return [(ranking, self._scores(topic)[ranking]) for ranking, topic in zip(rankings, topics, strict=True)]

    def _scores(self, topic: Topic) -> ScoreArray:
        """[N] float64, the numbers that the order follows."""
        by = self.config.by
        return np.asarray(topic.feature(by) if by else topic.retrieval_scores, np.float64)


class RandomOrder(OneByOne):
    """A uniform shuffle of the candidates that depends on the seed and the query id only.

    Args:
        config: the seed.
    """

    name = "random"

    def __init__(self, config: RandomConfig | None = None) -> None:
        self.config = config or RandomConfig()

    def rank(self, topic: Topic, k: int) -> IntArray:
        """Candidates drawn without replacement: [min(k, N)] int64."""
        check_integer("k", k, 1)
        # A digest, as Python's own hash of text changes from process to process.
        digest = hashlib.blake2b(topic.query_id.encode(), digest_size=16).digest()
        generator = np.random.default_rng([self.config.seed, int.from_bytes(digest, "little")])
        return generator.permutation(topic.n_candidates)[:k].astype(np.int64)
