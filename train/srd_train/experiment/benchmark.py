"""Benchmarks: a product of lists, cell by cell; each cell leaves a JSON line and a TREC run, and is never run twice.

Nothing but these files goes into the tables (`srd_train.report`). Cells run in this process, in
several, or on a Ray cluster (`engines`): wherever they run, this process writes their results, so that a run
that is killed loses the cells that were running, and no others. One process writes a folder of results at a time:

NAME/cells/CELL.json     config, commit, versions, seed, fold, scores by topic, time, environment steps
NAME/runs/CELL.run       the rankings of the test topics, which the official tool can score
NAME/failed/CELL.json    why a cell has no result; gone once it has one
NAME/recipe.json         what was compared, for tables and reports
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from srd_gym.files import PARTIAL, held, written_atomically
from srd_gym.trec_files import write_run
from srd_train.experiment.cells import (
    Cell,
    CellResult,
    Engine,
    Task,
    check_recipe,
    failure,
    in_process,
    run_of,
    tasks,
)
from srd_train.experiment.recipe import RECIPE_FILE, Recipe
from srd_train.experiment.records import OtherVersionError, read_record

Record = dict[str, Any]


class FailedCellsError(ValueError):
    """Cells of a benchmark failed; the others are finished.

    Args:
        records: of the finished cells, in the order of the product.
        failed: of the failed ones; each says why under `error`.
    """

    def __init__(self, records: list[Record], failed: list[Record]) -> None:
        self.records = records
        self.failed = failed
        first = failed[0]
        super().__init__(
            f"{len(failed)} of {len(records) + len(failed)} cells failed (first: {first['cell']}: "
            f"{first['error']['type']}: {first['error']['message']}); the others are finished, and the same command "
            "runs these again"
        )


def run_benchmark(
    recipe: Recipe,
    out: Path,
    *,
    fresh: bool = False,
    trust: bool = False,
    engine: Engine = in_process,
    report: Callable[[Cell, Record, bool], None] = lambda *_: None,
    notice: Callable[[str], None] = lambda _: None,
) -> list[Record]:
    """Run the cells that are not finished yet.

    Args:
        recipe: the product.
        out: folder of the results.
        fresh: run finished cells again.
        trust: let rankers run other people's code.
        engine: where cells run: `cells.in_process`, `engines.processes(jobs)` or `engines.on_ray`.
        report: called after each cell with its record, and whether it was there already; that of a failed cell holds
            `error`.
        notice: called with a sentence about each record that is cut off; their cells are run again.

    Returns:
        The records of all cells, in the order of the product.

    Raises:
        FailedCellsError: at the end, if cells failed; it holds the records of the others.
        ValueError, FileNotFoundError: a missing topic set or ranker, a folder that another run writes to, or
            one that another version wrote.
    """
    check_recipe(recipe, trust=trust)
    ids: list[str] = []
    finished: dict[str, Record] = {}
    failed: dict[str, Record] = {}

    def unfinished() -> Iterator[Task]:
        """What is left to do; finished cells are reported on the way."""
        for task in tasks(recipe):
            left = []
            for cell in task.cells:
                ids.append(cell.id)
                record = None if fresh else _finished(out, cell, notice)
                if record is None:
                    left.append(cell)
                else:
                    finished[cell.id] = record
                    report(cell, record, True)
            if left:
                yield replace(task, cells=tuple(left))

    with held(out):
        # What a killed run was writing; no other process writes here now.
        for partial in out.glob(f"*/.*{PARTIAL}"):
            partial.unlink(missing_ok=True)
        write_recipe(out, recipe)
        for cell, result in engine(unfinished()):
            written = _written(out, cell, result)
            (failed if written.failed else finished)[cell.id] = written.record
            report(cell, written.record, False)
    records = [finished[name] for name in ids if name in finished]
    if failed:
        raise FailedCellsError(records, [failed[name] for name in ids if name in failed])
    return records


def _finished(out: Path, cell: Cell, notice: Callable[[str], None]) -> Record | None:
    """The record of a finished cell; None where there is none, or one that is cut off.

    Raises:
        ValueError: another version of this package wrote it.
    """
    path = out / "cells" / f"{cell.id}.json"
    if not path.is_file() or not (out / run_of(cell)).is_file():
        return None
    try:
        return read_record(path)
    except OtherVersionError as error:
        raise ValueError(f"{path}: {error}; give another folder with --out, or run it with --fresh") from error
    except ValueError as error:
        notice(f"{path}: {error} Its cell is run again")
        return None


def _written(out: Path, cell: Cell, result: CellResult) -> CellResult:
    """The result, once it is written; a failure, where it cannot be (ids that a run cannot carry)."""
    if result.rankings is not None:
        try:
            write_run(out / run_of(cell), result.rankings, tag=re.sub(r"\s+", "-", cell.row))
        except ValueError as error:
            result = failure(cell, error, result.record["wall_seconds"])
    # The record comes last: where it is, the run is whole.
    _write_line(out / ("failed" if result.failed else "cells") / f"{cell.id}.json", result.record)
    if not result.failed:
        (out / "failed" / f"{cell.id}.json").unlink(missing_ok=True)
    return result


def write_recipe(out: Path, recipe: Recipe) -> None:
    """Keep a recipe beside its results."""
    _write_line(out / RECIPE_FILE, asdict(recipe))


def _write_line(path: Path, values: Record) -> None:
    """Values as a line of JSON."""
    with written_atomically(path) as temporary:
        temporary.write_text(json.dumps(values, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
