"""Scores of one run or one ranker, and the arithmetic of them: many rankings of known judgments at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from srd_gym.dtypes import IntArray
from srd_gym.measures.base import Measure
from srd_gym.measures.ideal import IdealPool, Normalizer
from srd_gym.showing import short_repr
from srd_gym.topic import GradeArray

_CELLS = 1 << 26
"""Judgments that are scored together at most: topics x longest ranking x most subtopics."""
Ranked = tuple[GradeArray, IntArray]
"""Judgments [P, S], and a ranking [L] of their rows, best first, -1 where there is none."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Scores of one run or one ranker: per topic, and their means."""

    __repr__ = short_repr

    per_topic: dict[str, dict[str, float]]
    """Query id -> measure name -> value, for every judged topic; where the ranking is missing that of an empty one: 0,
    but for VRisk."""
    missing_topics: tuple[str, ...]
    """Judged topics without a ranking."""
    unjudged: tuple[str, ...]
    """Query ids of rankings that no judged topic asked for; they count nowhere."""
    names: tuple[str, ...]
    """The measures, as they were asked for."""
    normalizer: Normalizer
    """Where the ideal rankings come from: "pool" (as in ndeval) or "candidates"."""

    @property
    def topics(self) -> int:
        """Number of judged topics, those without a ranking included."""
        return len(self.per_topic)

    @property
    def missing(self) -> int:
        """Number of judged topics without a ranking."""
        return len(self.missing_topics)

    @property
    def measures(self) -> dict[str, float]:
        """Means over all judged topics, a missing ranking counting 0."""
        return self.mean()

    def mean(self, ranked_topics_only: bool = False) -> dict[str, float]:
        """Mean of each measure over the judged topics.

        Args:
            ranked_topics_only: leave out topics without a ranking, as pyndeval and ndeval do; by default they count
                0, as in ndeval -c.

        Returns:
            Measure name -> mean; 0.0 where no topic is left.
        """
        skipped = set(self.missing_topics) if ranked_topics_only else set()
        rows = [row for query_id, row in self.per_topic.items() if query_id not in skipped]
        return {name: float(np.mean([row[name] for row in rows])) if rows else 0.0 for name in self.names}


def score_rankings(
    wanted: Mapping[str, Measure],
    ranked: Mapping[str, Ranked],
    references: Mapping[Normalizer, Mapping[str, IdealPool]],
    normalizer: Normalizer,
    unjudged: tuple[str, ...],
) -> Evaluation:
    """Values of every judged topic; `ranked` holds those that have a ranking."""
    judged = tuple(next(iter(references.values())))
    per_topic: dict[str, dict[str, float]] = {query_id: dict.fromkeys(wanted, 0.0) for query_id in judged}
    empty = np.zeros(0, dtype=np.int64)
    of_nothing = any(each.lower_is_better for each in wanted.values())  # else an empty list scores 0
    absent = [query_id for query_id in judged if query_id not in ranked] if of_nothing else []
    width = {query_id: reference.n_subtopics for query_id, reference in next(iter(references.values())).items()}
    ranked = {**ranked, **{query_id: (np.zeros((0, width[query_id]), np.int8), empty) for query_id in absent}}
    missing = tuple(query_id for query_id in judged if query_id not in ranked or query_id in absent)
    present = [query_id for query_id in judged if query_id in ranked]
    shapes = [(len(ranking), judgments.shape[1]) for judgments, ranking in map(ranked.__getitem__, present)]
    for part in _parts(shapes):
        scored = present[part]
        depth, width = np.max([(1, 0), *shapes[part]], axis=0).tolist()
        padded = np.zeros((len(scored), depth, width), dtype=np.int8)
        for lane, query_id in zip(padded, scored, strict=True):
            judgments, ranking = ranked[query_id]
            ranks = np.flatnonzero(ranking >= 0)
            lane[ranks, : judgments.shape[1]] = judgments[ranking[ranks]]
        for name, each in wanted.items():
            by_query = references[each.normalizer or normalizer]
            bound = each.bind([by_query[query_id] for query_id in scored], depth, width)
            for query_id, value in zip(scored, bound.values(padded, np.arange(len(scored))), strict=True):
                per_topic[query_id][name] = float(value)
    return Evaluation(
        per_topic=per_topic,
        missing_topics=missing,
        unjudged=unjudged,
        names=tuple(wanted),
        normalizer=normalizer,
    )


def _parts(shapes: Sequence[tuple[int, int]]) -> Iterator[slice]:
    """Cut lists into slices whose padded judgments take bounded memory; a list that takes more is alone."""
    start, depth, width = 0, 1, 1
    for stop, (length, n_subtopics) in enumerate(shapes):
        depth, width = max(depth, length), max(width, n_subtopics)
        if stop > start and (stop + 1 - start) * depth * width > _CELLS:
            yield slice(start, stop)
            start, (depth, width) = stop, (length, n_subtopics)
    if start < len(shapes):
        yield slice(start, len(shapes))
