"""Actions on ranked lists: the rankings that each makes of the first documents of every list, its pool.

Shapes: N candidates of a topic, K documents of a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from srd_agents.pipeline.given import Given
from srd_agents.pipeline.limits import COPIES
from srd_agents.pipeline.request import RankingRequest
from srd_gym.dtypes import IntArray
from srd_gym.measures.label_free import NEAR_DUPLICATE, Sources
from srd_gym.topic import Topic

ORDER = "order"
"""Name of the lists as they are."""
REMOVE, CAP, SAFE = "near-duplicates last", "one per source", "safe"
POOLS = (20, 50, 100, 300)
WEIGHTS = (0.1, 0.3, 0.5)
"""Diversity of MMR: 1 - lambda."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """A way to re-rank a list."""

    name: str
    diversity: float | None = None
    """MMR's; None: `safe` ranks."""
    near_duplicates: float | None = COPIES
    """Cosine from which on documents come last."""
    by_source: bool = False
    """Whether each source comes once, before all further documents."""

    def rank(self, topics: Sequence[Topic], pool: int, k: int, sources: Sources | None) -> list[IntArray]:
        """The first K of each topic, chosen among its first `pool` candidates."""
        request = RankingRequest(
            ranker=None if self.diversity is None else "mmr",
            diversity=self.diversity,
            groups=self.by_source,
            max_per_group=1 if self.by_source else None,
            fill=self.by_source,
            near_duplicates=self.near_duplicates,
        )
        cut = [topic.take(range(min(pool, topic.n_candidates))) for topic in topics]
        given = [
            Given(topic.query_id, groups=_groups(topic, sources or {}) if self.by_source else None) for topic in cut
        ]
        limits = [request.limits.of(topic, None, one, {}) for topic, one in zip(cut, given, strict=True)]
        return [ranking for ranking, _ in request.show(cut, k, limits)]


def actions(sources: Sources | None) -> list[Action]:
    """All that are tried; a cap needs sources."""
    cap = [Action(name=CAP, by_source=True)] if sources else []
    by_mmr = [Action(name=f"MMR {weight}", diversity=weight) for weight in WEIGHTS]
    return [Action(name=REMOVE, near_duplicates=NEAR_DUPLICATE), Action(name=SAFE), *cap, *by_mmr]


def rankings(
    topics: Sequence[Topic], k: int, pools: Sequence[int], sources: Sources | None
) -> Iterator[tuple[str, list[IntArray]]]:
    """Names and rankings: those of the order, then of each action at each pool; equal ones come once, the first.

    Args:
        topics: ready to rank, as of `bare`, their candidates in the order of the lists.
        k: K.
        pools: rising.
        sources: of the documents, if known.
    """
    seen = [[np.arange(min(k, topic.n_candidates)) for topic in topics]]
    yield ORDER, seen[0]
    longest = max(topic.n_candidates for topic in topics)
    for action in actions(sources):
        for pool in pools[: 1 + sum(pool < longest for pool in pools)]:
            found = action.rank(topics, pool, k, sources)
            if not any(all(map(np.array_equal, found, other)) for other in seen):
                seen.append(found)
                yield f"{action.name}, pool {pool}", found


def bare(topic: Topic) -> Topic:
    """The topic without labels and subtopics, which no search has."""
    return replace(
        topic, subtopic_ids=(), subtopic_texts=None, subtopic_vectors=None, subtopic_weights=None, subtopic_scores=None,
        judgments=None, pool=None, pool_ids=None,
    )  # fmt: skip


def _groups(topic: Topic, sources: Sources) -> list[object]:
    """Source of each candidate; None where it has none."""
    return [sources.get(doc_id) for doc_id in topic.doc_ids]
