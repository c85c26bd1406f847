"""Result tables, computed from the cells' files alone: means, intervals, spread over seeds, paired tests.

Scores of a ranker's seeds are averaged topic by topic; topics are what intervals and tests resample. Every topic of a
set that was tested counts once, whatever its fold. Lists drawn from one topic (`srd data reshape`) are no independent
witnesses: their scores are averaged first, and count as that topic's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.data.reshape import origin
from srd_train.report.markdown import markdown
from srd_train.report.significance import bootstrap_interval, holm, randomisation_test

Record = Mapping[str, Any]
Scores = NDArray[np.float64]


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
    fit_seconds: float
    """Seconds to fit one cell (choosing included) by the wall clock, the median over cells."""
    fit_cpu_seconds: float | None
    """The same in processor time; None where cells (of earlier versions) lack it."""
    fitted_as: str
    """The row whose fit this one ranks with; its own name, but for views."""
    view: dict[str, Any] | None
    """The options of ranking by which it differs from that row; None for that row itself."""
    reads_judgments: bool
    """Whether it is a reference that looks at the labels, no competitor."""
    rank_milliseconds: float | None
    """Processor time to rank a test topic, the median over cells; None where cells (of earlier versions) lack it."""
    environment_episodes: int | None
    """Episodes played while fitting one cell, the median over cells."""
    environment_steps: int | None
    """Steps of these episodes."""
    time_budget: float | None
    """Seconds that ended the training of a cell: such cells depend on the machine."""


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

    def as_dict(self) -> dict[str, Any]:
        """The table as plain values."""
        return asdict(self)

    @property
    def title(self) -> str:
        """What the table is about, marks and all."""
        marks = "".join(f", {mark} vectors" for mark in self.marks)
        folds = "fold" if len(self.folds) == 1 else "folds"
        ideal = "pool (official)" if self.normalizer == "pool" else "candidates"
        tested = f"{self.tested} test topics" + (f" ({self.lists:,} lists)" if self.lists else "")
        return f"{self.topics}: {tested}, {folds} {_ranges(self.folds)}{marks}, ideal of the {ideal}"

    @property
    def heads(self) -> list[str]:
        """Heads of `cells`."""
        first, *others = self.measures
        against = [f"p against {name}" for name in (self.reference, self.second_reference) if name is not None]
        heads = [
            "ranker",
            first,
            *(["published"] if self.published else []),
            "95% interval",
            "sd over seeds",
            *against,
            *others,
        ]
        heads += ["episodes", "steps"] if self._count_episodes else []
        heads.append("fit CPU seconds" if self._time_fits else "fit seconds")
        return [*heads, *(["ms a topic"] if self._time_ranking else [])]

    @property
    def _count_episodes(self) -> bool:
        """Whether any row has episodes to tell (cells of earlier versions have none)."""
        return any(row.environment_episodes is not None for row in self.rows)

    @property
    def _time_ranking(self) -> bool:
        """Whether the processor time of ranking is known (cells of earlier versions have none)."""
        return any(row.rank_milliseconds is not None for row in self.rows)

    @property
    def _time_fits(self) -> bool:
        """Whether the processor time of every fit is known: a busy machine does not blur it as it does the clock."""
        return all(row.fit_cpu_seconds is not None for row in self.rows)

    @property
    def note(self) -> str:
        """What is published where, which rows share a fit, which another machine would not repeat; else empty."""
        published = [f"Published: {self.published_source}."] if self.published else []
        timed = [f"{row.ranker} ({row.time_budget:g} s)" for row in self.rows if row.time_budget is not None]
        parts = [f"Ended by a time budget, so that their weights depend on the machine: {', '.join(timed)}."]
        return " ".join([*published, *self._shared_fits, *(parts if timed else [])])

    @property
    def _shared_fits(self) -> list[str]:
        """A sentence for each fit that several rows rank with."""
        fits = {row.fitted_as: [one.ranker for one in self.rows if one.fitted_as == row.fitted_as] for row in self.rows}
        return [
            f"One fit ({name}, a seed and fold) serves {len(rows)} rows: {'; '.join(rows)}."
            for name, rows in fits.items()
            if len(rows) > 1
        ]

    @property
    def cells(self) -> list[list[str]]:
        """The rows as text."""
        return [self._cells(row) for row in self.rows]

    def _cells(self, row: Row) -> list[str]:
        """One row as text."""
        first, *others = self.measures
        low, high = row.intervals[first]
        spread = row.seed_spread[first]
        return [
            row.ranker,
            f"{row.means[first]:.4f}",
            *([_figure(self.published.get(row.ranker))] if self.published else []),
            f"[{low:.4f}, {high:.4f}]",
            "-" if spread is None else f"{spread:.4f} ({len(row.seeds)})",
            _p(row.p_value),
            *([] if self.second_reference is None else [_p(row.second_p_value)]),
            *(f"{row.means[name]:.4f}" for name in others),
            *([_count(row.environment_episodes), _count(row.environment_steps)] if self._count_episodes else []),
            f"{row.fit_seconds if row.fit_cpu_seconds is None or not self._time_fits else row.fit_cpu_seconds:.1f}",
            *([_milliseconds(row.rank_milliseconds)] if self._time_ranking else []),
        ]


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


def as_markdown(found: Sequence[ResultTable]) -> str:
    """The tables for a page of the docs."""
    parts = [(f"**{table.title}**", markdown(table.heads, table.cells), table.note) for table in found]
    return "\n\n".join(filter(None, (text for part in parts for text in part)))


def _table(records: Sequence[Record], against: tuple[str, str | None], resamples: int, seed: int) -> ResultTable:
    """The table of one topic set."""
    first = records[0]
    _check_alike(records)
    measures = tuple(first["measures"])
    rankers = list(dict.fromkeys(record["ranker"] for record in records))
    by_ranker = {name: [record for record in records if record["ranker"] == name] for name in rankers}
    ids = {query_id for record in records for query_id in record["per_topic"]}
    lists = bool(first["topic_set"].get("lists"))
    if lists:
        records = [{**record, "per_topic": _by_origin(record["per_topic"])} for record in records]
        by_ranker = {name: [record for record in records if record["ranker"] == name] for name in rankers}
    topic_ids = sorted({query_id for record in records for query_id in record["per_topic"]})
    scores = {name: _scores(name, by_ranker[name], measures, topic_ids) for name in rankers}
    p_values = [_p_values(by_ranker, scores, name, measures[0], resamples, seed) for name in against]
    rng = np.random.default_rng(seed)
    rows = tuple(
        _row(name, by_ranker[name], scores[name], [values.get(name) for values in p_values], resamples, rng)
        for name in rankers
    )
    return ResultTable(
        topics=first["topic_set"]["name"],
        full_name=first["topic_set"]["full_name"],
        marks=tuple(first["topic_set"]["marks"]),
        tested=len(topic_ids),
        lists=len(ids) if lists else None,
        folds=tuple(sorted({record["fold"] for record in records})),
        normalizer=first["normalizer"],
        reference=against[0],
        second_reference=against[1],
        measures=measures,
        commits=tuple(sorted({record["commit"] or "unknown" for record in records})),
        rows=rows,
    )


def _by_origin(per_topic: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Scores of the topics that lists were drawn from: the mean over a topic's lists."""
    grouped: dict[str, list[Mapping[str, float]]] = {}
    for query_id, values in per_topic.items():
        grouped.setdefault(origin(query_id), []).append(values)
    return {
        topic: {name: sum(values[name] for values in lists) / len(lists) for name in lists[0]}
        for topic, lists in grouped.items()
    }


def _check_alike(records: Sequence[Record]) -> None:
    """Cells of one table measure the same things on the same topics with the same ideal."""

    def facts(record: Record) -> tuple[object, ...]:
        topic_set = record["topic_set"]
        return list(record["measures"]), record["normalizer"], topic_set["fingerprint"], topic_set["marks"]

    odd = next((record for record in records if facts(record) != facts(records[0])), None)
    if odd is not None:
        raise ValueError(
            f"cells {records[0]['cell']} and {odd['cell']} differ in measures, ideal or topics; they belong to "
            "different benchmarks: give each its own folder"
        )


def _scores(
    ranker: str, records: Sequence[Record], measures: Sequence[str], topic_ids: Sequence[str]
) -> dict[str, dict[int, Scores]]:
    """Measure -> seed -> [T] scores, in the order of `topic_ids`."""
    by_seed: dict[int, dict[str, Mapping[str, float]]] = {}
    for record in records:
        by_seed.setdefault(record["seed"], {}).update(record["per_topic"])
    for seed, per_topic in by_seed.items():
        if missing := [query_id for query_id in topic_ids if query_id not in per_topic]:
            raise ValueError(
                f"ranker {ranker!r}, seed {seed}: {len(missing)} test topics have no scores (first: {missing[0]!r}); "
                "run the benchmark to its end before its tables are made"
            )
    return {
        name: {
            seed: np.array([per_topic[query_id][name] for query_id in topic_ids], dtype=np.float64)
            for seed, per_topic in sorted(by_seed.items())
        }
        for name in measures
    }


def _p_values(
    by_ranker: Mapping[str, Sequence[Record]],
    scores: Mapping[str, dict[str, dict[int, Scores]]],
    reference: str | None,
    measure: str,
    resamples: int,
    seed: int,
) -> dict[str, float]:
    """Holm-adjusted p values of the rankers that compete with the reference."""
    if reference is None or reference not in scores:
        return {}
    mean = {name: _over_seeds(scores[name][measure]) for name in scores}
    rivals = [name for name in scores if name != reference and not by_ranker[name][0]["reads_judgments"]]
    raw = [
        randomisation_test(mean[name], mean[reference], np.random.default_rng(seed), resamples=resamples)
        for name in rivals
    ]
    return dict(zip(rivals, holm(raw), strict=True))


def _row(
    name: str,
    records: Sequence[Record],
    scores: Mapping[str, dict[int, Scores]],
    p_values: Sequence[float | None],
    resamples: int,
    rng: np.random.Generator,
) -> Row:
    """One ranker's row."""
    mean = {measure: _over_seeds(by_seed) for measure, by_seed in scores.items()}
    return Row(
        ranker=name,
        means={measure: float(values.mean()) for measure, values in mean.items()},
        intervals={measure: bootstrap_interval(values, rng, resamples=resamples) for measure, values in mean.items()},
        seeds=tuple(sorted({record["seed"] for record in records})),
        seed_spread={measure: _spread(by_seed) for measure, by_seed in scores.items()},
        p_value=p_values[0],
        second_p_value=p_values[1],
        fit_seconds=float(np.median([record["fit_seconds"] for record in records])),
        fit_cpu_seconds=_median_or_none([record.get("fit_cpu_seconds") for record in records]),
        fitted_as=records[0].get("fitted_as", name),
        view=records[0].get("view"),
        reads_judgments=bool(records[0]["reads_judgments"]),
        rank_milliseconds=_rank_milliseconds(records),
        environment_episodes=_median(records, "environment_episodes"),
        environment_steps=_median(records, "environment_steps"),
        time_budget=next((record["time_budget"] for record in records if record.get("time_budget")), None),
    )


def _rank_milliseconds(records: Sequence[Record]) -> float | None:
    """Processor time to rank a test topic, the median over cells; None where none says."""
    known = [record for record in records if record.get("rank_cpu_seconds") is not None]
    return _median_or_none([1000 * record["rank_cpu_seconds"] / record["topic_set"]["test"] for record in known])


def _median_or_none(values: Sequence[float | None]) -> float | None:
    """The median; None where there are no values, or not from every cell."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known and len(known) == len(values) else None


def _median(records: Sequence[Record], key: str) -> int | None:
    """The median of a count over cells; None where no cell has it."""
    counts = [record[key] for record in records if record.get(key) is not None]
    return int(np.median(counts)) if counts else None


def _over_seeds(by_seed: Mapping[int, Scores]) -> Scores:
    """[T] mean over seeds, topic by topic."""
    mean: Scores = np.mean(list(by_seed.values()), axis=0)
    return mean


def _spread(by_seed: Mapping[int, Scores]) -> float | None:
    """Standard deviation (n - 1) of the seeds' means."""
    if len(by_seed) < 2:
        return None
    return float(np.std([values.mean() for values in by_seed.values()], ddof=1))


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as text: "1 to 5", or "1, 3"."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(str(number) for number in numbers)


def _figure(value: float | None) -> str:
    """A published figure as text."""
    return "-" if value is None else f"{value:.4f}"


def _count(value: int | None) -> str:
    """A count as text."""
    return "-" if value is None else f"{value:,}"


def _milliseconds(value: float | None) -> str:
    """A time as text, with two digits."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _p(value: float | None) -> str:
    """A p value as text."""
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
