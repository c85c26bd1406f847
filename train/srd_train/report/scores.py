"""Scores that stay: what the tables of a page are made of, as one small Parquet file beside it.

A row is one topic of one cell: `topics` (the set's name), `ranker` (its row in the tables), `fold`, `seed`, `topic`
(query id), a column a measure, and what tables say of the cell besides. Any tool that reads Parquet can check
the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from srd_gym.files import written_atomically
from srd_train.experiment.records import Record

VERSION = "1"
KEY = b"srd_scores"
"""Of the file's metadata: its version, and the names of the measures."""
AS_JSON = ("topic_set", "view", "versions")
"""Columns that hold what a record says as JSON."""
_POINT = {"topics": pa.string(), "ranker": pa.string(), "fold": pa.int64(), "seed": pa.int64(), "topic": pa.string()}
_ABOUT = {
    **dict.fromkeys(("cell", "fitted_as", "normalizer", "commit"), pa.string()),
    **dict.fromkeys(("depth", "environment_episodes", "environment_steps"), pa.int64()),
    **dict.fromkeys(("fit_cpu_seconds", "rank_cpu_seconds"), pa.float32()),
    **dict.fromkeys(AS_JSON, pa.string()),
    **dict.fromkeys(("reads_judgments", "trained"), pa.bool_()),
}
"""Columns that are the same in all rows of a cell; Parquet stores them once."""


def write_scores(path: Path, records: Sequence[Record]) -> None:
    """Write the scores of a benchmark's cells; equal records give an equal file.

    Args:
        path: ends in .parquet.
        records: of the tables that the file is of.

    Raises:
        ValueError: another ending.
    """
    check_scores_path(path)
    measures = list(dict.fromkeys(name for record in records for name in record["measures"]))
    schema = pa.schema(
        [*_POINT.items(), *((name, pa.float64()) for name in measures), *_ABOUT.items()],
        metadata={KEY: json.dumps({"version": VERSION, "measures": measures}).encode()},
    )
    cells = [pa.Table.from_pylist(_rows(record), schema=schema) for record in records]
    with written_atomically(path) as temporary:
        pq.write_table(pa.concat_tables(cells), temporary, compression="zstd", compression_level=19)


def check_scores_path(path: Path) -> None:
    """Refuse a file that is no Parquet by its name.

    Raises:
        ValueError: another ending than .parquet.
    """
    if path.suffix != ".parquet":
        raise ValueError(f"scores are written as Parquet: expected a file ending in .parquet, got {path}")


def _rows(record: Record) -> list[Record]:
    """A row a topic; of what it holds the schema takes its columns."""
    about = {**record, "topics": record["topic_set"]["name"], "trained": record["history"] is not None}
    about |= {key: json.dumps(record[key], sort_keys=True) for key in AS_JSON}
    return [{**about, "topic": query_id, **scores} for query_id, scores in sorted(record["per_topic"].items())]
