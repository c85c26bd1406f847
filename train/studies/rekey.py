"""Stored scores by today's names of cells: those that are a recipe's cells by the former rule are named by the new one.

Command: PYTHONPATH=.:agents:train python -m studies.rekey
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from srd_gym.files import written_atomically
from srd_train.experiment.recipe import Cell, built_in, load_recipe, tasks

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
_LEFT_OUT = {
    "ranker": ("views", "needs", "select_by"),
    "topics": ("published", "published_source", "average", "collection", "retrieve", "rankers", "epochs_factor"),
}
_IF_SET = ("shares", "train_queries", "train_subtopics", "test_subtopics")


def former_id(cell: Cell) -> str:
    """The name of a cell by the former rule."""
    content = asdict(cell)
    for part, keys in _LEFT_OUT.items():
        for key in keys:
            del content[part][key]
    if cell.ranker.grid_seed is None:
        del content["ranker"]["grid_seed"]
    for key in _IF_SET:
        if not content["topics"][key]:
            del content["topics"][key]
    content["topics"]["without"] = content["topics"].pop("drop")
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=list).encode()).hexdigest()[:10]
    parts = (cell.topics.name, cell.row, f"fold{cell.fold}", f"seed{cell.seed}", digest)
    return ".".join(re.sub(r"[^A-Za-z0-9_+-]+", "-", part)[:80] for part in parts)


def main() -> None:
    """Write every file of stored scores anew; nothing but the names of cells changes."""
    for path in sorted(RESULTS.glob("*.parquet")):
        if path.stem not in built_in():
            continue
        names = {former_id(cell): cell.id for task in tasks(load_recipe(path.stem)) for cell in task.cells}
        table = pq.read_table(path)
        before = table["cell"].to_pylist()
        after = [names.get(cell, cell) for cell in before]
        column = table.schema.get_field_index("cell")
        with written_atomically(path) as temporary:
            changed = table.set_column(column, table.schema.field(column), pa.array(after))
            pq.write_table(changed, temporary, compression="zstd", compression_level=19)
        known = {cell for cell in before if cell in names}
        sys.stdout.write(f"{path.name}: {len(known)} of {len(set(before))} cells named anew\n")


if __name__ == "__main__":
    main()
