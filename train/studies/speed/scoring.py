"""What `make speed` measures of QMIX: its updates and rankings against the published code's, and what N costs.

Shapes: N documents, F vector width, A scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from srd_gym.topic import Topic, TopicSet
from studies.speed.race import Figure, Outcome, against, rate

if TYPE_CHECKING:
    from srd_agents.qmix.agent import Qmix

WIDTHS = (64, 1024)
"""The widths that the published code's times are known for."""
DOCUMENTS = (15, 30, 60, 120, 240)
"""Lengths of lists of the cost table."""
COST_HEADS = ["documents", "update, ms", "ranking one topic, ms", "a topic of 256, ms", "update, times the row above"]
"""Heads of `CostLine.as_row` and the growth beside it."""

_PUBLISHED_UPDATE = {64: 2.4, 1024: 55.0}
_PUBLISHED_RANKING = {64: 0.008, 1024: 0.1}
_TARGET_RANKING = {64: (0.001, 0.00002), 1024: (0.001, 0.0008)}  # seconds a topic: alone, in batches
_UPDATE_TARGET = 40.0
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
        target=_UPDATE_TARGET,
        rounds=rounds,
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
    repeats = max(1, int((20 if batch else 100) * size))
    return against(
        f"QMIX ranking of 15 documents, F = {width}, {f'{_BATCH} topics at once' if batch else 'one topic'}",
        "topics/s",
        _repeated(_ranking(learner, topics, batch=batch), _BATCH if batch else 1, repeats),
        1 / published,
        source="published code",
        target=published / _TARGET_RANKING[width][batch],
        rounds=rounds,
    )


@dataclass(frozen=True, kw_only=True)
class CostLine:
    """What a list of N documents costs at F = 64, in milliseconds of processor time."""

    documents: int
    update: float
    """A gradient update of 256 topics, 8 joint actions each."""
    rank_one: float
    """Ranking one topic."""
    rank_batch: float
    """Ranking a topic, 256 at once."""

    def as_row(self) -> list[str]:
        """The line as text."""
        return [str(self.documents), f"{self.update:.1f}", f"{self.rank_one:.2f}", f"{self.rank_batch:.3f}"]


def cost_lines(*, rounds: int, size: float = 1.0, documents: Sequence[int] = DOCUMENTS) -> list[CostLine]:
    """The cost for each length of list, medians over rounds.

    Args:
        rounds: how many count, after one that does not.
        size: share of the full work, for tests.
        documents: the lengths.
    """
    return [_cost(n, rounds, size) for n in documents]


def cost_rows(lines: Sequence[CostLine]) -> list[list[str]]:
    """The lines as text, with the growth of an update from line to line."""
    before = [None, *lines[:-1]]
    growth = [
        "-" if last is None else f"{line.update / last.update:.1f}" for line, last in zip(lines, before, strict=True)
    ]
    return [[*line.as_row(), grown] for line, grown in zip(lines, growth, strict=True)]


def cost_power(lines: Sequence[CostLine]) -> float:
    """The power p: an update's cost grows as N^p over the whole table. 1 is linear."""
    first, last = lines[0], lines[-1]
    return math.log(last.update / first.update) / math.log(last.documents / first.documents)


def _cost(documents: int, rounds: int, size: float) -> CostLine:
    """One length."""
    topics = list(drawn(_BATCH, documents, 64))
    learner = _prepared(64, documents)
    works = (
        _repeated(_update(learner), 1, max(1, int(3 * size))),
        _repeated(_ranking(learner, topics, batch=False), 1, max(1, int(50 * size))),
        _repeated(_ranking(learner, topics, batch=True), _BATCH, max(1, int(3 * size))),
    )
    update, one, batch = (1_000 / Figure.of([rate(work) for _ in range(rounds + 1)][1:]).median for work in works)
    return CostLine(documents=documents, update=update, rank_one=one, rank_batch=batch)


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
