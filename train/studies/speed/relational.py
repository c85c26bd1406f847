"""What `make speed` measures of the relational ranker with the weights that come with the package.

Shapes: N candidates, F vector width, k documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from srd_agents.registry import make_ranker
from studies.speed.heuristics import drawn
from studies.speed.machine import limit
from studies.speed.race import Contender, Outcome, against, race

CASES = {"top 10 of 100": (100, 10, 1e-3), "top 20 of 1,000": (1000, 20, 2e-3)}
"""N, k, and the seconds that one topic may take."""
_EACH = 5_300
"""Multiply-adds in products for each candidate at each rank: the network's, and relations to what is ranked."""
_WIDTH, _BATCH, _BATCH_TARGET = 384, 256, 4.0


def alone(what: str, *, rounds: int, size: float = 1.0) -> Outcome:
    """One topic at a time, against the time that it may take.

    Args:
        what: a key of `CASES`.
        rounds: how many count.
        size: share of the full work, for tests.
    """
    candidates, k, seconds = CASES[what]
    topics = drawn(4, candidates, _WIDTH)
    ranker = make_ranker("relational-pretrained")
    repeats = max(1, int((100 if candidates < 500 else 20) * size))

    def ours() -> int:
        for _ in range(repeats):
            for topic in topics:
                ranker.rank(topic, k)
        return repeats * len(topics)

    line = f"relational-pretrained, {what}, F = {_WIDTH}, one topic"
    source, least = f"{seconds * 1000:g} ms a topic", limit(multiply_adds=_EACH * candidates * k)
    return against(line, "topics/s", ours, 1 / seconds, source=source, target=1.0, rounds=rounds, limit=least)


def together(*, rounds: int, size: float = 1.0) -> Outcome:
    """A batch of topics, against the same topics one by one.

    Args:
        rounds: how many count.
        size: share of the full work, for tests.
    """
    candidates, k, _ = CASES["top 10 of 100"]
    topics = drawn(max(2, int(_BATCH * size)), candidates, _WIDTH)
    ranker = make_ranker("relational-pretrained")
    return race(
        f"relational-pretrained, top {k} of {candidates}, F = {_WIDTH}, {len(topics)} topics at once",
        "topics/s",
        Contender(name="srd_agents", run=lambda: len(ranker.rank_batch(topics, k))),
        Contender(name="itself, one by one", run=lambda: sum(len(ranker.rank(topic, k)) > 0 for topic in topics)),
        target=_BATCH_TARGET,
        rounds=rounds,
        limit=limit(multiply_adds=_EACH * candidates * k),
    )


def relational_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The ranker's lines of the speed table: a name to show while it runs, and the case."""
    for what in CASES:
        yield f"relational, {what}", partial(alone, what, rounds=rounds, size=size)
    yield "relational, batch", partial(together, rounds=rounds, size=size)
