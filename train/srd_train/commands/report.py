"""`srd report`: a benchmark's results as one page to look into, and as tables for a text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from srd_train.commands.console import Output
from srd_train.commands.options import SomeFile


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write a benchmark's results as one HTML page: tables, learning curves, topic by topic, and the rankings.

    The page needs no network and no other file. All figures come from the records and TREC runs of the folder. Topics
    are read for texts and subtopics only (set SRD_DATA_DIR as for the benchmark). The page names files that it could
    not read.

    Examples:
      srd report results/smoke
      srd report results/smoke --out smoke.html --latex smoke.tex
    """

    ENDINGS: ClassVar = {"out": (".html", ".htm")}

    results: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """Folder of results, from `srd benchmark`."""
    out: SomeFile = None
    """Page to write (default: report.html in the folder)."""
    markdown: SomeFile = None
    """Also write the tables as Markdown."""
    latex: SomeFile = None
    """Also write the tables as LaTeX to paste (booktabs)."""
    csv: SomeFile = None
    """Also write means and differences as CSV."""
    trust: bool = False
    """Let the results' configuration run code: its measures and rankers given as "module:NAME"."""
    json: bool = False
    """Print JSON: what was written, and the problems."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "out", self.out or self.results / "report.html")

    def execute(self, output: Output) -> int:
        """Read, compute, write.

        Raises:
            FileNotFoundError: no results there.
            ValueError: no record that can be used.
            ImportError: jinja2 is not installed.
        """
        from srd_train.report.page import report

        made = report(self.results, trust=self.trust)
        written, problems = made.write(html=self.out, markdown=self.markdown, latex=self.latex, csv=self.csv)
        if self.json:
            output.data({"written": list(map(str, written)), "problems": [asdict(problem) for problem in problems]})
            return 0
        for problem in problems:
            output.notice(f"notice: {problem}")
        for file in written:
            output.notice(f"{file}: {file.stat().st_size / 1e6:.1f} MB" if file == self.out else str(file))
        return 0
