"""From folders of results to a written report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from srd_gym.files import written_atomically
from srd_train.report.description import Description, describe, topics_of
from srd_train.report.page import RANKING_BYTES, page
from srd_train.report.payload import Part
from srd_train.report.plain import as_latex, as_markdown
from srd_train.report.rankings import shown_rankings
from srd_train.report.results import Problem, read_results
from srd_train.report.selection import complete_tables
from srd_train.report.tables import ResultTable


@dataclass(frozen=True, kw_only=True)
class Report:
    """The numbers of a report, ready to be written in any form."""

    description: Description
    tables: tuple[ResultTable, ...]
    problems: tuple[Problem, ...]

    def html(self) -> tuple[str, list[Problem]]:
        """The page, and all problems: those of the tables, of rankings and of texts."""
        parts, problems = [], list(self.problems)
        for table in self.tables:
            topics, why = topics_of(table, self.description)
            rankings = shown_rankings(table, topics, why, RANKING_BYTES // len(self.tables))
            problems += rankings.problems
            if why is not None:
                problems.append(Problem(kind="texts", what=table.topics, why=why))
            if len(rankings.topics) < rankings.of:
                many = f"the rankings of {len(rankings.topics):,} of {rankings.of:,} topics are shown, evenly spaced"
                problems.append(Problem(kind="left out", what=table.topics, why=many))
            parts.append(Part(table=table, topics=topics, rankings=rankings))
        return page(parts, self.description, problems), problems

    def markdown(self) -> str:
        """The tables as Markdown."""
        return as_markdown(self.tables, self.problems) + "\n"

    def latex(self) -> str:
        """The tables as LaTeX."""
        return as_latex(self.tables)


def report(
    paths: Sequence[Path],
    *,
    recipes: Sequence[str] = (),
    reference: str | None = None,
    resamples: int = 10_000,
) -> Report:
    """Read results and compare.

    Args:
        paths: folders of results, or files of records as JSON lines.
        recipes: of the results, by name or file; those that come along are found by themselves.
        reference: the ranker to test against, by its name in the tables; by default the recipe's.
        resamples: of intervals and tests.

    Raises:
        FileNotFoundError, ValueError: nothing that a report could be made of; the message says why.
    """
    results = read_results(paths)
    description = describe(results.records, recipes)
    found, problems = complete_tables(results.records, description, reference=reference, resamples=resamples)
    return Report(description=description, tables=tuple(found), problems=(*results.problems, *problems))


def write_text(path: Path, text: str) -> None:
    """Write a file at once or not at all."""
    with written_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")
