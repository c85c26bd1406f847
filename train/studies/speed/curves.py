"""`make speed ARGS="--figure FILE"`: what ranking costs by size, and a check that no cost grows with its square.

Shapes: N candidates, F vector width, B topics at once, K ranks, S subtopics, T topics of a file.
"""

from __future__ import annotations

import tempfile
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from srd_agents import diversify
from srd_agents.registry import make_ranker
from srd_agents.training.learner import Learner
from srd_gym.data.parquet import iter_topics, read_topics
from srd_gym.topic import Topic
from studies.figures import empty_figure, look, save_figure
from studies.speed.memory import write_large
from studies.speed.race import timed
from studies.speed.topics import alike, judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEEPEST = 1.4
"""The largest p of a cost that grows as size^p: caches and overheads bend lines, and squares are far above."""
NAMES = ("mmr", "dpp", "msd", "relational-pretrained", "reinforce", "qmix")
AXES = {
    "candidates (N)": (15, 60, 240, 1_000, 4_000, 16_000, 100_000),
    "vector width (F)": (16, 64, 256, 1_024),
    "topics at once (B)": (1, 4, 16, 64, 256),
    "ranks (K)": (5, 10, 20, 40, 80),
    "subtopics (S)": (4, 16, 64, 256),
    "candidates, all of them ranked (N)": (1_000, 4_000, 16_000, 64_000),
    "candidates: memory (N)": (500, 1_000, 2_000, 4_000),
    "topics: memory (T)": (250, 500, 1_000, 2_000),
}
"""What is varied; the others are those of `_POINT`."""
_ALL, _BYTES, _FILE = list(AXES)[-3:]
_LINES = {
    "subtopics (S)": ("xquad", "pm2", "safe"),
    _ALL: ("diversify", "its explanation"),
    _BYTES: tuple(name for name in NAMES if name != "qmix"),  # torch's memory is not traced
    _FILE: ("read whole", "read one by one"),
}
"""Lines of an axis that are not `NAMES`."""
_POINT = {"candidates (N)": 240, "vector width (F)": 384, "topics at once (B)": 1, "ranks (K)": 20, "subtopics (S)": 0}
_LONGEST = {"reinforce": 4_000, "qmix": 1_000}
"""Candidates that are asked of them at most."""
_UNITS = 20_000


@dataclass(frozen=True, kw_only=True)
class Growth:
    """A cost by one of `AXES`."""

    name: str
    axis: str
    sizes: Sequence[int]
    costs: Sequence[float]
    """Seconds of processor time per topic, or bytes of memory at the highest."""

    @property
    def power(self) -> float:
        """The p of a cost that grows as size^p, by least squares over the larger half of the sizes."""
        points = np.log([self.sizes, self.costs])[:, len(self.sizes) // 2 - 1 :]
        return float(np.polyfit(points[0], points[1], 1)[0])

    @property
    def in_bytes(self) -> bool:
        """Whether it is memory."""
        return self.axis in (_BYTES, _FILE)


def growths(rounds: int, axes: Mapping[str, Sequence[int]] | None = None) -> Iterator[Growth]:
    """The cost of each line along each axis: the best of several rounds, since others only slow it down.

    Args:
        rounds: how many, after one that does not count.
        axes: `AXES`, or fewer sizes of them, at least two each and rising.
    """
    for axis, sizes in (AXES if axes is None else axes).items():
        for name in _LINES.get(axis, NAMES):
            most = _LONGEST.get(name, max(sizes)) if axis in ("candidates (N)", _BYTES) else max(sizes)
            asked = [size for size in sizes if size <= most]
            yield Growth(name=name, axis=axis, sizes=asked, costs=[_cost(axis, name, size, rounds) for size in asked])


def too_steep(growths: Sequence[Growth]) -> list[str]:
    """A sentence on each line that grows faster than size^`STEEPEST`."""
    return [
        f"{'memory' if growth.in_bytes else 'time'} of {growth.name} grows with {growth.axis}^{growth.power:.2f}, "
        f"expected at most {growth.axis[-2]}^{STEEPEST}"
        for growth in growths
        if growth.power > STEEPEST
    ]


def _cost(axis: str, name: str, size: int, rounds: int) -> float:
    """Seconds per topic, or bytes."""
    if axis == _FILE:
        return _bytes_of_file(name, size)
    if axis == _ALL:
        work, count, times = _all_ranked(name, size), 1, 1
    else:
        point = _POINT | {"candidates (N)" if axis == _BYTES else axis: size}
        n, _, count, k, _ = point.values()
        work, times = _ranking(name, *point.values()), max(1, _UNITS // (n * count * k))
    if axis == _BYTES:
        work()  # what is made once
        return _most_bytes(work)
    side = timed(work, count, times)
    return 1 / max(side() for _ in range(rounds + 1))


def _ranking(name: str, n: int, width: int, count: int, k: int, subtopics: int) -> Callable[[], object]:
    """The work of a ranker at one point."""
    ranker, topics = make_ranker(name), alike(count, n, width)
    if isinstance(ranker, Learner) and ranker.vector_width is None:
        ranker.prepare(judged(2, 15, width))  # first weights: what ranking costs does not depend on them
    if subtopics:
        vectors = np.random.default_rng(0).standard_normal((subtopics, width), dtype=np.float32)
        topics = [replace(topic, subtopic_vectors=vectors) for topic in topics]
    return partial(ranker.rank_batch, topics, k)


def _all_ranked(name: str, n: int) -> Callable[[], object]:
    """The work of ranking all candidates by their scores, or of explaining that."""
    (topic,) = alike(1, n, _POINT["vector width (F)"])
    rank = partial(diversify, doc_vectors=topic.doc_vectors, scores=topic.retrieval_scores, k=n)
    return rank if name == "diversify" else rank().explain


def _bytes_of_file(name: str, count: int) -> float:
    """Most bytes while a file of topics is read, held or not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "topics.parquet")
        write_large(path, count, candidates=20, width=4)
        read: Callable[[], object] = partial(read_topics, path)
        if name != "read whole":
            read = lambda: deque[Topic](iter_topics(path), maxlen=0)  # noqa: E731
        read()  # what is imported and made once
        return _most_bytes(read)


def _most_bytes(work: Callable[[], object]) -> float:
    """Bytes that Python and numpy hold during some work, at the highest."""
    tracemalloc.start()
    try:
        result = work()
        most = tracemalloc.get_traced_memory()[1]
        del result
    finally:
        tracemalloc.stop()
    return float(most)


def draw(costs: Sequence[Growth], path: Path) -> None:
    """Draw a panel for each axis into a PNG or SVG file."""
    save_figure(lambda: _figure(costs), path)


def _figure(costs: Sequence[Growth]) -> Figure:
    names = list(dict.fromkeys(growth.axis for growth in costs))
    rows = -(-len(names) // 2)
    figure, panels = empty_figure(rows, 2, (11, 4.5 * rows))
    for axes, axis in zip(panels.flat, names, strict=False):
        curves = [growth for growth in costs if growth.axis == axis]
        unit, scale = ("megabytes at the highest", 1e-6) if curves[0].in_bytes else ("milliseconds per topic", 1e3)
        for number, growth in enumerate(curves):
            label = f"{growth.name}: {axis[-2]}^{growth.power:.2f}"
            axes.loglog(growth.sizes, [cost * scale for cost in growth.costs], label=label, **look(number))
        others = ", ".join(f"{name[-2]} = {size}" for name, size in _POINT.items() if name[-2] != axis[-2] and size)
        axes.set(xlabel=axis, ylabel=unit, title="" if axis in (_ALL, _FILE) else others)
        ticks = max((growth.sizes for growth in curves), key=len)
        axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
        axes.set_xticks([], minor=True)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure
