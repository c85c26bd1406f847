"""The numbers of a report: for each topic set the result table, and scores by topic.

Scores of a ranker's seeds are averaged topic by topic, as in `tables`, which makes the means, intervals and
tests. Only seeds that were run on all test topics count; a ranker without any is left out, and the report says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srd_gym.data.reshape import origin
from srd_gym.names import unknown
from srd_train.report.results import Problem, Record, grouped
from srd_train.report.significance import wins_ties_losses
from srd_train.report.tables import ResultTable, Row, tables

SIGNIFICANT = 0.05
"""Adjusted p values below it are marked."""
_USUAL_REFERENCE = "mmr"

Scores = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One ranker on one topic set: a row of the result table, and what the page shows besides."""

    row: Row
    reads_judgments: bool
    """An oracle: it is shown, but competes with nobody."""
    against: tuple[int, int, int] | None
    """Topics won, tied and lost against the reference, by the first measure; None for the reference itself."""
    rank_milliseconds: float
    """To rank one test topic, the median over cells: processor time, or wall time where cells do not tell that."""
    difference: float
    """Mean of the first measure less the reference's; 0 where there is no reference."""

    @property
    def verdict(self) -> str:
        """By the adjusted test "above", "below" or "level" with the reference; empty where there is no test."""
        if self.row.p_value is None or self.against is None:
            return ""
        if self.row.p_value >= SIGNIFICANT:
            return "level"
        return "above" if self.difference > 0 else "below"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One topic set."""

    table: ResultTable
    standings: tuple[Standing, ...]
    """In the order of the table's rows."""
    topic_ids: tuple[str, ...]
    """The T tested topics; those that lists were drawn from, where they were reshaped."""
    scores: dict[str, dict[str, Scores]]
    """Measure -> ranker -> [T] mean over seeds."""
    records: tuple[Record, ...]
    """Those that count."""


def comparisons(
    records: Sequence[Record],
    *,
    reference: str | None = None,
    second_reference: str | None = None,
    order: Sequence[str] = (),
    set_order: Sequence[str] = (),
    resamples: int = 10_000,
) -> tuple[list[Comparison], list[Problem]]:
    """One comparison for each topic set, and what is left out of them.

    Args:
        records: from `read_results`.
        reference: the ranker (its name in the tables) to test against; by default mmr, else the best that reads no
            judgments.
        second_reference: another one.
        order: rankers in the order of the rows; others follow.
        set_order: topic sets in the order of the tables; others follow.
        resamples: of intervals and tests.

    Raises:
        ValueError: no such reference, or no ranker was run on all topics of a set anywhere.
    """
    rankers = {str(record["ranker"]) for record in records}
    for name in filter(None, (reference, second_reference)):
        if name not in rankers:
            raise unknown("ranker in the results", name, sorted(rankers))
    places = {name: place for place, name in enumerate(set_order)}
    groups = sorted(grouped(records), key=lambda group: places.get(group[0]["topic_set"]["name"], len(places)))
    found, problems = [], []
    for group in groups:
        whole, lacking = run_on_all(group)
        problems += lacking
        if whole:
            found.append(_comparison(_sorted(whole, order), reference, second_reference, resamples))
    if not found:
        lacking_of = "; ".join(map(str, problems[:3]))
        raise ValueError(f"no ranker was run on all topics of a set ({lacking_of}); run the benchmark to its end")
    return found, problems


def run_on_all(records: Sequence[Record]) -> tuple[list[Record], list[Problem]]:
    """The records of rankers and seeds that were run on all topics, and a problem for each of the others.

    Args:
        records: of one table (`srd_train.report.results.grouped`).
    """
    wanted = {query_id for record in records for query_id in record["per_topic"]}
    runs: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        runs.setdefault((record["ranker"], record["seed"]), []).append(record)
    whole: list[Record] = []
    problems = []
    for (ranker, seed), several in runs.items():
        missing = len(wanted) - len({query_id for record in several for query_id in record["per_topic"]})
        if not missing:
            whole += several
            continue
        why = f"{missing} of {len(wanted)} test topics have no scores (cells that failed or were not run); left out"
        name = f"{records[0]['topic_set']['name']}, {ranker}, seed {seed}"
        problems.append(Problem(kind="incomplete", what=name, why=why))
    return whole, problems


def _sorted(records: Sequence[Record], order: Sequence[str]) -> list[Record]:
    """The records by ranker: those named first, then by falling mean, those that read judgments last."""
    first = next(iter(records[0]["measures"]))
    means = {
        record["ranker"]: np.mean([r["measures"][first] for r in records if r["ranker"] == record["ranker"]])
        for record in records
    }
    places = {name: place for place, name in enumerate(order)}

    def place(record: Record) -> tuple[object, ...]:
        name = record["ranker"]
        return places.get(name, len(places)), record["reads_judgments"], -means[name], name, record["seed"]

    return sorted(records, key=place)


def _comparison(
    records: Sequence[Record], reference: str | None, second_reference: str | None, resamples: int
) -> Comparison:
    """The comparison on one topic set."""
    chosen = _reference(records, reference)
    names = {record["ranker"] for record in records}
    second = second_reference if second_reference in names - {chosen} else None
    (table,) = tables(records, chosen, second_reference=second, resamples=resamples)
    topic_ids, scores = _by_topic(records, table)
    first = table.measures[0]
    standings = tuple(
        _standing(row, [record for record in records if record["ranker"] == row.ranker], scores[first], chosen)
        for row in table.rows
    )
    return Comparison(table=table, standings=standings, topic_ids=topic_ids, scores=scores, records=tuple(records))


def _reference(records: Sequence[Record], wanted: str | None) -> str:
    """The ranker to test against: the one wanted if it is there, else mmr, else the best that reads no judgments."""
    names = [str(record["ranker"]) for record in records]
    for name in (wanted, _USUAL_REFERENCE):
        if name is not None and name in names:
            return name
    first = next(iter(records[0]["measures"]))
    rivals = [record for record in records if not record["reads_judgments"]] or records
    means: dict[str, float] = {
        name: float(np.mean([r["measures"][first] for r in rivals if r["ranker"] == name]))
        for name in {str(record["ranker"]) for record in rivals}
    }
    return max(sorted(means), key=lambda name: means[name])


def _by_topic(records: Sequence[Record], table: ResultTable) -> tuple[tuple[str, ...], dict[str, dict[str, Scores]]]:
    """The topics, and measure -> ranker -> their scores: means over seeds, and over the lists drawn from a topic."""
    owner = origin if table.lists else str
    topic_ids = tuple(dict.fromkeys(owner(query_id) for record in records for query_id in record["per_topic"]))
    place = {query_id: i for i, query_id in enumerate(topic_ids)}
    sums: dict[str, dict[str, Scores]] = {
        name: {row.ranker: np.zeros(len(topic_ids)) for row in table.rows} for name in table.measures
    }
    counts = {row.ranker: np.zeros(len(topic_ids)) for row in table.rows}
    for record in records:
        per_topic: Mapping[str, Mapping[str, float]] = record["per_topic"]
        rows = np.array([place[owner(query_id)] for query_id in per_topic], dtype=np.int64)
        np.add.at(counts[record["ranker"]], rows, 1)
        for name in table.measures:
            values = np.array([scores[name] for scores in per_topic.values()], dtype=np.float64)
            np.add.at(sums[name][record["ranker"]], rows, values)
    return topic_ids, {name: {r: total / counts[r] for r, total in sums[name].items()} for name in table.measures}


def _standing(row: Row, records: Sequence[Record], scores: Mapping[str, Scores], reference: str) -> Standing:
    """One ranker's standing."""
    own, other = scores[row.ranker], scores[reference]
    return Standing(
        row=row,
        reads_judgments=bool(records[0]["reads_judgments"]),
        against=None if row.ranker == reference else wins_ties_losses(own, other),
        difference=float(own.mean() - other.mean()),
        rank_milliseconds=_wall(records) if row.rank_milliseconds is None else row.rank_milliseconds,
    )


def _wall(records: Sequence[Record]) -> float:
    """Milliseconds of wall time to rank one test topic, the median over cells."""
    return float(np.median([1e3 * r["rank_seconds"] / max(1, r["topic_set"]["test"]) for r in records]))
