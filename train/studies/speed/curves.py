"""`make speed ARGS="--figure FILE"`: what ranking costs by candidates, vector width, batch, and ranks.

Shapes: N candidates, F vector width, B topics at once, K ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from srd_agents.registry import make_ranker
from srd_agents.training.learner import Learner
from studies.figures import empty_figure, look, save_figure
from studies.speed.race import timed
from studies.speed.topics import alike, judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("mmr", "dpp", "msd", "relational-pretrained", "reinforce", "qmix")
AXES = {
    "candidates (N)": (15, 60, 240, 1_000, 4_000, 16_000, 100_000),
    "vector width (F)": (16, 64, 256, 1_024),
    "topics at once (B)": (1, 4, 16, 64, 256),
    "ranks (K)": (5, 10, 20, 40, 80),
}
"""What is varied; the others are those of `_POINT`."""
_POINT = {"candidates (N)": 240, "vector width (F)": 384, "topics at once (B)": 1, "ranks (K)": 20}
_LONGEST = {"reinforce": 4_000, "qmix": 1_000}
"""Candidates that are asked of them at most."""
_UNITS = 20_000


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The cost of a ranker by one of `AXES`."""

    name: str
    axis: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    """Of processor time per topic."""

    @property
    def power(self) -> float:
        """The p of a cost that grows as size^p, by least squares over the larger half of the sizes."""
        points = np.log([self.sizes, self.seconds])[:, len(self.sizes) // 2 - 1 :]
        return float(np.polyfit(points[0], points[1], 1)[0])


def growths(rounds: int, axes: dict[str, Sequence[int]] | None = None) -> Iterator[Growth]:
    """The cost of each ranker along each axis: the best of several rounds, since others only slow it down.

    Args:
        rounds: how many, after one that does not count.
        axes: `AXES`, or fewer sizes of them, at least two each and rising.
    """
    for axis, sizes in (axes or AXES).items():
        for name in NAMES:
            asked = [size for size in sizes if axis[0] != "c" or size <= _LONGEST.get(name, size)]
            seconds = [_seconds(name, _POINT | {axis: size}, rounds) for size in asked]
            yield Growth(name=name, axis=axis, sizes=asked, seconds=seconds)


def _seconds(name: str, point: dict[str, int], rounds: int) -> float:
    """Of processor time per topic, at one point."""
    n, width, count, k = point.values()
    ranker = make_ranker(name)
    if isinstance(ranker, Learner) and ranker.vector_width is None:
        ranker.prepare(judged(2, 15, width))  # first weights: what ranking costs does not depend on them
    work = partial(ranker.rank_batch, alike(count, n, width), k)
    side = timed(work, count, max(1, _UNITS // (n * count * k)))
    return 1 / max(side() for _ in range(rounds + 1))


def draw(costs: Sequence[Growth], path: Path) -> None:
    """Draw a panel for each axis into a PNG or SVG file."""
    save_figure(lambda: _figure(costs), path)


def _figure(costs: Sequence[Growth]) -> Figure:
    figure, panels = empty_figure(2, 2, (11, 9))
    for axes, axis in zip(panels.flat, AXES, strict=True):
        curves = [growth for growth in costs if growth.axis == axis]
        for number, growth in enumerate(curves):
            label = f"{growth.name}: {axis[-2]}^{growth.power:.2f}"
            axes.loglog(growth.sizes, [s * 1000 for s in growth.seconds], label=label, **look(number))
        others = ", ".join(f"{name[-2]} = {size}" for name, size in _POINT.items() if name != axis)
        axes.set(xlabel=axis, ylabel="milliseconds per topic", title=others)
        ticks = max((growth.sizes for growth in curves), key=len)
        axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
        axes.set_xticks([], minor=True)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure
