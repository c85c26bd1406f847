"""Which records make the tables, in which order, and which ranker the others are tested against.

Only seeds that were run on all test topics count; a ranker without any is left out, and named as a problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from srd_gym.names import unknown
from srd_train.report.description import Description
from srd_train.report.results import Problem, Record, grouped
from srd_train.report.tables import ResultTable, tables

_USUAL_REFERENCE = "mmr"


def complete_tables(
    records: Sequence[Record],
    description: Description | None = None,
    *,
    reference: str | None = None,
    resamples: int = 10_000,
) -> tuple[list[ResultTable], list[Problem]]:
    """One table for each topic set, and what is left out of them.

    Args:
        records: the cells' JSON lines.
        description: gives references, the order of tables and rows, and published figures; rankers that it does not
            name follow by falling mean.
        reference: the ranker (its name in the tables) to test against, instead of the description's; where neither was
            run on a topic set mmr, else the best that reads no judgments.
        resamples: of intervals and tests.

    Raises:
        ValueError: no such reference, or no ranker was run on all topics of a set anywhere.
    """
    description = description or Description()
    rankers = {str(record["ranker"]) for record in records}
    if reference is not None and reference not in rankers:
        raise unknown("ranker in the results", reference, sorted(rankers))
    found, problems = [], []
    for group in grouped(records):
        complete, incomplete = complete_runs(group)
        problems += incomplete
        if complete:
            found.append(_table(complete, description, reference, resamples))
    if not found:
        shown = "; ".join(map(str, problems[:3]))
        raise ValueError(f"no ranker was run on all topics of a set ({shown}); run the benchmark to its end")
    order = description.topic_sets
    found.sort(key=lambda table: order.index(table.topics) if table.topics in order else len(order))
    return found, problems


def complete_runs(records: Sequence[Record]) -> tuple[list[Record], list[Problem]]:
    """The records of rankers and seeds that were run on all topics, and a problem for each of the others.

    Args:
        records: of one table (`srd_train.report.results.grouped`).
    """
    wanted = {query_id for record in records for query_id in record["per_topic"]}
    runs: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        runs.setdefault((record["ranker"], record["seed"]), []).append(record)
    complete: list[Record] = []
    problems = []
    for (ranker, seed), several in runs.items():
        missing = len(wanted) - len({query_id for record in several for query_id in record["per_topic"]})
        if not missing:
            complete += several
            continue
        why = f"{missing} of {len(wanted)} test topics have no scores (cells that failed or were not run); left out"
        name = f"{records[0]['topic_set']['name']}, {ranker}, seed {seed}"
        problems.append(Problem(kind="incomplete", what=name, why=why))
    return complete, problems


def _table(records: Sequence[Record], description: Description, reference: str | None, resamples: int) -> ResultTable:
    """The table of one topic set."""
    first = next(iter(records[0]["measures"]))
    names = {str(record["ranker"]) for record in records}
    means = {n: float(np.mean([r["measures"][first] for r in records if r["ranker"] == n])) for n in names}
    order = {name: place for place, name in enumerate(description.rankers)}

    def place(record: Record) -> tuple[object, ...]:
        name = record["ranker"]
        return order.get(name, len(order)), record["reads_judgments"], -means[name], name, record["seed"]

    rivals = {record["ranker"] for record in records if not record["reads_judgments"]} or names
    best = max(sorted(rivals), key=lambda name: means[name])
    chosen = next(name for name in (reference, description.reference, _USUAL_REFERENCE, best) if name in names)
    second = description.second_reference
    (table,) = tables(
        sorted(records, key=place),
        str(chosen),
        second_reference=second if second in names - {chosen} else None,
        resamples=resamples,
    )
    figures, source = description.published(table.topics)
    return replace(table, published=figures, published_source=source)
