"""How soon rankers become good: quality against episodes, policy evaluations and processor time.

Everything is computed from a benchmark's cells. Runs are compared in pairs (same fold, same seed), as the folds' topics
are not equally hard. A level of quality is a share of what the unpruned policy gains in a fold: 0 is where it begins, 1
the best it reaches. The speed-up of a ranker at a level is what the unpruned policy needed to reach it, divided by what
the ranker needed.

Shapes: P recorded epochs, R runs (fold x seed).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from srd_gym.measures import measure

Record = Mapping[str, Any]
Floats = NDArray[np.float64]
Effort = Literal["episodes", "evaluations", "cpu_seconds"]
Quality = Literal["return", "validation"]

EFFORTS: tuple[Effort, ...] = ("episodes", "evaluations", "cpu_seconds")
"""What reaching a level costs. Processor time is that of updates and of what was trained before them (NTN-DIV)."""
QUALITIES: tuple[Quality, ...] = ("return", "validation")
"""The mean return of the training episodes, as sampled; the measure of the ranking of the validation topics."""
SHARES = (0.5, 0.75, 0.9)
"""The levels."""
LEAST_RISE = 0.1
"""Where the unpruned policy rises by less than this share of its first value, nothing was learned: no levels."""

_EPISODES, _EPOCHS = 400, 5
_RESAMPLES = 10_000


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """One run: what it had cost and how good it was after each epoch."""

    ranker: str
    fold: int
    seed: int
    effort: Mapping[Effort, Floats]
    """Sums from the first episode on, [P]; epoch 0 comes first, where it was validated."""
    quality: Mapping[Quality, Floats]
    """As recorded, [P]; NaN where an epoch was not validated, or had no episodes."""

    def smooth(self, quality: Quality) -> Floats:
        """What counts as reached after each epoch: [P], NaN before the first value.

        For the return, whose episodes are drawn, it is the mean of as many epochs as 400 episodes need, at most five
        (fewer at the start); for validation, whose best weights are kept, the best so far.
        """
        values = self.quality[quality]
        if quality == "validation":
            best = np.maximum.accumulate(np.where(np.isnan(values), -np.inf, values))
            return np.where(np.isinf(best), np.nan, best)
        there = np.flatnonzero(~np.isnan(values))
        out = np.full(len(values), np.nan)
        each = float(np.diff(self.effort["episodes"]).max(initial=1.0))
        window = min(_EPOCHS, int(np.ceil(_EPISODES / each)))
        for place, index in enumerate(there):
            out[index] = values[there[max(0, place + 1 - window) : place + 1]].mean()
        return out

    def reach(self, quality: Quality, level: float, effort: Effort) -> float | None:
        """What it had cost when the level was first reached; None where it never was.

        Between two epochs a straight line is read. A run that is there at its first value is given the cost of its
        first episodes, not 0: speed-ups are then too small rather than too large.
        """
        values = self.smooth(quality)
        there = np.flatnonzero(~np.isnan(values))
        every = self.effort[effort]
        cost, known = every[there], values[there]
        above = np.flatnonzero(known >= level)
        if not len(above):
            return None
        at = int(above[0])
        if at == 0:
            return float(every[int((self.effort["episodes"] > 0).argmax())])
        share = (level - known[at - 1]) / (known[at] - known[at - 1])
        return float(cost[at - 1] + share * (cost[at] - cost[at - 1]))

    def own_reach(self, quality: Quality, share: float, effort: Effort) -> float | None:
        """What it had cost when this share of the run's own gain was first reached; None where it gained nothing."""
        values = self.smooth(quality)
        known = values[~np.isnan(values)]
        if not len(known) or known.max() - known[0] < LEAST_RISE * abs(known[0]):
            return None
        return self.reach(quality, float(known[0] + share * (known.max() - known[0])), effort)


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A speed-up with its 95% interval."""

    value: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        """As plain values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A mean over runs."""

    mean: float
    deviation: float | None
    """The standard deviation over runs; None for a single one."""

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Spread | None:
        """The spread of values; None where one is missing."""
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return None
        return cls(mean=float(np.mean(known)), deviation=float(np.std(known, ddof=1)) if len(known) > 1 else None)


@dataclass(frozen=True, kw_only=True)
class Reached:
    """What it cost a ranker to reach a level."""

    ranker: str
    quality: Quality
    share: float
    """The level, as a share of what the unpruned policy gains."""
    level: float
    """Its mean over folds."""
    runs: int
    reached: int
    """Runs that came there."""
    cost: Mapping[Effort, Spread | None]
    """Over those runs; None where there is none."""
    pairs: int
    """Pairs of which both runs came there; the ratios are over them."""
    ratio: Mapping[Effort, Ratio | None]
    """Speed-up over the unpruned policy; None for itself and without pairs."""


@dataclass(frozen=True, kw_only=True)
class End:
    """A ranker after all its epochs."""

    ranker: str
    registry_name: str
    runs: int
    test: Spread
    """The measure on the test topics (chosen weights)."""
    validation: Spread | None
    """The best on the validation topics; None for rankers that are not chosen."""
    first_return: Spread | None
    """Of the training episodes of the first epoch; None for rankers without episodes."""
    last_return: Spread | None
    """Of the last epochs, as many as `LearningCurve.smooth` takes."""
    own: Mapping[Effort, Spread | None]
    """What it cost to reach 90% of what the ranker itself gains in return; None for rankers without episodes."""
    effort: Mapping[Effort, float | None]
    """Mean over runs, in all; None where it was not counted."""


@dataclass(frozen=True, kw_only=True)
class SetConvergence:
    """One topic set."""

    topics: str
    full_name: str
    measure: str
    """Of validation and test."""
    normalizer: str
    folds: tuple[int, ...]
    seeds: tuple[int, ...]
    curves: tuple[LearningCurve, ...]
    ends: tuple[End, ...]
    reached: tuple[Reached, ...]
    unlearned: Mapping[str, tuple[Quality, ...]]
    """Unpruned ranker -> the qualities in which it learned nothing, so that there are no levels."""
    references: Mapping[str, str]
    """Ranker -> the unpruned one that it is compared with."""
    commits: tuple[str, ...]


def convergence(records: Sequence[Record], references: Sequence[str], *, seed: int = 0) -> list[SetConvergence]:
    """The comparison for each topic set.

    Args:
        records: of a benchmark's cells; those without a history are left out.
        references: the unpruned rankers; a ranker is compared with the one that has its policy.
        seed: of the bootstrap.

    Raises:
        ValueError: no cell has a curve with episodes, evaluations and processor time.
    """
    if not any(_has_curve(record) for record in records):
        raise ValueError(
            "no cell has a curve to compare: expected learners that count episodes, evaluations and processor time "
            "(mdp-div and its variants)"
        )
    names = dict.fromkeys(record["topic_set"]["name"] for record in records if _has_curve(record))
    rng = np.random.default_rng(seed)
    return [
        _of_set([record for record in records if record["topic_set"]["name"] == name], references, rng)
        for name in names
    ]


def ratio_interval(first: Sequence[float], second: Sequence[float], rng: np.random.Generator) -> Ratio:
    """mean(first) / mean(second) with its percentile bootstrap interval, pairs drawn with replacement (Efron 1979).

    Args:
        first: [R] what one side needed.
        second: [R] what the other needed, pair by pair, above 0.
        rng: draws the resamples.

    Raises:
        ValueError: no pairs.
    """
    if not len(first) or len(first) != len(second):
        raise ValueError(f"expected as many values on both sides, at least one, got {len(first)} and {len(second)}")
    over, under = np.asarray(first, np.float64), np.asarray(second, np.float64)
    value = float(over.mean() / under.mean())
    if len(over) == 1 or (np.ptp(over) == 0 and np.ptp(under) == 0):
        return Ratio(value=value, low=value, high=value)
    from scipy.stats import bootstrap

    interval = bootstrap(
        (over, under),
        lambda a, b, axis: a.mean(axis=axis) / b.mean(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=_RESAMPLES,
        method="percentile",
        rng=rng,
    ).confidence_interval
    return Ratio(value=value, low=float(interval.low), high=float(interval.high))


def learning_curve(record: Record) -> LearningCurve:
    """The curve of a cell."""
    lines = record["history"]["records"]
    topics = np.array([line["topics"] for line in lines], np.float64)
    each = np.array([line.get("evaluations", 0.0) for line in lines], np.float64)
    return LearningCurve(
        ranker=record["ranker"],
        fold=record["fold"],
        seed=record["seed"],
        effort={
            "episodes": np.array([line["episodes"] for line in lines], np.float64),
            "evaluations": np.cumsum(each * np.diff(topics, prepend=0.0)),
            "cpu_seconds": np.array([line["cpu_seconds"] for line in lines], np.float64),
        },
        quality={
            quality: np.array([np.nan if line.get(quality) is None else line[quality] for line in lines], np.float64)
            for quality in QUALITIES
        },
    )


def _has_curve(record: Record) -> bool:
    """Whether the cell's history has all that is compared."""
    lines = (record.get("history") or {}).get("records", ())
    return len(lines) > 1 and all(key in lines[-1] for key in ("episodes", "evaluations", "cpu_seconds", "return"))


def _of_set(records: Sequence[Record], references: Sequence[str], rng: np.random.Generator) -> SetConvergence:
    """The comparison on one topic set."""
    learned = [record for record in records if _has_curve(record)]
    curves = tuple(learning_curve(record) for record in learned)
    by_ranker = {name: [c for c in curves if c.ranker == name] for name in dict.fromkeys(c.ranker for c in curves)}
    own = _references(learned, references)
    levels = {name: {q: _levels(by_ranker[name], q) for q in QUALITIES} for name in dict.fromkeys(own.values())}
    reached = [
        _reached(by_ranker[name], by_ranker[own[name]], quality, share, levels[own[name]][quality], rng)
        for quality in QUALITIES
        for name in own
        if levels[own[name]][quality]
        for share in SHARES
    ]
    first = learned[0]
    measured = _canonical(first["history"]["measure"])
    return SetConvergence(
        topics=first["topic_set"]["name"],
        full_name=first["topic_set"]["full_name"],
        measure=measured,
        normalizer=first["normalizer"],
        folds=tuple(sorted({c.fold for c in curves})),
        seeds=tuple(sorted({c.seed for c in curves})),
        curves=curves,
        ends=tuple(
            _end([r for r in records if r["ranker"] == name], measured)
            for name in dict.fromkeys(record["ranker"] for record in records)
        ),
        reached=tuple(reached),
        unlearned={name: tuple(q for q in QUALITIES if not found[q]) for name, found in levels.items()},
        references=own,
        commits=tuple(sorted({str(record["commit"]) for record in records})),
    )


def _references(records: Sequence[Record], references: Sequence[str]) -> dict[str, str]:
    """Ranker -> the unpruned ranker with its policy; rankers without one are left out."""
    policies = {record["ranker"]: record["config"].get("policy") for record in records}
    by_policy = {policies[name]: name for name in reversed(references) if name in policies}
    return {name: by_policy[policy] for name, policy in policies.items() if policy in by_policy}


def _levels(curves: Sequence[LearningCurve], quality: Quality) -> dict[int, tuple[float, float]]:
    """Fold -> where the unpruned policy begins and the best it reaches, means over seeds; empty: it learned nothing."""
    found = {}
    for fold in dict.fromkeys(curve.fold for curve in curves):
        smooth = [curve.smooth(quality) for curve in curves if curve.fold == fold]
        known = [values[~np.isnan(values)] for values in smooth]
        if any(len(values) < 2 for values in known):
            return {}
        found[fold] = (
            float(np.mean([values[0] for values in known])),
            float(np.mean([values.max() for values in known])),
        )
    starts, tops = np.array(list(found.values())).mean(axis=0)
    return found if tops - starts >= LEAST_RISE * abs(starts) else {}


def _reached(
    curves: Sequence[LearningCurve],
    unpruned: Sequence[LearningCurve],
    quality: Quality,
    share: float,
    levels: Mapping[int, tuple[float, float]],
    rng: np.random.Generator,
) -> Reached:
    """One ranker at one level."""
    at = {fold: low + share * (high - low) for fold, (low, high) in levels.items()}
    costs = {effort: _costs(curves, quality, at, effort) for effort in EFFORTS}
    theirs = {effort: _costs(unpruned, quality, at, effort) for effort in EFFORTS}
    came = costs["episodes"]
    pairs = [run for run in came if run in theirs["episodes"]]
    itself = curves[0].ranker == unpruned[0].ranker
    ratio: dict[Effort, Ratio | None] = {
        effort: None
        if itself or not pairs
        else ratio_interval([theirs[effort][run] for run in pairs], [costs[effort][run] for run in pairs], rng)
        for effort in EFFORTS
    }
    return Reached(
        ranker=curves[0].ranker,
        quality=quality,
        share=share,
        level=float(np.mean(list(at.values()))),
        runs=len(curves),
        reached=len(came),
        cost={effort: Spread.of(list(costs[effort].values())) for effort in EFFORTS},
        pairs=len(pairs),
        ratio=ratio,
    )


def _costs(
    curves: Iterable[LearningCurve], quality: Quality, levels: Mapping[int, float], effort: Effort
) -> dict[tuple[int, int], float]:
    """(fold, seed) -> what the level cost, for the runs that came there."""
    found = {(c.fold, c.seed): c.reach(quality, levels[c.fold], effort) for c in curves if c.fold in levels}
    return {run: cost for run, cost in found.items() if cost is not None}


def _end(records: Sequence[Record], name: str) -> End:
    """A ranker's last state, from the cells of its runs."""
    curves = [learning_curve(record) for record in records if _has_curve(record)]
    returns = [curve.quality["return"][~np.isnan(curve.quality["return"])] for curve in curves]
    ends = [(record.get("history") or {}).get("records", [{}])[-1] for record in records]
    counted = {effort: Spread.of([end.get(effort) for end in ends]) for effort in ("episodes", "cpu_seconds")}
    counted["evaluations"] = Spread.of([float(curve.effort["evaluations"][-1]) for curve in curves])
    test = Spread.of([_value(record["measures"], name) for record in records])
    if test is None:
        raise ValueError(f"the cells of ranker {records[0]['ranker']!r} do not report {name}; add it to the recipe")
    return End(
        ranker=records[0]["ranker"],
        registry_name=records[0]["registry_name"],
        runs=len(records),
        test=test,
        validation=Spread.of([record["validation"] for record in records]),
        first_return=Spread.of([float(values[0]) for values in returns]),
        last_return=Spread.of([float(curve.smooth("return")[-1]) for curve in curves]),
        own={
            effort: Spread.of([curve.own_reach("return", SHARES[-1], effort) for curve in curves]) for effort in EFFORTS
        },
        effort={effort: None if spread is None else spread.mean for effort, spread in counted.items()},  # type: ignore[misc]
    )


def _canonical(name: str) -> str:
    """One spelling for each measure, whatever its ideal."""
    return str(dataclasses.replace(measure(name), normalizer=None))


def _value(measures: Mapping[str, float], name: str) -> float | None:
    """A measure's value among those of a cell, by its canonical name; None where the recipe does not report it."""
    return next((value for key, value in measures.items() if _canonical(key) == name), None)
