"""The page: one file with its styles, scripts and data in it, that loads nothing and runs nothing but its own scripts.

Texts of the results are data everywhere: the template escapes them, data blocks hold no `<`, scripts only ever set the
text of elements, and a content security policy names the scripts and styles by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from srd_agents.own_code import UntrustedError
from srd_agents.training.machine import versions
from srd_gym.installing import how_to_install
from srd_gym.topic import TopicSet
from srd_train.experiment.recipe import RECIPE_FILE, Recipe, saved_recipe
from srd_train.report.curves import panels
from srd_train.report.differences import Adjust, Difference, Test, differences, letters
from srd_train.report.latex import as_latex
from srd_train.report.markup import (
    as_csv,
    as_markdown,
    columns,
    difference_cells,
    legend_of,
    notes,
    pair_cells,
    write_text,
)
from srd_train.report.rankings import rankings_of
from srd_train.report.results import read_results, topics_of
from srd_train.report.significance import Scores, by_topic
from srd_train.report.tables import Problem, ResultTable, complete_tables, sign_of

SCRIPTS = ("elements.js", "scales.js", "tables.js", "charts.js", "pairs.js", "explorer.js", "start.js")
"""In this order they make one script."""
RANKING_BYTES = 9_000_000
"""Bytes that rankings and texts may take of a page."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The numbers of a report, ready to be written in any form."""

    recipe: Recipe | None = None
    """The recipe of the results, where it is known."""
    title: str = "Benchmark results"
    """Heads the page of a report without a recipe."""
    about: str = ""
    """Said below it."""
    tables: tuple[ResultTable, ...]
    problems: tuple[Problem, ...]
    topics: TopicSet | None = None
    """The topics of every table; None: those that the recipe names."""
    pairs: bool = False
    """Whether `differences` are of all pairs of rankers, not from the table's reference alone."""
    test: Test = "t"
    """Test of the differences."""
    adjust: Adjust = "all"
    """Family that their p values are adjusted over."""

    @cached_property
    def differences(self) -> list[tuple[Difference, ...]]:
        """The differences that each table shows in LaTeX and CSV."""
        return [differences(table, pairs=self.pairs, test=self.test, adjust=self.adjust) for table in self.tables]

    @property
    def legend(self) -> str:
        """Notes below the tables of the page and of Markdown."""
        return legend_of(self.tables)

    def html(self) -> tuple[str, list[Problem]]:
        """The page, and all problems: those of the tables, of rankings and of texts.

        Raises:
            ImportError: jinja2 is not installed.
        """
        sets, lists, problems = [], [], list(self.problems)
        for table in self.tables:
            topics, why = (self.topics, None) if self.topics else topics_of(table.records[0], self.recipe)
            rankings, ranked, left_out = rankings_of(table, topics, RANKING_BYTES // len(self.tables))
            problems += left_out
            if why is not None:
                problems.append(Problem(kind="texts", what=table.topics, why=why))
            sets.append({**_set(table, topics), "texts": why, "shown": len(rankings), "of": ranked})
            lists.append(embedded(rankings))
        return self._page(sets, lists, problems), problems

    def _page(self, sets: Sequence[Mapping[str, object]], lists: Sequence[str], problems: Sequence[Problem]) -> str:
        """The template, filled.

        Args:
            sets: what the page's scripts read of each topic set, but for the rankings.
            lists: the rankings of each, as JSON.
            problems: all that is missing.
        """
        try:
            import jinja2
        except ImportError as error:
            raise ImportError(f"reports need jinja2: {how_to_install('report')}") from error

        rankers = dict.fromkeys(row.ranker for table in self.tables for row in table.rows)
        styles = {name: number for number, name in enumerate(rankers)}
        records = [record for table in self.tables for record in table.records]
        script = "\n".join(["(() => {", '"use strict";', *(_file(name) for name in SCRIPTS), "})();"])
        style = _file("page.css")
        environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
        environment.lstrip_blocks = True
        return environment.from_string(_file("page.html")).render(
            title=self.title if self.recipe is None else self.recipe.title,
            about=self.about if self.recipe is None else " ".join(self.recipe.about.split()),
            policy=_policy(script, style),
            style=style,
            script=script,
            data=embedded({"styles": styles, "sets": sets}),
            lists=lists,
            styles=styles,
            tables=[_shown(table) | {"pairs": self._pairs(index)} for index, table in enumerate(self.tables)],
            legend=self.legend,
            problems=problems,
            records=records,
            software=sorted({f"{name} {number}" for record in records for name, number in record["versions"].items()}),
            judged=any(table.judged for table in self.tables),
            timed=any(table.timed for table in self.tables),
            version=versions().get("srd-gym", ""),
            learned=any(each["curves"] for each in sets),
        )

    def _pairs(self, index: int) -> dict[str, object] | None:
        """All pairs of a table for the template, where they are compared: a matrix by the first measure, and a list."""
        compared, first = self.differences[index], self.tables[index].measures[0]
        if not self.pairs or not compared:
            return None
        own = [each for each in compared if each.measure == first]
        names = [name for each in own for name in (each.ranker, each.baseline)]
        rankers = [row.ranker for row in self.tables[index].rows if row.ranker in names]
        heads, rows = difference_cells(compared)
        return {
            "measure": first,
            "matrix": pair_cells(rankers, own),
            "letters": letters(rankers, own),
            "heads": heads,
            "rows": rows,
        }

    def markdown(self) -> str:
        """The tables as Markdown."""
        return as_markdown(self.tables, self.problems) + "\n"

    def latex(self) -> str:
        """The tables as LaTeX."""
        return as_latex(self.tables, self.differences, pairs=self.pairs, test=self.test)

    def csv(self) -> str:
        """The tables as CSV: means, and differences with intervals and p values."""
        return as_csv(self.tables, self.differences)

    def write(
        self,
        *,
        html: Path | None = None,
        markdown: Path | None = None,
        latex: Path | None = None,
        csv: Path | None = None,
    ) -> tuple[list[Path], list[Problem]]:
        """Write the forms that have a path.

        Returns:
            The files, and all problems, those of the page included.
        """
        written: dict[Path, str] = {}
        problems = list(self.problems)
        if html is not None:
            written[html], problems = self.html()
        for path, form in ((markdown, self.markdown), (latex, self.latex), (csv, self.csv)):
            if path is not None:
                written[path] = form()
        for path, text in written.items():
            write_text(path, text)
        return list(written), problems


def report(folder: Path, *, trust: bool = False) -> Report:
    """Read the results of a benchmark and compare.

    Args:
        folder: of results, as `srd benchmark` leaves it.
        trust: import the measures and rankers that its recipe names as "module:NAME".

    Raises:
        FileNotFoundError, ValueError: nothing that a report could be made of; the message says why.
    """
    recipe, unread = None, []
    try:
        recipe = saved_recipe(folder, trust=trust)  # its own measures are known from here on
    except UntrustedError:
        raise
    except (OSError, ValueError) as error:
        unread.append(Problem(kind="unreadable", what=str(folder / RECIPE_FILE), why=str(error)))
    records, more = read_results(folder)
    tables, problems = complete_tables(records, recipe)
    return Report(recipe=recipe, tables=tuple(tables), problems=(*unread, *more, *problems))


def embedded(value: object) -> str:
    """A value as JSON that stays inside its element: no `<`, `>` or `&`, and ASCII throughout."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=np.ndarray.tolist)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(script: str, style: str) -> str:
    """Content security policy: the browser may run this script and use this style, and nothing else."""

    def named(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

    return (
        f"default-src 'none'; script-src 'sha256-{named(script)}'; style-src 'sha256-{named(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> str:
    """One of the page's own files."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _shown(table: ResultTable) -> dict[str, object]:
    """A result table for the template, with its columns of numbers and the range that its small plots show."""
    ends = [end for row in table.competitors for end in row.intervals[table.measures[0]]]
    return {"content": table, "columns": columns(table)[1:], "notes": notes(table), "low": min(ends), "high": max(ends)}


def _set(table: ResultTable, topics: TopicSet | None) -> dict[str, object]:
    """Data of a topic set that the page's scripts read; its topics give the queries, where they are known."""
    texts = {} if topics is None else {topic.query_id: topic.query_text or "" for topic in topics}
    return {
        "name": table.topics,
        "title": table.title,
        "reference": table.reference,
        "measures": list(table.measures),
        "sign": sign_of(table.measures[0]),
        "topics": list(table.topic_ids),
        "queries": [texts.get(query_id, "") for query_id in table.topic_ids],
        "rankers": [
            {
                "name": row.ranker,
                "reads": row.reads_judgments,
                "means": row.means,
                "intervals": row.intervals,
                "fit": row.medians.get("fit_cpu_seconds"),
                "rank": row.medians.get("rank_milliseconds"),
            }
            for row in table.rows
        ],
        "scores": {name: _packed(list(by_ranker.values())) for name, by_ranker in table.scores.items()},
        "curves": [asdict(panel) for panel in panels(table.records)],
    }


def _packed(scores: Sequence[Scores]) -> str:
    """[S, T] scores of rankers, their means over seeds as base64 of float32: five characters a number, seven digits."""
    means = np.stack([by_topic(by_seed) for by_seed in scores]).astype("<f4")
    return base64.b64encode(means.tobytes()).decode("ascii")
