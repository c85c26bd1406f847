"""`make results`: every table, sentence and picture of the documentation from the stored scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from srd_train.commands.console import Output
from srd_train.report.markup import write_text
from studies.results.pages import faults, pictures, remade_pages
from studies.results.stored import Stored

DOCS = Path(__file__).resolve().parents[3] / "docs"


@dataclass(frozen=True, kw_only=True)
class Results:
    """Make the generated parts of the documentation from the scores in docs/results, then check all pages.

    Examples:
      make results
      make results ARGS=--check
    """

    check: bool = False
    """Change nothing, and rank and score again what needs no training (minutes)."""

    def execute(self, output: Output) -> int:
        """Write and check; 1 where a page says what the scores do not."""
        if not self.check:
            stored = Stored(DOCS / "results")
            for path, text, new in remade_pages(DOCS, stored):
                if text != new:
                    write_text(path, new)
                    output.notice(str(path))
            for path, draw in pictures(DOCS):
                draw(stored, path)
        found = faults(DOCS, output.notice if self.check else None)
        for fault in found:
            output.notice(fault)
        return 1 if found else 0
