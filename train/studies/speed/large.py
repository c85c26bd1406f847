"""What `make speed` measures of long lists: the top 20 of 100,000.

Shapes: N candidates, F vector width, k documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from srd_agents.registry import make_ranker
from studies.speed.heuristics import drawn
from studies.speed.machine import limit
from studies.speed.race import Outcome, against

NAMES = ("mmr", "dpp", "relational-pretrained")
_LONG, _WIDTH, _K, _LIMIT = 100_000, 384, 20, 0.06


def longest(name: str, *, rounds: int, size: float = 1.0) -> Outcome:
    """The top 20 of 100,000 documents that are alike, against the time that one topic may take.

    Args:
        name: a ranker.
        rounds: how many count.
        size: share of the candidates, for tests.
    """
    candidates = max(100, int(_LONG * size))
    topic, ranker = drawn(1, candidates, _WIDTH)[0], make_ranker(name)
    line = f"{name}, top {_K} of {candidates:,}, F = {_WIDTH}, documents alike, one topic"
    source = f"{_LIMIT * 1000:g} ms a topic"
    return against(
        line,
        "topics/s",
        lambda: len(ranker.rank(topic, _K)) // _K,
        1 / _LIMIT,
        source=source,
        target=1.0,
        rounds=rounds,
        limit=limit(read=4.0 * candidates * _WIDTH),
    )


def large_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The lines of the speed table: a name to show while it runs, and the case."""
    for name in NAMES:
        yield f"long list, {name}", partial(longest, name, rounds=rounds, size=size)
