"""What `make speed` measures of the relational ranker with the weights that come with the package.

Shapes: N candidates, F vector width, k documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from srd_agents.registry import make_ranker
from studies.speed.heuristics import drawn
from studies.speed.race import Contender, Outcome, against, race

CASES = {"top 10 of 100": (100, 10, 1e-3), "top 20 of 1,000": (1000, 20, 15e-3)}
"""N, k, and the seconds that one topic may take."""
_WIDTH, _BATCH, _BATCH_TARGET = 384, 256, 5.0


def alone(what: str, *, rounds: int, size: float = 1.0) -> Outcome:
    """One topic at a time, against the time that it may take.

    Args:
        what: a key of `CASES`.
        rounds: how many count.
        size: share of the full work, for tests.
    """
    candidates, k, limit = CASES[what]
    topics = drawn(4, candidates, _WIDTH, alike=True)
    ranker = make_ranker("relational-pretrained")
    repeats = max(1, int((100 if candidates < 500 else 20) * size))

    def ours() -> int:
        for _ in range(repeats):
            for topic in topics:
                ranker.rank(topic, k)
        return repeats * len(topics)

    line = f"relational-pretrained, {what}, F = {_WIDTH}, one topic"
    source = f"{limit * 1000:g} ms a topic"
    return against(line, "topics/s", ours, 1 / limit, source=source, target=1.0, rounds=rounds)


def beside(peer: str, *, rounds: int, size: float = 1.0) -> Outcome:
    """A batch of topics, against the same topics one by one, or against MMR in a batch.

    Args:
        peer: "alone" or "mmr".
        rounds: how many count.
        size: share of the full work, for tests.
    """
    candidates, k, _ = CASES["top 10 of 100"]
    topics = drawn(max(2, int(_BATCH * size)), candidates, _WIDTH, alike=True)
    ranker = make_ranker("relational-pretrained")
    other = make_ranker("mmr") if peer == "mmr" else ranker

    def ours() -> int:
        return len(ranker.rank_batch(topics, k))

    def theirs() -> int:
        return len(other.rank_batch(topics, k)) if peer == "mmr" else sum(len(ranker.rank(t, k)) > 0 for t in topics)

    line = f"relational-pretrained, top {k} of {candidates}, F = {_WIDTH}, {len(topics)} topics at once"
    named = "MMR, in a batch too" if peer == "mmr" else "itself, one by one"
    target = 0.0 if peer == "mmr" else _BATCH_TARGET
    contenders = Contender(name="srd_agents", run=ours), Contender(name=named, run=theirs)
    return race(line, "topics/s", *contenders, target=target, rounds=rounds)


def relational_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The ranker's lines of the speed table: a name to show while it runs, and the case."""
    for what in CASES:
        yield f"relational, {what}", partial(alone, what, rounds=rounds, size=size)
    yield "relational, batch", partial(beside, "alone", rounds=rounds, size=size)
    yield "relational beside MMR", partial(beside, "mmr", rounds=rounds, size=size)
