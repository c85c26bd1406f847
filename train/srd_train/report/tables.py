"""Result tables, computed from the cells' files alone: means, intervals, spread over seeds, paired tests.

Scores of a ranker's seeds are averaged topic by topic; topics are what intervals and tests resample. Every topic of a
set that was tested counts once, whatever its fold. Lists drawn from one topic (`srd data reshape`) are no independent
witnesses: their scores are averaged first, and count as that topic's.

Shapes: T topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from srd_gym.data.reshape import origin
from srd_train.report.results import Record, same_benchmark
from srd_train.report.significance import bootstrap_interval, holm, randomisation_test, wins_ties_losses

SIGNIFICANT = 0.05
"""Differences with an adjusted p value below it are significant."""
_NAMES = ("schema_version", "fold", "seed", "depth")
"""Numbers of a record that are no quantities."""

Scores = NDArray[np.float64]
Verdict = Literal["above", "below", "level", ""]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One ranker on one topic set."""

    ranker: str
    means: dict[str, float]
    """Measure -> mean over topics."""
    intervals: dict[str, tuple[float, float]]
    """Measure -> 95% bootstrap interval of the mean, over topics."""
    seeds: tuple[int, ...]
    """Seeds run."""
    seed_spread: dict[str, float | None]
    """Measure -> standard deviation of the seeds' means; None for one seed."""
    p_value: float | None
    """Of the paired randomisation test of the first measure against the reference, Holm-adjusted over the table's rows;
    None for the reference itself and for rankers that read the judgments."""
    second_p_value: float | None
    """As `p_value`, against the second reference where there is one."""
    verdict: Verdict
    """Significantly above or below the reference, or level with it; empty where there is no test."""
    wins_ties_losses: tuple[int, int, int] | None
    """Topics against the reference, by the first measure; None for the reference itself."""
    medians: dict[str, float]
    """Number of the records (`fit_cpu_seconds`, `environment_steps`, ...) -> its median over cells, where they have it;
    and `rank_milliseconds`, the processor time to rank a test topic."""
    fitted_as: str
    """The row whose fit this one ranks with; its own name, but for views."""
    view: dict[str, Any] | None
    """The options of ranking by which it differs from that row; None for that row itself."""
    reads_judgments: bool
    """Whether it is a reference that looks at the labels, no competitor."""


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """One topic set, a row a ranker."""

    topics: str
    """The topic set's name in the recipe."""
    full_name: str
    """Its own name, which says how vectors were simulated."""
    marks: tuple[str, ...]
    """"simulated", "transductive"."""
    tested: int
    """Topics that were tested on."""
    lists: int | None
    """Lists drawn from them, where they were reshaped."""
    folds: tuple[int, ...]
    """Folds run."""
    normalizer: str
    """Where the ideal rankings come from: "pool" or "candidates"."""
    reference: str
    """The ranker that the others are tested against."""
    second_reference: str | None
    """Another one, or None."""
    measures: tuple[str, ...]
    """The first is the one the test is on."""
    commits: tuple[str, ...]
    """Commits that made the cells."""
    rows: tuple[Row, ...]
    published: Mapping[str, float] = field(default_factory=dict)
    """Row -> figure of the first measure in a paper."""
    published_source: str = ""
    """Where these figures are from."""
    topic_ids: tuple[str, ...] = field(repr=False)
    """The T topics that were tested on."""
    scores: Mapping[str, Mapping[str, Scores]] = field(repr=False, compare=False)
    """Measure -> ranker -> [T] mean over seeds."""
    records: tuple[Record, ...] = field(repr=False)
    """What the table is made of."""

    def as_dict(self) -> dict[str, Any]:
        """The table as plain values, without what it is made of."""
        values = asdict(replace(self, topic_ids=(), scores={}, records=()))
        for key in ("topic_ids", "scores", "records"):
            del values[key]
        return values

    @property
    def title(self) -> str:
        """What the table is about, marks and all."""
        marks = "".join(f", {mark} vectors" for mark in self.marks)
        folds = "fold" if len(self.folds) == 1 else "folds"
        ideal = "pool (official)" if self.normalizer == "pool" else "candidates"
        tested = f"{self.tested} test topics" + (f" ({self.lists:,} lists)" if self.lists else "")
        return f"{self.topics}: {tested}, {folds} {_ranges(self.folds)}{marks}, ideal of the {ideal}"

    @property
    def competitors(self) -> tuple[Row, ...]:
        """The rows that do not read the judgments; all where every one does."""
        return tuple(row for row in self.rows if not row.reads_judgments) or self.rows


def tables(
    records: Sequence[Record],
    reference: str,
    *,
    second_reference: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[ResultTable]:
    """One table for each topic set, in the order of the records.

    Args:
        records: the cells' JSON lines.
        reference: the ranker (its name in the tables) to test against.
        second_reference: another one; each has its own column of p values, adjusted within it.
        resamples: of bootstrap and test.
        seed: of both.

    Raises:
        ValueError: rankers that were not tested on the same topics, or cells that measure different things.
    """
    names = list(dict.fromkeys(record["topic_set"]["name"] for record in records))
    against = (reference, second_reference)
    return [
        _table([record for record in records if record["topic_set"]["name"] == name], against, resamples, seed)
        for name in names
    ]


def _table(records: Sequence[Record], against: tuple[str, str | None], resamples: int, seed: int) -> ResultTable:
    """The table of one topic set."""
    _check_alike(records)
    topic_set = records[0]["topic_set"]
    measures = tuple(records[0]["measures"])
    ids = {query_id for record in records for query_id in record["per_topic"]}
    owner = {query_id: origin(query_id) if topic_set["lists"] else query_id for query_id in ids}
    topic_ids = sorted(set(owner.values()))
    by_ranker: dict[str, list[Record]] = {}
    for record in records:
        by_ranker.setdefault(record["ranker"], []).append(record)
    by_seed = {name: _scores(name, own, measures, topic_ids, owner) for name, own in by_ranker.items()}
    scores = {m: {name: values[m].mean(axis=0) for name, values in by_seed.items()} for m in measures}
    competitors = [name for name, own in by_ranker.items() if not own[0]["reads_judgments"]]
    first = scores[measures[0]]
    p_values = [_p_values(first, competitors, name, resamples, seed) for name in against]
    rng = np.random.default_rng(seed)
    rows = tuple(
        _row(
            own,
            by_seed[name],
            None if name == against[0] else first.get(against[0]),
            [values.get(name) for values in p_values],
            resamples,
            rng,
        )
        for name, own in by_ranker.items()
    )
    return ResultTable(
        topics=topic_set["name"],
        full_name=topic_set["full_name"],
        marks=tuple(topic_set["marks"]),
        tested=len(topic_ids),
        lists=len(ids) if topic_set["lists"] else None,
        folds=tuple(sorted({record["fold"] for record in records})),
        normalizer=records[0]["normalizer"],
        reference=against[0],
        second_reference=against[1],
        measures=measures,
        commits=tuple(sorted({record["commit"] or "unknown" for record in records})),
        rows=rows,
        topic_ids=tuple(topic_ids),
        scores=scores,
        records=tuple(records),
    )


def _check_alike(records: Sequence[Record]) -> None:
    """Cells of one table measure the same things on the same topics with the same ideal."""
    odd = next((record for record in records if same_benchmark(record) != same_benchmark(records[0])), None)
    if odd is not None:
        raise ValueError(
            f"cells {records[0]['cell']} and {odd['cell']} differ in measures, ideal or topics; they belong to "
            "different benchmarks: give each its own folder"
        )


def _row(
    records: Sequence[Record],
    by_seed: Mapping[str, Scores],
    reference: Scores | None,
    p_values: Sequence[float | None],
    resamples: int,
    rng: np.random.Generator,
) -> Row:
    """One ranker's row.

    Args:
        records: its cells.
        by_seed: measure -> [seeds, T] scores, the first measure first.
        reference: [T] scores of the reference by that measure; None for the reference itself.
        p_values: against the reference, and against the second one.
        resamples: of the intervals.
        rng: draws them.
    """
    mean = {measure: values.mean(axis=0) for measure, values in by_seed.items()}
    first = next(iter(mean.values()))
    return Row(
        ranker=records[0]["ranker"],
        means={measure: float(values.mean()) for measure, values in mean.items()},
        intervals={measure: bootstrap_interval(values, rng, resamples=resamples) for measure, values in mean.items()},
        seeds=tuple(sorted({record["seed"] for record in records})),
        seed_spread={measure: _spread(values) for measure, values in by_seed.items()},
        p_value=p_values[0],
        second_p_value=p_values[1],
        verdict=_verdict(p_values[0], first, reference),
        wins_ties_losses=None if reference is None else wins_ties_losses(first, reference),
        medians=_medians(records),
        fitted_as=records[0]["fitted_as"],
        view=records[0]["view"],
        reads_judgments=records[0]["reads_judgments"],
    )


def _p_values(
    scores: Mapping[str, Scores], competitors: Sequence[str], reference: str | None, resamples: int, seed: int
) -> dict[str, float]:
    """Competitor -> Holm-adjusted p value; empty where the reference was not run on this topic set."""
    if reference is None or reference not in scores:
        return {}
    tested = [name for name in competitors if name != reference]
    raw = [
        randomisation_test(scores[name], scores[reference], np.random.default_rng(seed), resamples=resamples)
        for name in tested
    ]
    return dict(zip(tested, holm(raw), strict=True))


def _verdict(p_value: float | None, scores: Scores, reference: Scores | None) -> Verdict:
    """Where a ranker stands; empty where it was not tested."""
    if p_value is None or reference is None:
        return ""
    if p_value >= SIGNIFICANT:
        return "level"
    return "above" if scores.mean() > reference.mean() else "below"


def _medians(records: Sequence[Record]) -> dict[str, float]:
    """Median over cells of every quantity that the records tell; see `Row.medians`."""
    values: dict[str, list[float]] = {}
    for record in records:
        milliseconds = 1000 * record["rank_cpu_seconds"] / record["topic_set"]["test"]
        for key, value in {**record, "rank_milliseconds": milliseconds}.items():
            if key not in _NAMES and isinstance(value, (int, float)) and not isinstance(value, bool):
                values.setdefault(key, []).append(value)
    return {key: float(np.median(several)) for key, several in values.items()}


def _scores(
    ranker: str,
    records: Sequence[Record],
    measures: Sequence[str],
    topic_ids: Sequence[str],
    owner: Mapping[str, str],
) -> dict[str, Scores]:
    """Measure -> [seeds, T] scores, in the order of `topic_ids`; `owner` names the topic that a list was drawn from."""
    by_seed: dict[int, dict[str, list[Mapping[str, float]]]] = {}
    for record in records:
        of_seed = by_seed.setdefault(record["seed"], {})
        for query_id, values in record["per_topic"].items():
            of_seed.setdefault(owner[query_id], []).append(values)
    for seed, per_topic in by_seed.items():
        if missing := [query_id for query_id in topic_ids if query_id not in per_topic]:
            raise ValueError(
                f"ranker {ranker!r}, seed {seed}: {len(missing)} test topics have no scores (first: {missing[0]!r}); "
                "run the benchmark to its end before its tables are made"
            )
    return {
        name: np.array(
            [
                [
                    sum(values[name] for values in several) / len(several)
                    for several in (per_topic[topic] for topic in topic_ids)
                ]
                for _, per_topic in sorted(by_seed.items())
            ]
        )
        for name in measures
    }


def _spread(by_seed: Scores) -> float | None:
    """Standard deviation (n - 1) of the seeds' means."""
    return float(np.std([values.mean() for values in by_seed], ddof=1)) if len(by_seed) > 1 else None


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as text: "1 to 5", or "1, 3"."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(str(number) for number in numbers)
