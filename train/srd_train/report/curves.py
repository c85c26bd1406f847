"""Learning curves, for the page.

A learning curve is a ranker's validation measure against environment episodes or time: folds are averaged first, the
line is the mean over seeds and the band their lowest and highest. Cells were validated at different moments (time is
never the same twice), so each is read at common points, between its own records in a straight line; nothing is read
beyond a cell's last record. A logarithmic axis has no 0, so that the initial weights are a dot at its left edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from srd_train.experiment.records import Record, grouped
from srd_train.report.tables import known_measure

Against = Literal["episodes", "cpu_seconds"]
AGAINST: tuple[Against, ...] = ("episodes", "cpu_seconds")
"""Efforts that learning is shown against, a column each."""
_POINTS = 40


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """A ranker's validation measure as it learns."""

    ranker: str
    x: NDArray[np.float64]
    """Efforts at which it is read, [P], above 0."""
    mean: NDArray[np.float64]
    """Over seeds, [P]."""
    low: NDArray[np.float64]
    """The seeds' lowest, [P]."""
    high: NDArray[np.float64]
    """The seeds' highest, [P]."""
    seeds: int
    """Number of seeds."""
    start: float | None
    """The measure of the initial weights, before any episode; None where it was not taken."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One topic set against one thing."""

    topics: str
    measure: str
    """Measure of validation."""
    against: Against
    curves: tuple[LearningCurve, ...]
    levels: Mapping[str, float]
    """Rankers that do not learn but were chosen on the validation topics -> their measure there."""


def panels(records: Sequence[Record]) -> list[Panel]:
    """Two panels for a topic set and a measure of validation by which something learned, with episodes.

    Args:
        records: of its cells.
    """
    records = [record for record in records if not record["view"]]  # views rank with a fit whose curve is there
    made = []
    for name, own in grouped(records, _validated_by).items():
        for against in AGAINST:
            if curves := _curves(own, against):
                topics = records[0]["topic_set"]["name"]
                made.append(Panel(topics=topics, measure=name, against=against, curves=curves, levels=_levels(own)))
    return made


def _validated_by(record: Record) -> str:
    """The measure of a record's values on the validation topics."""
    history = record["history"]
    name: str = record.get("select_by", "") if history is None else history["measure"]
    known = known_measure(name) if name else None
    return name if known is None else str(replace(known, normalizer=None))


def _levels(records: Iterable[Record]) -> dict[str, float]:
    """Rankers that do not learn but have a value on the validation topics: means over cells."""
    chosen = [record for record in records if record["history"] is None and record["validation"] is not None]
    by_ranker = grouped(chosen, itemgetter("ranker"))
    return {ranker: float(np.mean([record["validation"] for record in own])) for ranker, own in by_ranker.items()}


def _curves(records: Sequence[Record], against: Against) -> tuple[LearningCurve, ...]:
    """Those of all rankers that have two points or more, the highest end first."""
    learned = [record for record in records if record["history"] is not None and len(_points(record, against)) > 1]
    curves = [_curve(own, against) for own in grouped(learned, itemgetter("ranker")).values()]
    return tuple(sorted(curves, key=lambda curve: (-curve.mean[-1], curve.ranker)))


def _points(record: Record, against: Against) -> NDArray[np.float64]:
    """[P, 2] effort and validation of a cell, after the first episodes: a logarithmic axis has no 0."""
    points = [
        (line[against], line["validation"])
        for line in record["history"]["records"]
        if min(line.get("episodes") or 0, line.get(against) or 0) > 0 and line.get("validation") is not None
    ]
    return np.array(points, dtype=np.float64).reshape(-1, 2)


def _curve(records: Sequence[Record], against: Against) -> LearningCurve:
    """Folds averaged, then the mean and the range over seeds."""
    seeds = grouped(records, itemgetter("seed")).values()
    by_seed = [[_points(record, against).T for record in own] for own in seeds]
    every = [effort for cells in by_seed for effort, _ in cells]
    first, last = max(effort[0] for effort in every), min(effort[-1] for effort in every)
    x = np.geomspace(first, max(first, last), _POINTS)
    at = np.log(x)  # straight lines on a logarithmic axis
    values = np.array([np.mean([np.interp(at, np.log(e), y) for e, y in cells], axis=0) for cells in by_seed])
    return LearningCurve(
        ranker=records[0]["ranker"],
        x=x,
        mean=values.mean(axis=0),
        low=values.min(axis=0),
        high=values.max(axis=0),
        seeds=len(values),
        start=_start(records),
    )


def _start(records: Sequence[Record]) -> float | None:
    """The mean over cells of what validation gave before any episode."""
    first = [entry for record in records for entry in record["history"]["records"][:1]]
    values = [entry.get("validation") for entry in first if entry.get("episodes") == 0]
    return float(np.mean(values)) if values and None not in values else None
