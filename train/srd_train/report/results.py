"""Parts of a report: the records in a folder of results, what is wrong with them, and their topics.

One bad record spoils nothing but itself: it is named among the problems, and the others are used.

What the tables of a page are made of stays beside it as one small Parquet file, so that any tool can check the page. A
row is one topic of one cell: `topics` (the set's name), `ranker` (its row in the tables), `fold`, `seed`, `topic` (its
query id), a column a measure, and what tables say of the cell besides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from srd_gym.data.parquet import opened_for_arrow
from srd_gym.files import written_atomically
from srd_gym.reading import existing_file, reading
from srd_gym.topic import TopicSet
from srd_train.experiment.recipe import Recipe
from srd_train.experiment.records import OtherVersionError, Record, read_record
from srd_train.experiment.sources import load_entry
from srd_train.report.significance import Scores
from srd_train.report.tables import Problem, same_benchmark

VERSION = "1"
KEY = b"srd_scores"
"""Key of the file's metadata: its version, and the names of the measures."""
AS_JSON = ("topic_set", "view", "versions", "chosen")
"""Columns that hold what a record says as JSON: `chosen` are the options that validation preferred."""
_POINT = {"topics": pa.string(), "ranker": pa.string(), "fold": pa.int64(), "seed": pa.int64(), "topic": pa.string()}
_ABOUT = {
    **dict.fromkeys(("cell", "fitted_as", "normalizer", "commit"), pa.string()),
    **dict.fromkeys(("depth", "environment_episodes", "environment_steps"), pa.int64()),
    **dict.fromkeys(("fit_cpu_seconds", "rank_cpu_seconds"), pa.float32()),
    **dict.fromkeys(AS_JSON, pa.string()),
    **dict.fromkeys(("reads_judgments", "trained"), pa.bool_()),
}
"""Columns that are the same in all rows of a cell; Parquet stores them once."""


def read_results(folder: Path) -> tuple[list[Record], list[Problem]]:
    """The records in a folder as `srd benchmark` leaves it.

    Of several cells of one ranker, fold and seed (with other options, say) the last that was written counts.

    Returns:
        The records that can be used, by name of their cells, each with `folder`, which the path of its run starts
        from; and a problem for each failed cell and each record that cannot be used.

    Raises:
        FileNotFoundError: no folder, or one without cells.
        ValueError: no record that can be used; the message gives the first reasons.
    """
    files = [*folder.glob("cells/*.json"), *folder.glob("failed/*.json")]
    if not files:
        where = f"no cells in {folder}" if folder.is_dir() else f"there is no folder {folder}"
        raise FileNotFoundError(f"{where}; expected a folder of results as `srd benchmark` leaves it")
    problems: list[Problem] = []
    latest: dict[tuple[object, ...], Record] = {}
    for file in sorted(files, key=lambda file: (file.stat().st_mtime, file.name)):
        record = _parsed(file)
        if isinstance(record, Problem):
            problems.append(record)
            continue
        key = (same_benchmark(record), record["ranker"], record["fold"], record["seed"])
        if key in latest:
            why = (
                f"another cell of {record['ranker']}, fold {record['fold']}, seed {record['seed']} was written later "
                f"({record['cell']}); only that one counts"
            )
            problems.append(Problem(kind="twice", what=str(latest[key]["cell"]), why=why))
        latest[key] = {**record, "folder": folder}
    if not latest:
        first_problems = "; ".join(map(str, problems[:3]))
        raise ValueError(f"no record that a report could be made of in {folder}: {first_problems}")
    return sorted(latest.values(), key=lambda record: str(record["cell"])), problems


def _parsed(file: Path) -> Record | Problem:
    """The record in a file, or why it cannot be used."""
    try:
        record = read_record(file)
    except OtherVersionError as error:
        why = f"{error}; run its benchmark again, or make the report with the version that wrote it"
        return Problem(kind="version", what=str(file), why=why)
    except (OSError, ValueError) as error:
        return Problem(kind="unreadable", what=str(file), why=str(error))
    if failure := record.get("error"):
        why = f"{failure.get('type')}: {failure.get('message')}" if isinstance(failure, dict) else str(failure)
        return Problem(kind="failed", what=str(record.get("cell", "a cell")), why=why)
    return record


def topics_of(record: Record, recipe: Recipe | None) -> tuple[TopicSet | None, str | None]:
    """The topics of a record; or None, and why they cannot be shown.

    Topics are compared by their fingerprint: if the source has changed since, its texts would be those of others.
    """
    topic_set = record["topic_set"]
    entry = None if recipe is None else recipe.entry(topic_set["name"])
    if entry is None:
        return None, f"no recipe beside the results has the topic set {topic_set['name']!r}"
    try:
        topics = load_entry(entry)
    except (OSError, ValueError, ImportError) as error:
        return None, f"the topics ({entry.source}) cannot be read: {error}"
    if topics.fingerprint == topic_set["fingerprint"]:
        return topics, None
    return None, f"the topics ({entry.source}) are no longer those that were ranked: their content has changed since"


def write_scores(path: Path, records: Sequence[Record]) -> None:
    """Write the scores of a benchmark's cells; equal records give an equal file.

    Args:
        path: of the file (.parquet).
        records: of the tables that the file is of.
    """
    measures = list(dict.fromkeys(name for record in records for name in record["measures"]))
    schema = pa.schema(
        [*_POINT.items(), *((name, pa.float64()) for name in measures), *_ABOUT.items()],
        metadata={KEY: json.dumps({"version": VERSION, "measures": measures}).encode()},
    )
    with written_atomically(path) as temporary:
        cells = [pa.Table.from_pylist(_rows(record), schema=schema) for record in records]
        with opened_for_arrow(temporary, "wb") as target:
            pq.write_table(pa.concat_tables(cells), target, compression="zstd", compression_level=19)


def _rows(record: Record) -> list[Record]:
    """A row a topic; of what it holds the schema takes its columns."""
    about = {**record, "topics": record["topic_set"]["name"], "trained": record["history"] is not None}
    about |= {key: json.dumps(record.get(key), sort_keys=True) for key in AS_JSON}
    return [{**about, "topic": query_id, **scores} for query_id, scores in sorted(record["per_topic"].items())]


def read_scores(path: Path) -> list[Record]:
    """The records in a file of scores: what `complete_tables` needs, without configuration, history and rankings."""
    with reading(path, "scores", "a file of `srd benchmark --scores`", "write it again from the benchmark's folder"):
        table = pq.read_table(existing_file(path, "scores"))
        said = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
        if said.get("version") != VERSION:
            raise ValueError(f"version {said.get('version')!r}, expected {VERSION!r}")
        cells = table["cell"].to_numpy()
        starts = [0, *(np.flatnonzero(cells[1:] != cells[:-1]) + 1).tolist(), len(cells)]
        scores = {name: table[name].to_numpy() for name in said["measures"]}
        query_ids, about = table["topic"].to_pylist(), table.take(starts[:-1]).to_pylist()
        return [
            _record(first, query_ids[one:other], {name: values[one:other] for name, values in scores.items()})
            for first, (one, other) in zip(about, pairwise(starts), strict=True)
        ]


def _record(first: Record, query_ids: Sequence[str], scores: Mapping[str, Scores]) -> dict[str, Any]:
    """The record of a cell: what its first row says of it, its topics, and its columns of scores."""
    columns = {name: values for name, values in scores.items() if first[name] is not None}
    scored = zip(*(values.tolist() for values in columns.values()), strict=True)
    each = [dict(zip(columns, values, strict=True)) for values in scored]
    return {
        **{key: value for key, value in first.items() if key not in scores},
        **{key: json.loads(first.get(key) or "null") for key in AS_JSON},
        "history": {"measure": "", "records": []} if first["trained"] else None,
        "measures": {name: float(values.mean()) for name, values in columns.items()},
        "per_topic": dict(zip(query_ids, each, strict=True)),
    }


def differences(records: Sequence[Record], stored: Sequence[Record], *, whole: bool = False) -> Iterator[str]:
    """Topic sets and scores of a run that differ from the stored ones, a line each.

    Args:
        records: of the run.
        stored: of `read_scores`.
        whole: cells that only one of both has differ, too.
    """
    by_cell = {_cell_of(record): record for record in stored}
    moved = set()
    for record in records:
        name, other = record["topic_set"]["name"], by_cell.pop(_cell_of(record), None)
        if other is None and whole:
            yield f"{_place(record)}: not stored"
        if other is None or name in moved:
            continue
        prints = [one["topic_set"]["fingerprint"] for one in (other, record)]
        if prints[0] != prints[1]:
            moved.add(name)
            yield f"{name}: fingerprint {prints[1]}, stored {prints[0]}: these are other topics"
        elif record["per_topic"] != other["per_topic"]:
            topics = sum(scores != other["per_topic"].get(topic) for topic, scores in record["per_topic"].items())
            means = [next(iter(one["measures"].items())) for one in (record, other)]
            figures = f"{means[0][0]} {means[0][1]:.6f}, stored {means[1][1]:.6f}"
            yield f"{_place(record)}: {figures} ({topics} topics differ)"
    if whole:
        yield from (f"{_place(record)}: stored, and not in this run" for record in by_cell.values())


def equal_cells(records: Sequence[Record], stored: Sequence[Record]) -> int:
    """Number of stored cells that the run has, of the same topics and with the same scores."""
    content = {_cell_of(one): (one["topic_set"]["fingerprint"], one["per_topic"]) for one in records}
    return sum(content.get(_cell_of(one)) == (one["topic_set"]["fingerprint"], one["per_topic"]) for one in stored)


def _place(record: Record) -> str:
    """A cell, for people."""
    return f"{record['topic_set']['name']}, {record['ranker']}, fold {record['fold']}, seed {record['seed']}"


def _cell_of(record: Record) -> tuple[object, ...]:
    """Identity of a cell: topic set, ranker, fold and seed."""
    return record["topic_set"]["name"], record["ranker"], record["fold"], record["seed"]
