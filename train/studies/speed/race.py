"""Races: ours and a peer side by side in one process and on one thread, in turns, reported as ratios.

Times are seconds of processor time of this process, so that a busy machine does not blur them much; each figure is the
median over rounds with the smallest and largest beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


class MissingError(Exception):
    """What a line needs is not here, so that it is left out."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One side of a race."""

    name: str
    run: Callable[[], int]
    """Does some work and returns how many units it did."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A rate in units per second of processor time."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """The figure of several rounds."""
        return cls(median=statistics.median(values), low=min(values), high=max(values))

    def as_dict(self) -> dict[str, float]:
        """The figure as plain values."""
        return {"median": self.median, "low": self.low, "high": self.high}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A line of the speed table."""

    what: str
    """What was done."""
    unit: str
    """What is counted, e.g. "rankings/s"."""
    ours: Figure
    peer: str
    """Whom it is compared with."""
    theirs: Figure
    ratio: Figure
    """Ours / theirs, round by round."""
    target: float
    """The ratio to reach."""
    limit: float | None = None
    """Units a second at the machine's limit; None where none is counted."""

    @property
    def reached(self) -> bool:
        """Whether the median ratio reaches the target."""
        return self.ratio.median >= self.target

    def as_dict(self) -> dict[str, Any]:
        """The line as plain values."""
        return {
            "what": self.what,
            "unit": self.unit,
            "ours": self.ours.as_dict(),
            "peer": self.peer,
            "theirs": self.theirs.as_dict(),
            "ratio": self.ratio.as_dict(),
            "target": self.target,
            "reached": self.reached,
            "limit": self.limit,
        }

    def as_row(self) -> list[str]:
        """The line as text."""
        return [
            self.what,
            _rate(self.ours.median, self.unit),
            f"{self.peer}: {_rate(self.theirs.median, self.unit)}",
            f"{_short(self.ratio.median)}x ({_short(self.ratio.low)} to {_short(self.ratio.high)})",
            f"{_short(self.target)}x",
            "yes" if self.reached else "no",
            "-" if self.limit is None else f"{self.ours.median / self.limit:.0%}",
        ]


HEADS = ["what", "ours", "peer", "ratio (lowest to highest)", "target", "reached", "of the limit"]
"""Heads of `Outcome.as_row`."""


def race(
    what: str,
    unit: str,
    ours: Contender,
    peer: Contender,
    *,
    target: float,
    rounds: int = 5,
    limit: float | None = None,
) -> Outcome:
    """Let both work in turns, after one round that does not count.

    Args:
        what: what is done.
        unit: what is counted.
        ours: our side.
        peer: the other side.
        target: the ratio to reach.
        rounds: how many count.
        limit: units a second at the machine's limit.
    """
    mine: list[float] = []
    theirs: list[float] = []
    for round_number in range(rounds + 1):
        rates = rate(ours.run), rate(peer.run)
        if round_number > 0:
            mine.append(rates[0])
            theirs.append(rates[1])
    return compared(what, unit, mine, peer.name, theirs, target=target, limit=limit)


def compared(
    what: str,
    unit: str,
    ours: Sequence[float],
    peer: str,
    theirs: Sequence[float],
    *,
    target: float,
    limit: float | None = None,
) -> Outcome:
    """The outcome of rates measured round by round. Arguments as for `race`."""
    return Outcome(
        what=what,
        unit=unit,
        ours=Figure.of(ours),
        peer=peer,
        theirs=Figure.of(theirs),
        ratio=Figure.of([a / b for a, b in zip(ours, theirs, strict=True)]),
        target=target,
        limit=limit,
    )


def against(
    what: str,
    unit: str,
    ours: Callable[[], int],
    published: float,
    *,
    source: str,
    target: float,
    rounds: int = 5,
    limit: float | None = None,
) -> Outcome:
    """Compare with a published rate, or one to reach, instead of a running peer.

    Args:
        what: what is done.
        unit: what is counted.
        ours: our side.
        published: units per second of processor time.
        source: where that comes from.
        target: the ratio to reach.
        rounds: how many count, after one that does not.
        limit: units a second at the machine's limit.
    """
    rates = [rate(ours) for _ in range(rounds + 1)][1:]
    return compared(what, unit, rates, source, [published] * rounds, target=target, limit=limit)


def rate(run: Callable[[], int]) -> float:
    """Units per second of processor time of one call."""
    start = time.process_time()
    units = run()
    # The clock ticks in nanoseconds, but a tiny job on a coarse clock must not divide by zero.
    return units / max(time.process_time() - start, 1e-9)


def _rate(value: float, unit: str) -> str:
    """A rate for people."""
    return f"{_short(value)} {unit}"


def _short(value: float) -> str:
    """A number with about three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
