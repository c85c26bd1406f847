"""Validation: a measure bound to judged topics; and checks of the topics that a learner trains and validates on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np

from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures import Measure, parse_measure, references
from srd_gym.measures.judgments import judged, tell_irrelevant
from srd_gym.protocols import Ranker
from srd_gym.reading import few, shown
from srd_gym.sources import TopicSource, topics_from
from srd_gym.topic import TopicSet

_DRAWS = 10
"""Random orders whose mean stands for chance."""


class Validation:
    """A measure bound to judged topics.

    Args:
        topics: judged topics, at least one (a set, a list, a name or a path); a topic without a relevant candidate
            scores what the measure says (0).
        by: the measure (of one where lower is better, what grows instead); without a cutoff, rankings are scored to
            their end. Unless it says otherwise it is normalised by the pool where every topic has one, else by the
            candidates.

    Raises:
        ValueError: an unknown measure.
    """

    def __init__(self, topics: TopicSource, by: str | Measure) -> None:
        self.topics = topics = topics_from(topics)
        chosen = parse_measure(by)
        if chosen.lower_is_better:
            chosen = chosen.plain()
        self.name = str(chosen)
        """The measure in canonical notation."""
        self.depth = min(chosen.cutoff or topics.max_candidates, topics.max_candidates)
        """Documents asked of the ranker per topic."""
        grades = [(topic.query_id, judged(topic)) for topic in topics]
        tell_irrelevant(f"topic set {shown(topics.name)}", grades, [chosen.rel])
        self._bound = chosen.bind(references(topics, chosen.normalizer), self.depth)

    def score(self, rankings: Sequence[IntArray]) -> ScoreArray:
        """The measure of one ranking a topic: [T] float64."""
        rows = np.zeros((len(self.topics), self.depth, self.topics.max_subtopics), dtype=np.int8)
        for index, (topic, ranking) in enumerate(zip(self.topics, rankings, strict=True)):
            grades = judged(topic)[ranking[: self.depth]]
            rows[index, : grades.shape[0], : grades.shape[1]] = grades
        return self._bound.values(rows, np.arange(len(self.topics)))

    @cached_property
    def baseline(self) -> tuple[str, float]:
        """Order that a ranker should exceed, and its mean measure.

        The initial ranking where every topic has one, else a random order (the mean of ten, always the same).
        """
        sizes, draw = [topic.n_candidates for topic in self.topics], np.random.default_rng(0).permutation
        if self.topics.has_retrieval_order:
            return "initial ranking", float(self.score([np.arange(size) for size in sizes]).mean())
        return "random order", float(np.mean([self.score([draw(size) for size in sizes]) for _ in range(_DRAWS)]))

    def mean(self, ranker: Ranker) -> float:
        """The mean measure of the ranker's rankings."""
        return float(self.score(ranker.rank_batch(list(self.topics), self.depth)).mean())

    def choose(self, ranker: Ranker, choices: Iterable[float], take: Callable[[float], object]) -> float:
        """Let the ranker keep the choice that ranks best, the first of equals; its mean measure.

        Args:
            ranker: what is chosen for.
            choices: at least one.
            take: makes the ranker's next rankings follow a choice.
        """
        values = {}
        for choice in choices:
            take(choice)
            values[choice] = self.mean(ranker)
        best = max(values, key=lambda choice: values[choice])
        take(best)
        return values[best]


def checked_topics(name: str, topics: TopicSet, validation: TopicSet | None) -> tuple[TopicSet, list[str]]:
    """The topics that can be learned from, and the ids of those that cannot.

    Raises:
        ValueError: unlabelled topics, shared queries, other widths, or nothing to learn from.
    """
    if not len(topics):
        raise ValueError(f"ranker {name!r}: there are no training topics; give at least one judged topic")
    for what, part in (("training", topics), ("validation", validation or ())):
        unlabelled = [topic.query_id for topic in part if not topic.labelled]
        if unlabelled:
            raise ValueError(
                f"ranker {name!r}: {len(unlabelled)} of {len(part)} {what} topics have no judgments "
                f"({few(unlabelled)}); learning needs judged topics: "
                "leave the others out with TopicSet.select"
            )
    if validation is not None:
        check_pair(name, topics, validation)
    trainable = topics.trainable()
    excluded = sorted(set(topics.query_ids) - set(trainable.query_ids))
    if not len(trainable):
        raise ValueError(f"ranker {name!r}: none of the {len(topics)} training topics has a relevant candidate")
    if excluded:
        what = "training topics have no relevant candidate and are left out of training"
        warnings.warn(f"{len(excluded)} of {len(topics)} {what}: {few(excluded, 10)}", stacklevel=2)
    return trainable, excluded


def check_pair(name: str, topics: TopicSet, validation: TopicSet) -> None:
    """Training and validation agree on the width and share no query."""
    if validation.vector_width != topics.vector_width:
        raise ValueError(
            f"ranker {name!r}: training vectors have width {topics.vector_width}, "
            f"validation vectors {validation.vector_width}; both need the same vectors"
        )
    shared = sorted(set(topics.query_ids) & set(validation.query_ids))
    if shared:
        raise ValueError(
            f"ranker {name!r}: {len(shared)} queries are in training and in validation ({few(shared)}); "
            "split by query id, as TopicSet.folds does"
        )
