"""What `make speed` measures of DALETOR: training steps against the public re-implementation's time.

Shapes: N candidates, F vector width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from srd_agents.registry import RANKERS
from srd_gym.data.synthetic import generate
from studies.speed.race import Outcome, against

PUBLIC_STEP = 0.150
"""Seconds of processor time that the public re-implementation takes for a training step of a topic of 211 documents."""
_TARGET = 10.0  # 15 ms
_DOCUMENTS, _WIDTH = 211, 100


def daletor_step(*, batch: int, rounds: int, size: float = 1.0) -> Outcome:
    """Gradient updates of DALETOR on topics of 211 documents, F = 100; the rate is in topics.

    Args:
        batch: topics an update.
        rounds: how many count.
        size: share of the full work, for tests.
    """
    from srd_agents.supervised.smooth.agent import Daletor

    topics = generate("web", n_topics=batch, seed=0, width=_WIDTH, candidates=(_DOCUMENTS, _DOCUMENTS)).trainable()
    learner = Daletor(RANKERS.find("daletor").configure(batch_topics=batch))
    learner.prepare(topics)
    chosen = np.arange(len(topics), dtype=np.int64)
    repeats = max(1, int(40 / batch * size))

    def run() -> int:
        for _ in range(repeats):
            learner._update(chosen)
        return repeats * len(topics)

    return against(
        f"DALETOR training, N = {_DOCUMENTS}, F = {_WIDTH}, {'one topic' if batch == 1 else f'{batch} topics'} a step",
        "topics/s",
        run,
        1 / PUBLIC_STEP,
        source="public re-implementation",
        target=_TARGET,
        rounds=rounds,
    )


def smooth_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """DALETOR's lines of the speed table: a name to show while it runs, and the case."""
    for batch in (1, 16):
        yield f"daletor training, {batch} a step", partial(daletor_step, batch=batch, rounds=rounds, size=size)
