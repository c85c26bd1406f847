"""Scores that stay: what the tables of a page are made of, as one small Parquet file beside it.

A row is one topic of one cell: `topics` (the set's name), `ranker` (its row in the tables), `fold`, `seed`, `topic`
(query id), a column a measure, and what tables say of the cell besides. Any tool that reads Parquet can check
the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from srd_gym.files import written_atomically
from srd_gym.reading import reading
from srd_train.experiment.records import Record

_VERSION = "1"
_KEY = b"srd_scores"
_TEXT = ("cell", "fitted_as", "normalizer", "commit")
_WHOLE = ("depth", "environment_episodes", "environment_steps")
_REAL = ("fit_cpu_seconds", "rank_cpu_seconds", "time_budget")
_AS_JSON = ("topic_set", "view", "versions")
_ABOUT = {
    **dict.fromkeys(_TEXT, pa.string()),
    **dict.fromkeys(_WHOLE, pa.int64()),
    **dict.fromkeys(_REAL, pa.float32()),
    **dict.fromkeys(_AS_JSON, pa.string()),
    "reads_judgments": pa.bool_(),
    "trained": pa.bool_(),
}
"""Columns that are the same in all rows of a cell; Parquet stores them once."""
_PLAIN = (*_TEXT, *_WHOLE, *_REAL, "reads_judgments", "ranker", "fold", "seed")
_POINT = {"topics": pa.string(), "ranker": pa.string(), "fold": pa.int64(), "seed": pa.int64(), "topic": pa.string()}


def write_scores(path: Path, records: Sequence[Record]) -> None:
    """Write the scores of cells; equal records give an equal file.

    Args:
        path: ends in .parquet.
        records: of `read_results`, or of the tables of a report.

    Raises:
        ValueError: another ending, or runs that are no cells of a benchmark.
    """
    check_scores_path(path)
    if any("fold" not in record for record in records):
        raise ValueError("scores are kept of a benchmark's cells; runs of other systems have none: keep the run files")
    measures = list(dict.fromkeys(name for record in records for name in record["measures"]))
    schema = pa.schema(
        [*_POINT.items(), *((name, pa.float64()) for name in measures), *_ABOUT.items()],
        metadata={_KEY: json.dumps({"version": _VERSION, "measures": measures}).encode()},
    )
    rows = [_rows(record, schema) for record in records]
    with written_atomically(path) as temporary:
        pq.write_table(pa.concat_tables(rows), temporary, compression="zstd", compression_level=19)


def check_scores_path(path: Path) -> None:
    """Refuse a file that is no Parquet by its name.

    Raises:
        ValueError: another ending than .parquet.
    """
    if path.suffix != ".parquet":
        raise ValueError(f"scores are written as Parquet: expected a file ending in .parquet, got {path}")


def read_scores(path: Path) -> list[dict[str, Any]]:
    """The records in a file of scores: what `complete_tables` needs, without configuration, history and rankings.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no file of scores, or one of another version.
    """
    with reading(path, "scores", "a file of `srd benchmark --scores`", "write it again from the benchmark's folder"):
        table = pq.read_table(path)
        said = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
        if said.get("version") != _VERSION:
            raise ValueError(f"version {said.get('version')!r}, expected {_VERSION!r}")
        cells = table["cell"].to_numpy()
        starts = [0, *(np.flatnonzero(cells[1:] != cells[:-1]) + 1).tolist(), len(cells)]
        scores = {name: table[name].to_numpy() for name in said["measures"]}
        query_ids, about = table["topic"].to_pylist(), table.take(starts[:-1]).to_pylist()
        return [
            _record(first, query_ids[one:other], {name: values[one:other] for name, values in scores.items()})
            for first, (one, other) in zip(about, pairwise(starts), strict=True)
        ]


def _rows(record: Record, schema: pa.Schema) -> pa.Table:
    """A row a topic."""
    about = {key: record[key] for key in _PLAIN}
    about |= {key: json.dumps(record[key], sort_keys=True) for key in _AS_JSON}
    about |= {"topics": record["topic_set"]["name"], "trained": record["history"] is not None}
    rows: Iterable[dict[str, Any]] = (
        {**about, "topic": query_id, **values} for query_id, values in sorted(record["per_topic"].items())
    )
    return pa.Table.from_pylist(list(rows), schema=schema)


def _record(first: Record, query_ids: Sequence[str], scores: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """The record of a cell: what its first row says of it, its topics, and its columns of scores."""
    columns = {name: values for name, values in scores.items() if first[name] is not None}
    scored = zip(*(values.tolist() for values in columns.values()), strict=True)
    each = [dict(zip(columns, values, strict=True)) for values in scored]
    return {
        **{key: first[key] for key in _PLAIN},
        **{key: json.loads(first[key]) for key in _AS_JSON},
        "history": {"measure": "", "records": []} if first["trained"] else None,
        "measures": {name: float(values.mean()) for name, values in columns.items()},
        "per_topic": dict(zip(query_ids, each, strict=True)),
    }
