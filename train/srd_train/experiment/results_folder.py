"""A benchmark's folder of results: one process writes it at a time, and no file in it is ever half written.

NAME/cells/CELL.json     config, commit, versions, seed, fold, scores by topic, time, environment steps
NAME/runs/CELL.run       the rankings of the test topics, which the official tool can score
NAME/failed/CELL.json    why a cell has no result; gone once it has one
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from srd_gym.data.trec import write_run
from srd_gym.files import PARTIAL, written_atomically
from srd_train.experiment.cells import SCHEMA_VERSION, Cell, CellResult
from srd_train.experiment.held_folder import held


class ResultsFolder:
    """The folder, held by this process while the block runs; the system lets go of it however the process ends.

    Args:
        path: created where missing.

    Raises:
        ValueError: another run holds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable: list[str] = []
        """Records found cut off or garbled, each with the reason; such cells are run again."""
        self._held = held(path)

    def __enter__(self) -> Self:
        self._held.__enter__()
        # What a killed run was writing; no other process writes here now.
        for folder in ("cells", "runs", "failed"):
            for partial in (self.path / folder).glob(f".*{PARTIAL}"):
                partial.unlink(missing_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.__exit__(kind, error, trace)

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """The record of a finished cell; None where there is none, or one that is cut off.

        Raises:
            ValueError: another version of this package wrote it.
        """
        path = self._path("cells", cell)
        if not path.is_file() or not self._run(cell).is_file():
            return None
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            self.unreadable.append(f"{path} is no JSON ({error}); is it cut off?")
            return None
        if not isinstance(record, dict) or record.get("cell") != cell.id:
            self.unreadable.append(f"{path} is not the record of its cell")
            return None
        version = record.get("schema_version")
        if version != SCHEMA_VERSION:
            raise ValueError(
                f"{path} was written by another version of srd_gym (schema {version!r}, expected {SCHEMA_VERSION}); "
                "give another folder with --out, or run its cells again with --fresh"
            )
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
