"""Scoring a ranker on judged topics with one measure, again and again: references and ideals are computed once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srd_gym.measures import Measure, Normalizer, Reference, default_normalizer, measure
from srd_gym.protocols import IntArray, Ranker, ScoreArray
from srd_gym.topic import GradeArray, Topic, TopicSet


class Validation:
    """A measure bound to judged topics.

    Args:
        topics: judged topics, at least one; a topic without a relevant candidate scores what the measure says (0).
        by: the measure; without a cutoff, rankings are scored to their end.
        normalizer: "pool" or "candidates"; None takes "pool" where every topic has one.

    Raises:
        ValueError: an unknown measure, or no topics.
    """

    def __init__(self, topics: TopicSet, by: str | Measure, normalizer: Normalizer | None = None) -> None:
        if not len(topics):
            raise ValueError("expected at least one topic to validate on, got an empty set")
        self.topics = topics
        normalizer = normalizer or default_normalizer(topics)
        chosen = measure(by, normalizer=normalizer)
        self.name = str(measure(by))
        """The measure in canonical notation, with a normalizer only where it names one itself."""
        self.depth = min(chosen.cutoff or topics.max_candidates, topics.max_candidates)
        """Documents asked of the ranker per topic."""
        references = [Reference.of(topic, normalizer) for topic in topics]
        self._bound = chosen.bind(references, self.depth)

    def values(self, ranker: Ranker) -> ScoreArray:
        """The measure of the ranker's ranking of each topic: [T] float64."""
        return self.score(ranker.rank_batch(list(self.topics), self.depth))

    def score(self, rankings: Sequence[IntArray]) -> ScoreArray:
        """The measure of one ranking a topic: [T] float64."""
        rows = np.zeros((len(self.topics), self.depth, self.topics.max_subtopics), dtype=np.int8)
        for index, (topic, ranking) in enumerate(zip(self.topics, rankings, strict=True)):
            grades = judged(topic)[ranking[: self.depth]]
            rows[index, : grades.shape[0], : grades.shape[1]] = grades
        return self._bound.values(rows, np.arange(len(self.topics)))

    def mean(self, ranker: Ranker) -> float:
        """The mean of `values`."""
        return float(self.values(ranker).mean())


def judged(topic: Topic) -> GradeArray:
    """The judgments of a topic: [N, S] int8.

    Raises:
        ValueError: the topic is not judged.
    """
    if topic.judgments is None:
        raise ValueError(f"topic {topic.query_id!r} has no judgments; this needs judged topics")
    return topic.judgments
