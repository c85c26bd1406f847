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

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from srd_gym.data.trec import write_run
from srd_gym.files import PARTIAL, written_atomically
from srd_train.experiment.cells import (
    Cell,
    CellResult,
    Engine,
    Task,
    failure,
    in_process,
    tasks,
)
from srd_train.experiment.recipe import Recipe, write_recipe
from srd_train.experiment.records import OtherVersionError, read_record
from srd_train.experiment.surroundings import held

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
        engine: where cells run: `cells.in_process`, `engines.local.processes(jobs)` or `engines.ray.on_ray`.
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
    ids: list[str] = []
    finished: dict[str, Record] = {}
    failed: dict[str, Record] = {}

    def unfinished(folder: ResultsFolder) -> Iterator[Task]:
        """What is left to do; finished cells are reported on the way."""
        for task in tasks(recipe, trust=trust):
            left = []
            for cell in task.cells:
                ids.append(cell.id)
                record = None if fresh else folder.read(cell)
                if record is None:
                    left.append(cell)
                else:
                    finished[cell.id] = record
                    report(cell, record, True)
            if left:
                yield replace(task, cells=tuple(left))

    with results_folder(out) as folder:
        write_recipe(out, recipe)
        for cell, result in engine(unfinished(folder)):
            written = _written(folder, cell, result)
            (failed if written.failed else finished)[cell.id] = written.record
            report(cell, written.record, False)
        for unreadable in folder.unreadable:
            notice(f"{unreadable} Its cell was run again")
    records = [finished[name] for name in ids if name in finished]
    if failed:
        raise FailedCellsError(records, [failed[name] for name in ids if name in failed])
    return records


def _written(folder: ResultsFolder, cell: Cell, result: CellResult) -> CellResult:
    """The result, once it is written; a failure, where it cannot be (ids that a run cannot carry)."""
    try:
        folder.write(cell, result)
    except ValueError as error:
        result = failure(cell, error, result.record["wall_seconds"])
        folder.write(cell, result)
    return result


@contextlib.contextmanager
def results_folder(path: Path) -> Iterator[ResultsFolder]:
    """The folder, held by this process while the block runs; the system lets go of it however the process ends.

    Args:
        path: created where missing.

    Raises:
        ValueError: another run holds it.
    """
    with held(path):
        # What a killed run was writing; no other process writes here now.
        for partial in path.glob(f"*/.*{PARTIAL}"):
            partial.unlink(missing_ok=True)
        yield ResultsFolder(path)


@dataclass(frozen=True)
class ResultsFolder:
    """Reads and writes the results of cells."""

    path: Path
    unreadable: list[str] = field(default_factory=list)
    """Records found cut off or garbled, each with the reason; such cells are run again."""

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """The record of a finished cell; None where there is none, or one that is cut off.

        Raises:
            ValueError: another version of this package wrote it.
        """
        path = self._path("cells", cell)
        if not path.is_file() or not self._run(cell).is_file():
            return None
        try:
            record = read_record(path)
        except OtherVersionError as error:
            raise ValueError(f"{path}: {error}; give another folder with --out, or run it with --fresh") from error
        except ValueError as error:
            self.unreadable.append(f"{path}: {error}")
            return None
        if record["cell"] != cell.id:
            self.unreadable.append(f"{path} is not the record of its cell")
            return None
        return record

    def write(self, cell: Cell, result: CellResult) -> None:
        """Write the result of a cell.

        Raises:
            ValueError: ids that a TREC run cannot carry.
        """
        if result.rankings is not None:
            write_run(self._run(cell), result.rankings, tag=re.sub(r"\s+", "-", cell.row))
            # The record comes last: where it is, the run is whole.
            _write_line(self._path("cells", cell), result.record)
            self._path("failed", cell).unlink(missing_ok=True)
        else:
            _write_line(self._path("failed", cell), result.record)

    def _path(self, folder: str, cell: Cell) -> Path:
        """Where the cell's JSON line is."""
        return self.path / folder / f"{cell.id}.json"

    def _run(self, cell: Cell) -> Path:
        """Where the cell's run is."""
        return self.path / "runs" / f"{cell.id}.run"


def _write_line(path: Path, record: dict[str, Any]) -> None:
    """One record as a line of JSON."""
    with written_atomically(path) as temporary:
        temporary.write_text(json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
