"""What `make speed` measures of QMIX: its updates and rankings against the published code's.

Shapes: N documents, F vector width, A scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from srd_gym.topic import Topic, TopicSet
from studies.speed.machine import limit, multiply_adds
from studies.speed.race import Outcome, against

if TYPE_CHECKING:
    from srd_agents.qmix.agent import Qmix

WIDTHS = (64, 1024)
"""The widths that the published code's times are known for."""
_PUBLISHED_UPDATE = {64: 2.4, 1024: 55.0}
_PUBLISHED_RANKING = {64: 0.008, 1024: 0.1}
_TARGET_RANKING = {64: (0.001, 0.000015), 1024: (0.001, 0.0008)}  # seconds a topic: alone, in batches
_TARGET_UPDATE = {64: 0.06, 1024: 0.1}  # seconds
_BATCH = 256


def drawn(count: int, documents: int, width: int) -> TopicSet:
    """Topics of one size with vectors and judgments that mean nothing: what a pass costs does not depend on them."""
    rng = np.random.default_rng(0)
    return TopicSet(
        [
            Topic(
                query_id=str(index),
                doc_ids=tuple(map(str, range(documents))),
                doc_vectors=rng.standard_normal((documents, width), dtype=np.float32),
                query_vector=rng.standard_normal(width, dtype=np.float32),
                subtopic_ids=tuple("abcdef"),
                judgments=(rng.random((documents, 6)) < 0.2).astype(np.int8),
            )
            for index in range(count)
        ],
        name="drawn",
    )


def qmix_update(width: int, *, rounds: int, size: float = 1.0) -> Outcome:
    """Gradient updates of 256 topics with 15 documents, against the published code's time for one.

    At F = 64 with the defaults, which learn from eight joint actions of each topic at once; at F = 1024 with the
    paper's setting. The published time at F = 1024 is that of two threads.

    Args:
        width: 64 or 1024.
        rounds: how many count.
        size: share of the full work, for tests.
    """
    learner = _prepared(width, 15)
    work, threads = _update(learner), "two threads" if width == 1024 else "one thread"
    return against(
        f"QMIX update of {_BATCH} topics, {_joint(learner.config.rollouts)} each, N = 15, F = {width}",
        "updates/s",
        _repeated(work, 1, max(1, int((10 if width == 64 else 3) * size))),
        1 / _PUBLISHED_UPDATE[width],
        source=f"published code, {threads}",
        target=_PUBLISHED_UPDATE[width] / _TARGET_UPDATE[width],
        rounds=rounds,
        limit=limit(multiply_adds=multiply_adds(work)),
    )


def qmix_ranking(width: int, *, batch: bool, rounds: int, size: float = 1.0) -> Outcome:
    """Rankings of 15 documents, one topic at a time or 256 at once, against the published code's time for one topic.

    Args:
        width: 64 or 1024.
        batch: 256 topics at once.
        rounds: how many count.
        size: share of the full work, for tests.
    """
    topics = list(drawn(_BATCH, 15, width))
    learner = _prepared(width, 15)
    published = _PUBLISHED_RANKING[width]
    repeats, topic_count = max(1, int((20 if batch else 100) * size)), _BATCH if batch else 1
    work = _ranking(learner, topics, batch=batch)
    return against(
        f"QMIX ranking of 15 documents, F = {width}, {f'{_BATCH} topics at once' if batch else 'one topic'}",
        "topics/s",
        _repeated(work, topic_count, repeats),
        1 / published,
        source="published code",
        target=published / _TARGET_RANKING[width][batch],
        rounds=rounds,
        limit=limit(multiply_adds=multiply_adds(work) / topic_count),
    )


def _prepared(width: int, documents: int) -> Qmix:
    """QMIX with first weights, ready to be stepped: the defaults, or at F = 1024 the paper's sizes."""
    from srd_agents.qmix.agent import Qmix
    from srd_agents.qmix.config import QmixConfig
    from srd_agents.registry import RANKERS

    paper = RANKERS.find("ma4div").configure(state="documents", max_candidates=None)
    learner = Qmix(paper if width == 1024 else QmixConfig())
    learner.prepare(drawn(_BATCH, documents, width))
    return learner


def _update(learner: Qmix) -> Callable[[], object]:
    """One gradient update on what 256 topics played."""
    from srd_agents.qmix.replay import Visits

    batch = np.arange(_BATCH)
    actions, rewards = learner.play(batch, epsilon=0.5)
    visits = Visits(batch, actions, rewards.astype(np.float32))
    return lambda: learner.learn(visits)


def _ranking(learner: Qmix, topics: Sequence[Topic], *, batch: bool) -> Callable[[], object]:
    """Ranking the first topic, or all at once."""
    return (lambda: learner.rank_batch(topics, 10)) if batch else (lambda: learner.rank(topics[0], 10))


def _repeated(work: Callable[[], object], units: int, repeats: int) -> Callable[[], int]:
    """A runner that does the work several times, and says how many units that were."""

    def run() -> int:
        for _ in range(repeats):
            work()
        return units * repeats

    return run


def _joint(count: int) -> str:
    """So many joint actions, in words."""
    return f"{count} joint action{'' if count == 1 else 's'}"
