"""A line of the speed table: ours and a peer side by side in one process, in turns, reported as ratios.

Times are seconds of processor time of this process and thread; each figure is the median over rounds with the smallest
and largest beside it. `lines.toml` has the lines; the functions that they name make ready what is measured.
"""

from __future__ import annotations

import importlib
import statistics
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np

from srd_agents.registry import make_ranker
from srd_agents.training.learner import Learner

Side = Callable[[], float]
"""One round of one side: units per second."""
HEADS = ["what", "ours", "peer", "ratio (lowest to highest)", "target", "reached", "of the limit"]
"""Heads of `as_row`."""
_DEFAULTS = {"unit": "topics/s", "target": 1}
"""Of a line that does not say them."""
_SIDE, _BYTES = 1_024, 1 << 28


class MissingError(Exception):
    """A line needs something that is not here, so that it is left out."""


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


def measured(name: str, rounds: int, size: float = 1.0) -> dict[str, Any]:
    """A line with its figures: our side and the peer take turns.

    Args:
        name: of the line.
        rounds: how many count.
        size: share of the full work.

    Raises:
        ImportError: the peer is not installed.
        MissingError: something else is not here.
    """
    line = table()[name]
    function, *arguments = line["by"]
    module, function = function.split(".")
    ready = partial(getattr(importlib.import_module(f"studies.speed.{module}"), function), *arguments)
    if "megabytes" in line:
        about = {"name": name, "what": line["what"]}
        return about | {"megabytes": ready(), "target_megabytes": line["megabytes"]}
    return raced(line, ready(size=size), rounds)


def raced(line: dict[str, Any], work: Work, rounds: int) -> dict[str, Any]:
    """A line with the figures of some rounds; see `measured`."""
    theirs = work.theirs or (lambda: 1 / line["seconds"])
    unheeded = 0 if line.get("cold") else 1
    rates = [(work.ours(), theirs()) for _ in range((1 if line.get("once") else rounds) + unheeded)][unheeded:]
    ratio = _figure([a / b for a, b in rates])
    return {
        "what": line["what"],
        "unit": line["unit"],
        "ours": _figure([a for a, _ in rates]),
        "peer": line["peer"],
        "theirs": _figure([b for _, b in rates]),
        "ratio": ratio,
        "target": line["target"],
        "reached": ratio["median"] >= line["target"],
        "limit": work.limit,
    }


def as_row(line: dict[str, Any]) -> list[str]:
    """A measured line as text."""
    if "megabytes" in line:
        most, target = line["megabytes"], line["target_megabytes"]
        return [line["what"], f"{most:,.0f} MB", "-", "-", f"{target:,.0f} MB", "yes" if most <= target else "no", "-"]
    ours, theirs, ratio = line["ours"]["median"], line["theirs"]["median"], line["ratio"]
    return [
        line["what"],
        f"{_short(ours)} {line['unit']}",
        f"{line['peer']}: {_short(theirs)} {line['unit']}",
        f"{_short(ratio['median'])}x ({_short(ratio['low'])} to {_short(ratio['high'])})",
        f"{_short(line['target'])}x",
        "yes" if line["reached"] else "no",
        "-" if line["limit"] is None else f"{ours / line['limit']:.0%}",
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


def _figure(rates: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(rates), "low": min(rates), "high": max(rates)}


def _short(value: float) -> str:
    """A number with about three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
