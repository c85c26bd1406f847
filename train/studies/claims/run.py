"""`make results`: every table of the documentation from the stored scores, and whether its claims hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from srd_train.commands.console import Output
from srd_train.report.markup import write_text
from studies.claims.book import read_book
from studies.claims.figure import draw_gains
from studies.claims.pages import faults, remade_pages
from studies.claims.stored import Stored

DOCS = Path(__file__).resolve().parents[3] / "docs"


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Make the tables of the documentation from the scores in docs/results, then hold every claim against them.

    Examples:
      make results
      make results ARGS=--check
    """

    check: bool = False
    """Change nothing."""

    def execute(self, output: Output) -> int:
        """Write and check; 1 where something does not hold."""
        if not self.check:
            book, stored = read_book(DOCS / "claims.toml"), Stored(DOCS / "results")
            for path, text, new in remade_pages(DOCS, book, stored):
                if text != new:
                    write_text(path, new)
                    output.notice(str(path))
            for table in book.tables:
                if table.figure:
                    draw_gains(table, stored, DOCS / table.figure)
        found = faults(DOCS)
        for fault in found:
            output.notice(fault)
        return 1 if found else 0
