"""Learning curves, for the page.

A learning curve is a ranker's validation measure against environment episodes or time: folds are averaged first, the
line is the mean over seeds and the band their lowest and highest. Cells were validated at different moments (time is
never the same twice), so each is read at common points, between its own records in a straight line; nothing is read
beyond a cell's last record. A logarithmic axis has no 0, so that the first weights are a dot at its left edge.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from srd_gym.measures import measure

Points = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Episodes or seconds, rising, and the validation measure there."""
Against = Literal["episodes", "cpu_seconds"]
AGAINST: tuple[Against, ...] = ("episodes", "cpu_seconds")
"""What learning is shown against, a column each."""
_POINTS = 40


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """What a ranker's validation comes to as it learns."""

    ranker: str
    x: NDArray[np.float64]
    """Where it is read, [P], above 0."""
    mean: NDArray[np.float64]
    """Over seeds, [P]."""
    low: NDArray[np.float64]
    """The seeds' lowest, [P]."""
    high: NDArray[np.float64]
    """The seeds' highest, [P]."""
    seeds: int
    """How many there are."""
    start: float | None
    """The measure of the first weights, before any episode; None where it was not taken."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One topic set against one thing."""

    topics: str
    measure: str
    """In canonical notation."""
    against: Against
    curves: tuple[LearningCurve, ...]
    levels: Mapping[str, float]
    """Rankers that do not learn but were chosen on the validation topics -> their measure there."""


def panels(records: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Two panels for each topic set that something learned on, with episodes and validation."""
    records = [record for record in records if not record["view"]]  # views rank with a fit whose curve is there
    found = []
    for topics in dict.fromkeys(record["topic_set"]["name"] for record in records):
        own = [record for record in records if record["topic_set"]["name"] == topics]
        learned = [record for record in own if _has_curve(record)]
        for name in dict.fromkeys(_canonical(record["history"]["measure"]) for record in learned):
            same = [record for record in learned if _canonical(record["history"]["measure"]) == name]
            found += [_panel(topics, name, against, same, _levels(own, name)) for against in AGAINST]
    return found


def _has_curve(record: Mapping[str, Any]) -> bool:
    """Whether the cell's history can be drawn."""
    history = record["history"]
    return history is not None and len(_points(history["records"], "episodes")[0]) > 1


def _canonical(name: str) -> str:
    """One spelling for each measure; where the ideal comes from is the same within a topic set."""
    return str(dataclasses.replace(measure(name), normalizer=None))


def _levels(records: Iterable[Mapping[str, Any]], name: str) -> dict[str, float]:
    """What does not learn, but has a value on the validation topics: means over cells."""
    values: dict[str, list[float]] = {}
    for record in records:
        if record["history"] is None and record["validation"] is not None and _canonical(record["select_by"]) == name:
            values.setdefault(record["ranker"], []).append(record["validation"])
    return {ranker: float(np.mean(several)) for ranker, several in values.items()}


def _points(records: Iterable[Mapping[str, Any]], against: Against) -> Points:
    """(x, validation) of the records that have both, after the first episodes: a logarithmic axis has no 0."""
    pairs = [
        (float(record[against]), float(record["validation"]))
        for record in records
        if record.get("episodes") and record.get(against) and record.get("validation") is not None
    ]
    points = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def _panel(
    topics: str, name: str, against: Against, records: Sequence[Mapping[str, Any]], levels: Mapping[str, float]
) -> Panel:
    """The panel of one topic set and measure."""
    rankers = dict.fromkeys(record["ranker"] for record in records)
    curves = [_curve([record for record in records if record["ranker"] == ranker], against) for ranker in rankers]
    curves.sort(key=lambda curve: (-curve.mean[-1], curve.ranker))
    return Panel(topics=topics, measure=name, against=against, curves=tuple(curves), levels=levels)


def _curve(records: Sequence[Mapping[str, Any]], against: Against) -> LearningCurve:
    """Folds averaged, then the mean and the range over seeds."""
    by_seed: dict[int, list[Points]] = {}
    for record in records:
        by_seed.setdefault(record["seed"], []).append(_points(record["history"]["records"], against))
    every = [points for several in by_seed.values() for points in several]
    first, last = max(x[0] for x, _ in every), min(x[-1] for x, _ in every)
    x = np.geomspace(first, max(first, last), _POINTS)
    values = np.array([np.mean([_read(points, x) for points in several], axis=0) for several in by_seed.values()])
    return LearningCurve(
        ranker=records[0]["ranker"],
        x=x,
        mean=values.mean(axis=0),
        low=values.min(axis=0),
        high=values.max(axis=0),
        seeds=len(values),
        start=_start(records),
    )


def _start(records: Sequence[Mapping[str, Any]]) -> float | None:
    """The mean over cells of what validation gave before any episode."""
    first = [entry for record in records for entry in record["history"]["records"][:1]]
    values = [entry.get("validation") for entry in first if entry.get("episodes") == 0]
    return float(np.mean(values)) if values and None not in values else None


def _read(points: Points, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values between the points: straight lines on a logarithmic axis."""
    at: NDArray[np.float64] = np.interp(np.log(x), np.log(points[0]), points[1])
    return at
