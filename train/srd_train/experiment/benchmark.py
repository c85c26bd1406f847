"""Benchmarks: a product of lists, cell by cell; each cell leaves a JSON line and a TREC run, and is never run twice.

Nothing but these files (`results_folder`) goes into the tables (`srd_train.report`). Cells run in this process, in
several, or on a Ray cluster (`engines`): wherever they run, this process writes what they come to, so that a run
that is killed loses the cells it was at, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from srd_gym.topic import TopicSet
from srd_train.experiment.cells import (
    SCHEMA_VERSION,
    Cell,
    FailedCell,
    Plan,
    Result,
    count_cells,
    failure,
    plans,
    run_fit,
)
from srd_train.experiment.engines.local import Engine, Task, in_process
from srd_train.experiment.recipe import Recipe
from srd_train.experiment.results_folder import ResultsFolder

__all__ = [
    "SCHEMA_VERSION",
    "Cell",
    "FailedCellsError",
    "Plan",
    "count_cells",
    "plans",
    "run_benchmark",
    "run_cell",
]

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
    report: Callable[[Cell, Record, bool], None] | None = None,
    on_failure: Callable[[Cell, Record], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> list[Record]:
    """Run the cells that are not finished yet.

    Args:
        recipe: the product.
        out: folder of the results.
        fresh: run finished cells again.
        trust: let rankers run other people's code.
        engine: where cells run: `engines.local.in_process` or `processes(jobs)`, `engines.ray.on_ray`.
        report: called after each cell that is finished with its record, and whether it was there already.
        on_failure: called after each cell that failed with its record, which holds `error`.
        notice: told of records that are cut off; their cells are run again.

    Returns:
        The records of all cells, in the order of the product.

    Raises:
        FailedCellsError: at the end, if cells failed; it holds the records of the others.
        ValueError, FileNotFoundError: a topic set or ranker that cannot be had, a folder that another run writes to, or
            one that another version wrote.
    """
    with ResultsFolder(out) as folder:
        run = _Run(folder, report)
        for cell, result in engine(run.tasks(plans(recipe, trust=trust), fresh)):
            record = run.take(cell, result)
            if record is not None and on_failure is not None:
                on_failure(cell, record)
        if notice is not None:
            for unreadable in folder.unreadable:
                notice(f"{unreadable} Its cell was run again")
    finished = [run.records[cell.id] for cell in run.cells if cell.id in run.records]
    if run.failed:
        raise FailedCellsError(finished, [run.failed[cell.id] for cell in run.cells if cell.id in run.failed])
    return finished


class _Run:
    """A benchmark being run: its cells so far, and what they came to."""

    def __init__(self, folder: ResultsFolder, report: Callable[[Cell, Record, bool], None] | None) -> None:
        self._folder = folder
        self._report = report
        self.cells: list[Cell] = []
        self.records: dict[str, Record] = {}
        self.failed: dict[str, Record] = {}

    def tasks(self, product: Iterable[Plan], fresh: bool) -> Iterator[Task]:
        """What is left to do; finished cells are reported on the way."""
        for plan in product:
            for fit in plan.fits:
                self.cells.extend(fit)
                todo = tuple(cell for cell in fit if fresh or not self._found(cell))
                if todo:
                    yield Task(cells=todo, topics=plan.topics)

    def take(self, cell: Cell, result: Result) -> Record | None:
        """Write what a cell came to, and report it; the record of a failure."""
        result = _kept(self._folder, cell, result)
        if isinstance(result, FailedCell):
            self.failed[cell.id] = result.record
            return result.record
        self._finished(cell, result.record, found=False)
        return None

    def _found(self, cell: Cell) -> bool:
        """Whether the cell was finished before."""
        record = self._folder.read(cell)
        if record is not None:
            self._finished(cell, record, found=True)
        return record is not None

    def _finished(self, cell: Cell, record: Record, *, found: bool) -> None:
        """Keep and report a record."""
        self.records[cell.id] = record
        if self._report is not None:
            self._report(cell, record, found)


def run_cell(cell: Cell, topics: TopicSet, out: Path) -> Record:
    """Run one cell, and write it.

    Args:
        cell: the point of the product.
        topics: the whole topic set that the cell names.
        out: folder of the results.

    Returns:
        The record, as written.

    Raises:
        FailedCellsError: it failed.
    """
    with ResultsFolder(out) as folder:
        result: Result = next(run_fit([cell], topics))
        result = _kept(folder, cell, result)
    if isinstance(result, FailedCell):
        raise FailedCellsError([], [result.record])
    return result.record


def _kept(folder: ResultsFolder, cell: Cell, result: Result) -> Result:
    """What a cell came to, once it is written; a failure, where it cannot be (ids that a run cannot carry)."""
    try:
        folder.write(cell, result)
    except ValueError as error:
        result = failure(cell, error, result.record["wall_seconds"])
        folder.write(cell, result)
    return result
