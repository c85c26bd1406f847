"""A line of the speed table: ours and a peer side by side in one process, in turns, reported as ratios.

Times are seconds of processor time of this process and thread; each figure is the median over rounds with the smallest
and largest beside it. `lines.toml` has the lines; the functions that they name make ready what is measured.
"""

from __future__ import annotations

import importlib
import statistics
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from srd_agents.registry import make_ranker
from srd_agents.training.learner import Learner

Side = Callable[[], float]
"""One round of one side: units per second."""
HEADS = ["what", "ours", "peer", "ratio [lowest, highest]", "target", "reached", "of the limit"]
_DEFAULTS = {"unit": "topics/s", "target": 1}
"""Of a line that does not say them."""
_SIDE, _BYTES = 1_024, 1 << 28


@dataclass(frozen=True)
class Work:
    """What is measured, made ready."""

    ours: Side
    theirs: Side | None = None
    """None: the table has the peer's seconds."""
    limit: float | None = None
    """Units a second at the machine's limit; None where none is counted."""


@cache
def table() -> dict[str, dict[str, Any]]:
    """The lines by name."""
    lines = tomllib.loads(files("studies.speed").joinpath("lines.toml").read_text(encoding="utf-8"))["line"]
    return {line["name"]: _DEFAULTS | line for line in lines}


def measured(name: str, rounds: int, size: float = 1.0) -> list[str]:
    """A line's row of `HEADS`: our side and the peer take turns.

    Args:
        name: of the line.
        rounds: how many count.
        size: share of the full work.

    Raises:
        ImportError: the peer is not installed.
    """
    line = table()[name]
    function, *arguments = line["by"]
    module, function = function.split(".")
    ready = getattr(importlib.import_module(f"studies.speed.{module}"), function)
    if "megabytes" in line:
        most, target = ready(*arguments), line["megabytes"]
        return [line["what"], f"{most:,.0f} MB", "-", "-", f"{target:,.0f} MB", "yes" if most <= target else "no", "-"]
    return raced(line, ready(*arguments, size=size), rounds)


def raced(line: dict[str, Any], work: Work, rounds: int) -> list[str]:
    """A line's row, of some rounds after one that does not count."""
    theirs = work.theirs or (lambda: 1 / line["seconds"])
    rates = [(work.ours(), theirs()) for _ in range(rounds + 1)][1:]
    ours, peers = map(statistics.median, zip(*rates, strict=True))
    ratios = [a / b for a, b in rates]
    ratio = statistics.median(ratios)
    return [
        line["what"],
        f"{_short(ours)} {line['unit']}",
        f"{line['peer']}: {_short(peers)} {line['unit']}",
        f"{_short(ratio)}x [{_short(min(ratios))}, {_short(max(ratios))}]",
        f"{_short(line['target'])}x",
        "yes" if ratio >= line["target"] else "no",
        "-" if work.limit is None else f"{ours / work.limit:.0%}",
    ]


def timed(work: Callable[[], object], units: float = 1, times: int = 1) -> Side:
    """A side that does the same work some times a round, each of them so many units."""

    def side() -> float:
        start = time.process_time()
        for _ in range(times):
            work()
        # The clock ticks in nanoseconds, but a tiny job on a coarse clock must not divide by zero.
        return units * times / max(time.process_time() - start, 1e-9)

    return side


def share(size: float, times: float, least: int = 1) -> int:
    """So many at full size."""
    return max(least, int(times * size))


def learner(name: str, **options: Any) -> Learner[Any]:
    """A ranker that is trained."""
    made = make_ranker(name, **options)
    if not isinstance(made, Learner):
        raise TypeError(f"ranker {name!r} is not trained")
    return made


@cache
def operations() -> float:
    """Floating-point operations a second in products of float32 matrices, two for a multiply-add: the best of 20."""
    left, right = np.random.default_rng(0).standard_normal((2, _SIDE, _SIDE), dtype=np.float32)
    product = timed(lambda: left @ right, units=2 * _SIDE**3)
    return max(product() for _ in range(20))


@cache
def reading() -> float:
    """Bytes a second that are read from memory in order: the best of six."""
    numbers = np.ones(_BYTES // 4, dtype=np.float32)
    return max(timed(lambda: numbers.dot(numbers), units=_BYTES)() for _ in range(6))


def limit(*, multiply_adds: float = 0.0, read: float = 0.0) -> float:
    """Units a second where a unit needs so many multiply-adds in products and so many bytes from memory."""
    return 1 / max(2 * multiply_adds / operations(), read / reading())


def multiply_adds(work: Callable[[], object]) -> float:
    """How many multiply-adds torch's products of matrices have in this work; others are not counted."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        work()
    return float(counter.get_total_flops()) / 2


def _short(value: float) -> str:
    """A number with about three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
