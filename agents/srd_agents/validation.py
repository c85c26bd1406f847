"""Scoring a ranker on judged topics with one measure, again and again: references and ideals are computed once."""

from __future__ import annotations

import numpy as np

from srd_gym.measures import Measure, Reference, default_normalizer, measure
from srd_gym.protocols import BoolArray, IntArray, Ranker
from srd_gym.topic import Topic, TopicSet

_WHOLE_LIST = 1000


class Validation:
    """A measure bound to judged topics.

    Args:
        topics: judged topics, at least one; a topic without a relevant candidate scores what the measure says (0).
        by: the measure; without a cutoff, rankings are scored to their end (at most 1,000 documents).
        normalizer: "pool" or "candidates"; None takes "pool" where every topic has one.

    Raises:
        ValueError: an unknown measure, or no topics.
    """

    def __init__(self, topics: TopicSet, by: str | Measure, normalizer: str | None = None) -> None:
        if not len(topics):
            raise ValueError("expected at least one topic to validate on, got an empty set")
        self.topics = topics
        chosen = measure(by, normalizer=normalizer or default_normalizer(topics))
        self.name = str(chosen)
        """The measure in canonical notation."""
        self.depth = min(chosen.cutoff or _WHOLE_LIST, topics.max_candidates)
        """Documents asked of the ranker per topic."""
        references = [Reference.of(topic, normalizer or default_normalizer(topics)) for topic in topics]
        self._bound = chosen.bind(references, self.depth)

    def values(self, ranker: Ranker) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The measure of the ranker's ranking of each topic: [T] float64."""
        return self.score(ranker.rank_batch(list(self.topics), self.depth))

    def score(self, rankings: list[IntArray]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The measure of one ranking a topic: [T] float64."""
        rows = np.zeros((len(self.topics), self.depth, self.topics.max_subtopics), dtype=np.bool_)
        for index, (topic, ranking) in enumerate(zip(self.topics, rankings, strict=True)):
            covered = relevant(topic, self._bound.rel)[ranking[: self.depth]]
            rows[index, : covered.shape[0], : covered.shape[1]] = covered
        return np.asarray(self._bound.values(rows, np.arange(len(self.topics))), dtype=np.float64)

    def mean(self, ranker: Ranker) -> float:
        """The mean of `values`."""
        return float(self.values(ranker).mean())


def relevant(topic: Topic, level: int) -> BoolArray:
    """Which candidate covers which subtopic: [N, S] bool.

    Raises:
        ValueError: the topic is not judged.
    """
    if topic.judgments is None:
        raise ValueError(f"topic {topic.query_id!r} has no judgments; this needs judged topics")
    return np.asarray(topic.judgments >= level)
