"""Benchmarks: a product of lists, cell by cell; each cell leaves a JSON line and a TREC run, and is never run twice.

Nothing but these files (`results_folder`) goes into the tables (`srd_train.report`). Cells run in this process, in
several, or on a Ray cluster (`engines`): wherever they run, this process writes their results, so that a run
that is killed loses the cells that were running, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from srd_train.experiment.cells import (
    Cell,
    CellResult,
    Engine,
    Task,
    failure,
    in_process,
    tasks,
)
from srd_train.experiment.recipe import Recipe
from srd_train.experiment.results_folder import ResultsFolder

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
    on_failure: Callable[[Cell, Record], None] = lambda *_: None,
    notice: Callable[[str], None] = lambda _: None,
) -> list[Record]:
    """Run the cells that are not finished yet.

    Args:
        recipe: the product.
        out: folder of the results.
        fresh: run finished cells again.
        trust: let rankers run other people's code.
        engine: where cells run: `cells.in_process`, `engines.local.processes(jobs)` or `engines.ray.on_ray`.
        report: called after each cell that is finished with its record, and whether it was there already.
        on_failure: called after each cell that failed with its record, which holds `error`.
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

    with ResultsFolder(out) as folder:
        for cell, result in engine(unfinished(folder)):
            written = _written(folder, cell, result)
            if written.failed:
                failed[cell.id] = written.record
                on_failure(cell, written.record)
            else:
                finished[cell.id] = written.record
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
