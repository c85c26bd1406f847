"""What `make speed` measures of long lists: the top 20 of 100,000, and how time grows with the number of candidates.

Shapes: N candidates, F vector width, k documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from srd_agents.registry import make_ranker
from srd_gym.protocols import Ranker
from srd_gym.topic import Topic
from srd_train.report.pictures import COLOURS, MARKERS, save_figure
from studies.speed.heuristics import drawn
from studies.speed.race import Outcome, against, rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("mmr", "dpp", "msd", "relational-pretrained")
LENGTHS = (15, 60, 240, 1_000, 4_000, 16_000, 100_000)
_LONG, _WIDTH, _K, _LIMIT = 100_000, 384, 20, 0.06


def longest(name: str, *, rounds: int, size: float = 1.0) -> Outcome:
    """The top 20 of 100,000 documents that are alike, against the time that one topic may take.

    Args:
        name: a ranker.
        rounds: how many count.
        size: share of the candidates, for tests.
    """
    candidates = max(100, int(_LONG * size))
    topic, ranker = drawn(1, candidates, _WIDTH, alike=True)[0], make_ranker(name)
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
    )


def large_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The lines of the speed table: a name to show while it runs, and the case."""
    for name in NAMES:
        yield f"long list, {name}", partial(longest, name, rounds=rounds, size=size)


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What ranking one topic costs a ranker by the number of its candidates."""

    name: str
    lengths: Sequence[int]
    seconds: Sequence[float]
    """Of processor time."""

    @property
    def power(self) -> float:
        """The p of a cost that grows as N^p, by least squares over lists of 1,000 and more (the last two at least)."""
        points = np.log([self.lengths, self.seconds])
        long = points[:, np.array(self.lengths) >= min(1_000, self.lengths[-2])]
        return float(np.polyfit(long[0], long[1], 1)[0])


def growths(rounds: int, lengths: Sequence[int] = LENGTHS) -> list[Growth]:
    """The cost of each ranker at each length: the best of several rounds, since others only slow it down.

    Args:
        rounds: how many.
        lengths: at least two, rising.
    """
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for length in lengths:
        topic, repeats = drawn(1, length, _WIDTH, alike=True)[0], max(1, 2_000 // length)
        for name, seconds in found.items():
            work = partial(_repeated, make_ranker(name), topic, repeats)
            seconds.append(1 / max(rate(work) for _ in range(rounds + 1)))
    return [Growth(name=name, lengths=lengths, seconds=seconds) for name, seconds in found.items()]


def _repeated(ranker: Ranker, topic: Topic, repeats: int) -> int:
    for _ in range(repeats):
        ranker.rank(topic, _K)
    return repeats


def draw(found: Sequence[Growth], path: Path) -> None:
    """Draw time against the number of candidates into a PNG or SVG file."""
    save_figure(lambda: _figure(found), path)


def _figure(found: Sequence[Growth]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for growth, colour, marker in zip(found, COLOURS, MARKERS, strict=False):
        label = f"{growth.name}: N^{growth.power:.2f}"
        axes.loglog(growth.lengths, [s * 1000 for s in growth.seconds], color=colour, marker=marker, label=label)
    axes.set(xlabel="candidates (N)", ylabel="milliseconds a topic", title=f"Top {_K} of N, F = {_WIDTH}, one thread")
    axes.grid(alpha=0.3)
    axes.legend(title="growth from 1,000 on")
    return figure
