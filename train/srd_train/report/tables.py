"""Result tables, computed from the cells' files alone: means, intervals, spread over seeds, paired tests.

Intervals and tests see topics and seeds. What was trained with fewer than five seeds is shown but not tested: at three,
p values below 0.001 come out ten times too small where seeds vary most. Every topic of a set that was tested counts
once, whatever its fold.

Shapes: S seeds, T topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from typing import Literal

import numpy as np

from srd_gym.measures import Measure, Normalizer, parse_measure
from srd_gym.measures.label_free import LabelFree
from srd_gym.showing import short_repr
from srd_train.experiment.recipe import Recipe
from srd_train.experiment.records import Record, grouped
from srd_train.report.significance import Scores, adjusted_tests, interval, wins_ties_losses

SIGNIFICANT = 0.05
"""Differences with an adjusted p value below it are significant."""
FEWEST_SEEDS = 5
"""Rankers trained with fewer are not tested, and no sentence compares them."""
_USUAL_REFERENCE = "mmr"
_NAMES = ("schema_version", "fold", "seed", "depth")
"""Numbers of a record that are no quantities."""

Verdict = Literal["above", "below", "level", ""]
Kind = Literal["failed", "unreadable", "version", "twice", "incomplete", "run", "texts", "left out", "input"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One ranker on one topic set."""

    ranker: str
    means: dict[str, float]
    """Measure -> mean over topics."""
    intervals: dict[str, tuple[float, float]]
    """Measure -> 95% interval of the mean, over topics and seeds."""
    seeds: tuple[int, ...]
    """Seeds run."""
    trained: bool
    """Whether it learned; what is drawn or chosen is not trained."""
    too_few_seeds: bool
    """Whether it was trained, with fewer than five seeds."""
    seed_spread: dict[str, float | None]
    """Measure -> standard deviation of the seeds' means; None for one seed."""
    p_value: float | None
    """p of the paired test of the first measure against the reference, over topics and seeds, Holm-adjusted over all
    tests of the table; None for the reference itself, for rankers that read judgments and where seeds are too few."""
    second_p_value: float | None
    """As `p_value`, against the second reference where there is one."""
    verdict: Verdict
    """Significantly above or below the reference, or neither; empty where there is no test."""
    wins_ties_losses: tuple[int, int, int] | None
    """Topics against the reference, by the first measure; None for the reference itself."""
    medians: dict[str, float]
    """Number of the records (`fit_cpu_seconds`, `environment_steps`, ...) -> its median over cells, where they have it;
    and `rank_milliseconds`, the processor time to rank a test topic."""
    fitted_as: str
    """The row whose fit this one ranks with; its own name, but for views."""
    reads_judgments: bool
    """Whether it is a reference that reads the labels: an upper bound, not a competitor."""


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """One topic set, a row a ranker."""

    __repr__ = short_repr

    topics: str
    """The topic set's name in the recipe."""
    marks: tuple[str, ...]
    """"simulated", "transductive"."""
    tested: int
    """Topics that were tested on."""
    folds: tuple[int, ...]
    """Folds run; none where runs of other systems are compared."""
    normalizer: Normalizer
    """Source of the ideal rankings."""
    reference: str
    """The ranker that the others are tested against."""
    second_reference: str | None
    """Another one, or None."""
    measures: tuple[str, ...]
    """The first is the one the test is on."""
    commits: tuple[str, ...]
    """Commits that made the cells."""
    rows: tuple[Row, ...]
    published: Mapping[str, float]
    """Row -> figure of the first measure in a paper."""
    published_source: str
    """Source of these figures."""
    topic_ids: tuple[str, ...] = field(repr=False)
    """The T topics that were tested on."""
    scores: Mapping[str, Mapping[str, Scores]] = field(repr=False, compare=False)
    """Measure -> ranker -> [S, T]."""
    records: tuple[Record, ...] = field(repr=False)
    """Records that the table is made of."""

    def as_dict(self) -> dict[str, object]:
        """The table as plain values, without what it is made of."""
        values = asdict(replace(self, topic_ids=(), scores={}, records=()))
        for key in ("topic_ids", "scores", "records"):
            del values[key]
        return values

    @property
    def title(self) -> str:
        """Topic set, folds, marks and ideal of the table."""
        marks = "".join(f", {mark} vectors" for mark in self.marks)
        folds = f", {'fold' if len(self.folds) == 1 else 'folds'} {_ranges(self.folds)}" if self.folds else ""
        ideal = "pool (as in ndeval)" if self.normalizer == "pool" else "candidates"
        if not self.judged:
            return f"{self.topics}: {self.tested} topics{folds}{marks}"
        tested = f"{self.tested} {'test' if self.folds else 'judged'} topics"
        return f"{self.topics}: {tested}{folds}{marks}, ideal of the {ideal}"

    @property
    def judged(self) -> bool:
        """Whether a measure reads judgments."""
        return not all(isinstance(known_measure(name), LabelFree) for name in self.measures)

    @property
    def timed(self) -> bool:
        """Whether its records tell what fitting and ranking took."""
        return any(row.medians for row in self.rows)

    @property
    def competitors(self) -> tuple[Row, ...]:
        """The rows that do not read the judgments; all where every one does."""
        return tuple(row for row in self.rows if not row.reads_judgments) or self.rows

    def best(self, measure: str) -> float | None:
        """The best mean of a measure among competitors with seeds enough; None where there is none."""
        means = [row.means[measure] for row in self.competitors if not row.too_few_seeds]
        return max(means, key=lambda mean: sign_of(measure) * mean, default=None)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is missing from the report, and why."""

    kind: Kind
    what: str
    """The cell, file or line."""
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


def complete_tables(
    records: Sequence[Record], recipe: Recipe | None = None, *, reference: str | None = None
) -> tuple[list[ResultTable], list[Problem]]:
    """One table for each topic set, and what is left out of them: rankers and seeds that were not run on all topics.

    Args:
        records: the cells' JSON lines.
        recipe: gives references, the order of tables and rows, and published figures; rankers that it does not name
            follow by falling mean.
        reference: the ranker (its name in the tables) to test against, instead of the recipe's; where neither was run
            on a topic set mmr, else the best that reads no judgments.

    Raises:
        ValueError: no ranker was run on all topics of a set anywhere.
    """
    tables, problems = [], []
    for group in grouped(records, same_benchmark).values():
        entry = None if recipe is None else recipe.entry(group[0]["topic_set"]["name"])
        complete, incomplete = _complete_runs(group, by_seed=entry is not None and not entry.one_seed_a_fold)
        problems += incomplete
        if complete:
            tables.append(_table(complete, recipe, reference))
    if not tables:
        first_problems = "; ".join(map(str, problems[:3]))
        raise ValueError(f"no ranker was run on all topics of a set ({first_problems}); run the benchmark to its end")
    order = [entry.name for entry in recipe.topics] if recipe is not None else []
    tables.sort(key=lambda table: order.index(table.topics) if table.topics in order else len(order))
    return tables, problems


def same_benchmark(record: Record) -> tuple[object, ...]:
    """Key of the records that stand in one table: topics, measures and the ideal."""
    topic_set = record["topic_set"]
    return (
        topic_set["name"],
        topic_set["fingerprint"],
        tuple(topic_set["marks"]),
        record["normalizer"],
        tuple(record["measures"]),
    )


def _complete_runs(records: Sequence[Record], *, by_seed: bool) -> tuple[list[Record], list[Problem]]:
    """The records of rankers and seeds that were run on all topics of a table, and a problem for each of the others.

    Args:
        records: of one table.
        by_seed: whether every seed was to be run on all folds; else a ranker may have one seed a fold.
    """
    wanted = {query_id for record in records for query_id in record["per_topic"]}
    complete: list[Record] = []
    problems = []
    rankers = grouped(records, itemgetter("ranker")).items()
    apart = {ranker for ranker, several in rankers if not by_seed and _one_seed_a_fold(several)}
    runs = grouped(records, lambda record: (record["ranker"], None if record["ranker"] in apart else record["seed"]))
    for (ranker, seed), several in runs.items():
        missing = len(wanted) - len({query_id for record in several for query_id in record["per_topic"]})
        if not missing:
            complete += several
            continue
        why = f"{missing} of {len(wanted)} test topics have no scores (cells that failed or were not run); left out"
        name = f"{records[0]['topic_set']['name']}, {ranker}" + ("" if seed is None else f", seed {seed}")
        problems.append(Problem(kind="incomplete", what=name, why=why))
    return complete, problems


def _one_seed_a_fold(records: Sequence[Record]) -> bool:
    """Whether each of a ranker's folds was run with a seed of its own."""
    pairs = {(record.get("fold"), record["seed"]) for record in records}
    return 1 < len(pairs) == len({fold for fold, _ in pairs}) == len({seed for _, seed in pairs})


def _table(records: Sequence[Record], recipe: Recipe | None, wanted: str | None) -> ResultTable:
    """The table of one topic set.

    Args:
        records: of rankers and seeds that were run on all its topics.
        recipe: as of `complete_tables`.
        wanted: the reference, where one is named.
    """
    topic_set, measures = records[0]["topic_set"], tuple(records[0]["measures"])
    topic_ids = tuple(sorted({query_id for record in records for query_id in record["per_topic"]}))
    by_ranker = _in_order(records, () if recipe is None else recipe.rows)
    by_seed = {name: _scores(own, measures, topic_ids) for name, own in by_ranker.items()}
    scores = {m: {name: values[m] for name, values in by_seed.items()} for m in measures}
    competitors = [name for name, own in by_ranker.items() if not own[0]["reads_judgments"]]
    tested = {name: [scores[measures[0]][name]] for name in competitors if not _too_few_seeds(by_ranker[name])}
    described, second = (None, None) if recipe is None else (recipe.reference, recipe.second_reference)
    entry = None if recipe is None else recipe.entry(topic_set["name"])
    best = max(sorted(competitors or by_ranker), key=lambda name: _worth(by_ranker[name]))
    reference = next(n for n in (wanted, described, _USUAL_REFERENCE, best) if n in by_ranker)
    second = second if second in by_ranker and second != reference else None
    references = [name for name in (reference, second) if name is not None]
    p_values = adjusted_tests(tested, references)
    first = scores[measures[0]][reference]
    rows = [
        _row(
            own,
            by_seed[name],
            None if name == reference else first,
            [p_values.get(frozenset((name, one))) for one in (reference, second or name)],
        )
        for name, own in by_ranker.items()
    ]
    return ResultTable(
        topics=topic_set["name"],
        marks=tuple(topic_set["marks"]),
        tested=len(topic_ids),
        folds=tuple(sorted({record["fold"] for record in records if "fold" in record})),
        normalizer=records[0]["normalizer"],
        reference=reference,
        second_reference=second,
        measures=measures,
        commits=tuple(sorted({record["commit"] or "unknown" for record in records})),
        rows=tuple(rows),
        published={} if entry is None else entry.published,
        published_source="" if entry is None else entry.published_source,
        topic_ids=topic_ids,
        scores=scores,
        records=tuple(record for own in by_ranker.values() for record in own),
    )


def _in_order(records: Sequence[Record], rankers: Sequence[str]) -> dict[str, list[Record]]:
    """The records by ranker: those that are named first, then competitors, the best first, then who reads judgments."""
    by_ranker = grouped(sorted(records, key=itemgetter("seed")), lambda record: str(record["ranker"]))

    def place(name: str) -> tuple[object, ...]:
        number = rankers.index(name) if name in rankers else len(rankers)
        return number, by_ranker[name][0]["reads_judgments"], -_worth(by_ranker[name]), name

    return {name: by_ranker[name] for name in sorted(by_ranker, key=place)}


def _worth(records: Sequence[Record]) -> float:
    """The mean over cells of the first measure, negative where lower is better."""
    first = next(iter(records[0]["measures"]))
    return sign_of(first) * float(np.mean([record["measures"][first] for record in records]))


def sign_of(name: str) -> int:
    """-1 where a lower value of the measure is better, as far as its name is known here, else 1."""
    known = known_measure(name)
    return -1 if known is not None and known.lower_is_better else 1


def known_measure(name: str) -> Measure | None:
    """The measure of a name; None for one of the user's own, whose code is not trusted here."""
    try:
        return parse_measure(name)
    except ValueError:
        return None


def _row(
    records: Sequence[Record], by_seed: Mapping[str, Scores], reference: Scores | None, p_values: Sequence[float | None]
) -> Row:
    """One ranker's row.

    Args:
        records: its cells.
        by_seed: measure -> [S, T] scores, the first measure first.
        reference: [S, T] scores of the reference by that measure; None for the reference itself.
        p_values: against the reference, and against the second one.
    """
    (name, first), *_ = by_seed.items()
    sign = sign_of(name)
    return Row(
        ranker=records[0]["ranker"],
        means={measure: float(values.mean()) for measure, values in by_seed.items()},
        intervals={measure: interval(values) for measure, values in by_seed.items()},
        seeds=tuple(sorted({record["seed"] for record in records})),
        trained=records[0]["history"] is not None,
        too_few_seeds=_too_few_seeds(records),
        seed_spread={measure: _spread(values) for measure, values in by_seed.items()},
        p_value=p_values[0],
        second_p_value=p_values[1],
        verdict="" if reference is None else verdict_of(p_values[0], float(first.mean() - reference.mean())),
        wins_ties_losses=None if reference is None else wins_ties_losses(sign * first, sign * reference),
        medians=_medians(records),
        fitted_as=records[0]["fitted_as"],
        reads_judgments=records[0]["reads_judgments"],
    )


def _too_few_seeds(records: Sequence[Record]) -> bool:
    """Whether a ranker was trained, with fewer than five seeds."""
    return records[0]["history"] is not None and len({record["seed"] for record in records}) < FEWEST_SEEDS


def verdict_of(p_value: float | None, difference: float) -> Verdict:
    """The place of a ranker by the difference of its mean from another's; empty where it was not tested."""
    if p_value is None:
        return ""
    return "level" if p_value >= SIGNIFICANT else "above" if difference > 0 else "below"


def _medians(records: Sequence[Record]) -> dict[str, float]:
    """Median over cells of every quantity that the records tell; see `Row.medians`."""
    values: dict[str, list[float]] = {}
    for record in records:
        timed = "rank_cpu_seconds" in record
        own = {"rank_milliseconds": 1000 * record["rank_cpu_seconds"] / record["topic_set"]["test"]} if timed else {}
        for key, value in {**record, **own}.items():
            if key not in _NAMES and isinstance(value, (int, float)) and not isinstance(value, bool):
                values.setdefault(key, []).append(value)
    return {key: float(np.median(several)) for key, several in values.items()}


def _scores(records: Sequence[Record], measures: Sequence[str], topic_ids: Sequence[str]) -> dict[str, Scores]:
    """Measure -> [S, T] scores, in the order of `topic_ids`; masked where each fold has its seed, in that of folds."""
    part = "fold" if _one_seed_a_fold(records) else "seed"
    by_part: dict[int, dict[str, Mapping[str, float]]] = {}
    for record in records:
        by_part.setdefault(record[part], {}).update(record["per_topic"])
    several = [[per_topic.get(topic, {}) for topic in topic_ids] for _, per_topic in sorted(by_part.items())]
    return {name: _maskable([[values.get(name) for values in of_seed] for of_seed in several]) for name in measures}


def _maskable(values: Sequence[Sequence[float | None]]) -> Scores:
    """The values as an array, masked where there is none."""
    array = np.array(values, dtype=np.float64)  # None becomes NaN
    return np.ma.masked_invalid(array) if np.isnan(array).any() else array


def _spread(by_seed: Scores) -> float | None:
    """Standard deviation (n - 1) of the seeds' means; None where these are of other topics, too."""
    if len(by_seed) == 1 or np.ma.is_masked(by_seed):
        return None
    return float(np.std([values.mean() for values in by_seed], ddof=1))


def _ranges(numbers: Sequence[int]) -> str:
    """Rising numbers as text: "1 to 5", or "1, 3"."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(str(number) for number in numbers)
