"""The greedy oracle: the upper bound of every table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_agents.heuristic.config import OracleConfig
from srd_agents.heuristic.greedy import in_blocks
from srd_agents.heuristic.stepwise import SideBySide
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray
from srd_gym.measures import IdealPool, greedy_rankings, parse_measure
from srd_gym.measures.ideal import preference
from srd_gym.measures.judgments import judged
from srd_gym.topic import Topic

_BLOCK = 1 << 20
"""Judgments worked on at once."""


class Oracle(SideBySide):
    """Chooses at each rank the candidate with the largest gain, by looking at the judgments.

    No ranker may be compared with it as an equal: it shows what the candidates allow. For measures whose novelty falls
    with coverage, greedy is the ideal of ndeval and close to the best (finding the best is NP-hard, Carterette 2009).
    Ties go to the larger document id, as in the ideal ranking of ndeval: by the ideal of the candidates it scores
    exactly 1, however they are ordered.

    Args:
        config: the measure.

    Raises:
        ValueError: an unknown measure.
    """

    name = "oracle"

    def __init__(self, config: OracleConfig | None = None) -> None:
        self.config = config or OracleConfig()
        # Normalising divides a topic's gains by one number: it cannot change which is the largest.
        self._measure = parse_measure(self.config.measure, normalizer="candidates").plain()

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; topics with equally many candidates and subtopics are ranked side by side.

        Raises:
            ValueError: a topic has no judgments.
        """
        check_integer("k", k, 1)
        return in_blocks(topics, [judged(topic).shape for topic in topics], _BLOCK, lambda block: self._first(block, k))

    def _first(self, topics: Sequence[Topic], k: int) -> IntArray:
        """Rankings of topics of one shape: [B, min(k, N)] int64."""
        # Candidates in order of preference: the first of equals is then the one that the tie rule wants.
        orders = np.stack([preference(topic.n_candidates, topic.doc_ids) for topic in topics])
        judgments = np.stack([judged(topic)[order] for topic, order in zip(topics, orders, strict=True)])
        count, n, _ = judgments.shape
        bound = self._measure.bind([IdealPool.of(topic, "candidates") for topic in topics], min(k, n))
        ranked = greedy_rankings(bound, judgments, np.ones((count, n), dtype=np.bool_), np.arange(count))
        return np.take_along_axis(orders, ranked, axis=1)
