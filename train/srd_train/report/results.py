"""Parts of a report: the records in a folder of results, what is wrong with them, and their topics.

One bad record spoils nothing but itself: it is named among the problems, and the others are used.

What the tables of a page are made of stays beside it as one small Parquet file, so that any tool can check the page. A
row is one topic of one cell: `topics` (the set's name), `ranker` (its row in the tables), `fold`, `seed`, `topic` (its
query id), a column a measure, and what tables say of the cell besides. `run_digest` names the cell's run; of a few
trained cells the run is kept, in `ranking` (the document ids of the topic, best first), so that it can be scored again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from srd_gym.data.parquet import opened_for_arrow
from srd_gym.files import written_atomically
from srd_gym.reading import existing_file, few, read_json_object, reading
from srd_gym.topic import TopicSet
from srd_gym.trec_files import read_run
from srd_train.experiment.recipe import CELLS, RECIPE_FILE, Recipe
from srd_train.experiment.records import OtherVersionError, Record, read_record, run_digest
from srd_train.experiment.sources import load_entry
from srd_train.experiment.split import with_subtopics
from srd_train.report.significance import Scores
from srd_train.report.tables import Problem, same_benchmark

VERSION = "1"
KEY = b"srd_scores"
"""Key of the file's metadata: its version, the names of the measures, and a checksum of all that is read."""
KEPT_RUNS = 10
"""Runs in a file of scores, at most."""
AS_JSON = ("topic_set", "view", "versions", "chosen")
"""Columns that hold what a record says as JSON: `chosen` are the options that validation preferred."""
_POINT = {"topics": pa.string(), "ranker": pa.string(), "fold": pa.int64(), "seed": pa.int64(), "topic": pa.string()}
_ABOUT = {
    **dict.fromkeys(("cell", "fitted_as", "normalizer", "commit", "run_digest"), pa.string()),
    **dict.fromkeys(("depth", "environment_episodes", "environment_steps"), pa.int64()),
    **dict.fromkeys(("fit_cpu_seconds", "rank_cpu_seconds"), pa.float32()),
    **dict.fromkeys(AS_JSON, pa.string()),
    **dict.fromkeys(("reads_judgments", "trained"), pa.bool_()),
}
"""Columns that are the same in all rows of a cell; Parquet stores them once."""


def read_results(folder: Path) -> tuple[list[Record], list[Problem]]:
    """The records in a folder as `srd benchmark` leaves it.

    Cells of earlier recipes in the folder do not count, once all of the last one have ended. Of several cells of one
    ranker, fold and seed (with other options, say) the last that was written counts.

    Returns:
        The records that can be used, by name of their cells, each with `folder`, which the path of its run starts
        from; and a problem for each failed cell, each record that cannot be used, and the cells without a record.

    Raises:
        FileNotFoundError: no folder, or one without cells.
        ValueError: no record that can be used; the message gives the first reasons.
    """
    files = [*folder.glob("cells/*.json"), *folder.glob("failed/*.json")]
    if not files:
        where = f"no cells in {folder}" if folder.is_dir() else f"there is no folder {folder}"
        raise FileNotFoundError(f"{where}; expected a folder of results as `srd benchmark` leaves it")
    ids = _cells_of(folder)
    files = [file for file in files if ids is None or file.stem in ids]
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
    if lacking := sorted(set(ids or ()) - {file.stem for file in files}):
        many = f"{len(lacking)} of {len(ids or ())} cells have no record here ({few(lacking)})"
        why = f"{many}; left out (removed, or taken from another file by --beside)"
        problems.append(Problem(kind="incomplete", what=str(folder), why=why))
    if not latest:
        first_problems = "; ".join(map(str, problems[:3]))
        raise ValueError(f"no record that a report could be made of in {folder}: {first_problems}")
    return sorted(latest.values(), key=lambda record: str(record["cell"])), problems


def _cells_of(folder: Path) -> Sequence[str] | None:
    """The ids of the cells of the recipe in a folder; None where they are not known."""
    try:
        ids = read_json_object(folder / RECIPE_FILE, "recipe").get(CELLS)
    except (OSError, ValueError):  # which is told where the recipe is read
        return None
    return ids if isinstance(ids, list) else None


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
    """The topics of a record, with the subtopics that are tested; or None, and why they cannot be shown.

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
        return with_subtopics(topics, entry.test_subtopics) if entry.test_subtopics else topics, None
    return None, f"the topics ({entry.source}) are no longer those that were ranked: their content has changed since"


def with_runs(records: Sequence[Record], folder: Path) -> list[Record]:
    """The records, a sample of them with `rankings`, their runs.

    The digests of the cells' names draw the sample, from the trained rows whose run is there: others rank again in
    seconds.

    Args:
        records: of the cells.
        folder: of the results. Runs that a file of scores kept are there as well.

    Raises:
        ValueError: a run that is not the one that its record names.
    """
    runs = {record["cell"]: folder / "runs" / f"{record['cell']}.run" for record in records if record["history"]}
    there = [one for one in records if one["cell"] in runs and (one.get("rankings") or runs[one["cell"]].is_file())]
    drawn = sorted((one["cell"] for one in there), key=lambda cell: hashlib.sha256(cell.encode()).hexdigest())
    sample = set(drawn[:KEPT_RUNS])
    return [_with_run(o, runs[o["cell"]]) if o["cell"] in sample else {**o, "rankings": None} for o in records]


def _with_run(record: Record, path: Path) -> Record:
    """The record of a cell with its run."""
    rankings = record.get("rankings") or read_run(path).rankings
    digest = run_digest(rankings)
    if record.get("run_digest") not in (None, digest):
        raise ValueError(f"{path} is not the run that its record names; repeat it with --fresh")
    return {**record, "rankings": rankings, "run_digest": digest}


def write_scores(path: Path, records: Sequence[Record]) -> None:
    """Write the scores of a benchmark's cells; equal records give an equal file.

    Args:
        path: of the file (.parquet).
        records: of the tables that the file is of; their runs, where they are to be kept, are `rankings`.
    """
    measures = list(dict.fromkeys(name for record in records for name in record["measures"]))
    scores = {**dict.fromkeys(measures, pa.float64()), "ranking": pa.list_(pa.string())}
    schema = pa.schema([*_POINT.items(), *scores.items(), *_ABOUT.items()])
    with written_atomically(path) as temporary:
        table = pa.concat_tables([pa.Table.from_pylist(_rows(record), schema=schema) for record in records])
        said = {"version": VERSION, "measures": measures, "checksum": _checksum(table, measures)}
        with opened_for_arrow(temporary, "wb") as target:
            table = table.replace_schema_metadata({KEY: json.dumps(said)})
            pq.write_table(table, target, compression="zstd", compression_level=19)


def _rows(record: Record) -> list[Record]:
    """A row a topic; of what it holds the schema takes its columns."""
    about = {**record, "topics": record["topic_set"]["name"], "trained": record["history"] is not None}
    about |= {key: json.dumps(record.get(key), sort_keys=True) for key in AS_JSON}
    runs = record.get("rankings") or {}
    each = sorted(record["per_topic"].items())
    return [{**about, "topic": query_id, "ranking": runs.get(query_id), **scores} for query_id, scores in each]


def _starts(table: pa.Table) -> list[int]:
    """The first rows of the cells, and the number of all rows."""
    cells = table["cell"].to_numpy()
    return [0, *(np.flatnonzero(cells[1:] != cells[:-1]) + 1).tolist(), len(cells)]


def _checksum(table: pa.Table, measures: Sequence[str]) -> str:
    """Checksum of what is read of the cells, their topics and scores: it tells edits by hand, and proves nothing."""
    content = hashlib.sha256(json.dumps(table.take(_starts(table)[:-1]).to_pylist()).encode())
    content.update(json.dumps(table["topic"].to_pylist()).encode())
    for name in measures:
        content.update(table[name].to_numpy().tobytes())
    return content.hexdigest()[:16]


def read_scores(path: Path) -> list[Record]:
    """The records in a file of scores: what `complete_tables` needs, without configuration, history and rankings."""
    with reading(path, "scores", "a file of `srd benchmark --scores`", "write it again from the benchmark's folder"):
        table = pq.read_table(existing_file(path, "scores"))
        said = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
        if said.get("version") != VERSION:
            raise ValueError(f"version {said.get('version')!r}, expected {VERSION!r}")
        if said.get("checksum") not in (None, _checksum(table, said["measures"])):
            raise ValueError("something in it was changed since it was written")
        starts = _starts(table)
        scores = {name: table[name].to_numpy() for name in said["measures"]}
        query_ids, about = table["topic"].to_pylist(), table.take(starts[:-1]).to_pylist()
        runs = table["ranking"] if "ranking" in table.column_names else pa.nulls(len(table))
        return [
            _record(
                first,
                query_ids[one:other],
                {name: values[one:other] for name, values in scores.items()},
                runs[one:other].to_pylist(),
            )
            for first, (one, other) in zip(about, pairwise(starts), strict=True)
        ]


def _record(
    first: Record, query_ids: Sequence[str], scores: Mapping[str, Scores], run: Sequence[Sequence[str] | None]
) -> dict[str, object]:
    """The record of a cell: what its first row says of it, its topics, its columns of scores, and its run, if kept."""
    columns = {name: values for name, values in scores.items() if first[name] is not None}
    scored = zip(*(values.tolist() for values in columns.values()), strict=True)
    each = [dict(zip(columns, values, strict=True)) for values in scored]
    rankings = {query_id: ids for query_id, ids in zip(query_ids, run, strict=True) if ids is not None}
    return {
        **{key: value for key, value in first.items() if key not in (*scores, "ranking")},
        "run_digest": first.get("run_digest"),
        "rankings": rankings or None,
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
    by_cell = {place_of(record): record for record in stored}
    moved = set()
    for record in records:
        name, other = record["topic_set"]["name"], by_cell.pop(place_of(record), None)
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
    content = {place_of(one): (one["topic_set"]["fingerprint"], one["per_topic"]) for one in records}
    return sum(content.get(place_of(one)) == (one["topic_set"]["fingerprint"], one["per_topic"]) for one in stored)


def _place(record: Record) -> str:
    """A cell, for people."""
    return f"{record['topic_set']['name']}, {record['ranker']}, fold {record['fold']}, seed {record['seed']}"


def place_of(record: Record) -> tuple[object, ...]:
    """Identity of a cell: topic set, ranker, fold and seed."""
    return record["topic_set"]["name"], record["ranker"], record["fold"], record["seed"]
