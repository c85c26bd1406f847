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
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from srd_gym.topic import TopicSet
from srd_train.experiment.fit import versions
from srd_train.experiment.recipe import Recipe, saved_recipe
from srd_train.report.curves import panels
from srd_train.report.markup import as_latex, as_markdown, columns, legend_of, notes, write_text
from srd_train.report.rankings import Part, part_of
from srd_train.report.results import read_results, topics_of
from srd_train.report.significance import Scores
from srd_train.report.tables import Problem, ResultTable, Row, complete_tables

SCRIPTS = ("elements.js", "scales.js", "tables.js", "charts.js", "pairs.js", "explorer.js", "start.js")
"""In this order they make one script."""
PAGE_BYTES = 15_000_000
"""A page stays below."""
RANKING_BYTES = 9_000_000
"""Of these, what rankings and texts may take."""
SCORES = 600_000
"""Numbers of scores by topic that a page holds; measures beyond are left out, the first of all last."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The numbers of a report, ready to be written in any form."""

    recipe: Recipe | None = None
    """What the results are of, where it is known."""
    title: str = "Benchmark results"
    """Heads the page of a report without a recipe."""
    tables: tuple[ResultTable, ...]
    problems: tuple[Problem, ...]
    topics: TopicSet | None = None
    """The topics of every table; None: those that the recipe names."""

    def html(self) -> tuple[str, list[Problem]]:
        """The page, and all problems: those of the tables, of rankings and of texts."""
        known, share = (self.topics, None), RANKING_BYTES // len(self.tables)
        parts = [
            part_of(table, *(known if self.topics else topics_of(table.records[0], self.recipe)), share)
            for table in self.tables
        ]
        problems = [*self.problems, *(problem for part in parts for problem in part.problems)]
        title, about = (self.title, "") if self.recipe is None else (self.recipe.title, self.recipe.about)
        return page(parts, title, about, problems), problems

    def markdown(self) -> str:
        """The tables as Markdown."""
        return as_markdown(self.tables, self.problems) + "\n"

    def latex(self) -> str:
        """The tables as LaTeX."""
        return as_latex(self.tables)

    def write(
        self, *, html: Path | None = None, markdown: Path | None = None, latex: Path | None = None
    ) -> tuple[list[Path], list[Problem]]:
        """Write the forms that have a path.

        Returns:
            The files, and all problems, those of the page included.
        """
        written: dict[Path, str] = {}
        problems = list(self.problems)
        if html is not None:
            written[html], problems = self.html()
        if markdown is not None:
            written[markdown] = self.markdown()
        if latex is not None:
            written[latex] = self.latex()
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
    recipe = saved_recipe(folder, trust=trust)  # its own measures are known from here on
    records, unread = read_results(folder)
    found, problems = complete_tables(records, recipe)
    return Report(recipe=recipe, tables=tuple(found), problems=(*unread, *problems))


def page(parts: Sequence[Part], title: str, about: str, problems: Sequence[Problem]) -> str:
    """The whole page as HTML.

    Args:
        parts: one for each topic set.
        title: heads the page.
        about: stands below, if there is something to say.
        problems: all that is missing.

    Raises:
        ImportError: jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise ImportError('reports need jinja2: pip install "srd-gym[report]"') from error

    data, left_out = payload(parts)
    records = [record for part in parts for record in part.table.records]
    problems = [*problems, *left_out]
    script = "\n".join(["(() => {", '"use strict";', *(_file(name) for name in SCRIPTS), "})();"])
    style = _file("page.css")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.lstrip_blocks = True
    template = environment.from_string(_file("page.html"))
    text = template.render(
        title=title,
        about=" ".join(about.split()),
        policy=_policy(script, style),
        style=style,
        script=script,
        data=embedded(data),
        lists=[embedded(part.rankings) for part in parts],
        styles=data["styles"],
        tables=[_shown(part.table) for part in parts],
        legend=legend_of([part.table for part in parts]),
        problems=problems,
        records=records,
        software=sorted({f"{name} {number}" for record in records for name, number in record["versions"].items()}),
        timed=any(part.table.timed for part in parts),
        version=versions().get("srd-gym", ""),
        learned=any(entry["curves"] for entry in data["sets"]),
    )
    return text.encode("utf-8", errors="replace").decode("utf-8")


def embedded(value: Any) -> str:
    """A value as JSON that stays inside its element: no `<`, `>` or `&`, and ASCII throughout."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(script: str, style: str) -> str:
    """What the browser may do: run this script and use this style, and nothing else."""

    def named(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

    return (
        f"default-src 'none'; script-src 'sha256-{named(script)}'; style-src 'sha256-{named(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> str:
    """One of the page's own files."""
    return Path(str(resources.files("srd_train.report") / "templates" / name)).read_text(encoding="utf-8")


def _shown(table: ResultTable) -> dict[str, Any]:
    """A result table for the template, with its columns of numbers and the range that its small plots show."""
    ends = [end for row in table.competitors for end in row.intervals[table.measures[0]]]
    return {"content": table, "columns": columns(table)[1:], "notes": notes(table), "low": min(ends), "high": max(ends)}


def payload(parts: Sequence[Part]) -> tuple[dict[str, Any], list[Problem]]:
    """What the page's scripts read, but for the rankings, and what did not fit.

    Returns:
        `styles` (ranker -> number of its colour and line), and `sets`: for each topic set `name`, `title`, `reference`,
        `measures`, `topics` (ids), `queries` (texts or None), `rankers` (names and figures), `scores` (measure ->
        base64 of [rankers, topics] little-endian float32; means over seeds), `curves`.
    """
    rankers = dict.fromkeys(row.ranker for part in parts for row in part.table.rows)
    shown = _measures_shown([part.table for part in parts])
    data = {"styles": {name: number for number, name in enumerate(rankers)}, "sets": [_set(p, shown) for p in parts]}
    why = "scores by topic of {} are left out: a page holds at most {:,} of them"
    return data, [
        Problem(kind="left out", what=part.table.topics, why=why.format(", ".join(part.table.measures[shown:]), SCORES))
        for part in parts
        if part.table.measures[shown:]
    ]


def _measures_shown(tables: Sequence[ResultTable]) -> int:
    """Of how many measures, the first ones of every table, all scores by topic fit into the page."""
    sizes = [(table.tested * len(table.rows), len(table.measures)) for table in tables]
    most = max(measures for _, measures in sizes)
    return max(n for n in range(most + 1) if sum(size * min(n, measures) for size, measures in sizes) <= SCORES)


def _set(part: Part, measures: int) -> dict[str, Any]:
    """One topic set, with the scores of its first measures."""
    table = part.table
    names = [row.ranker for row in table.rows]
    return {
        "name": table.topics,
        "title": table.title,
        "reference": table.reference,
        "measures": list(table.measures),
        "topics": list(table.topic_ids),
        "queries": _queries(table.topic_ids, part.topics),
        "rankers": _rounded([_ranker(row) for row in table.rows]),
        "scores": {name: _packed(table.scores[name], names) for name in table.measures[:measures]},
        "curves": _rounded([asdict(panel) for panel in panels(table.records)]),
        "texts": part.why_no_texts,
        "shown": len(part.rankings),
        "of": part.ranked,
    }


def _ranker(row: Row) -> dict[str, Any]:
    """The figures of a ranker."""
    return {
        "name": row.ranker,
        "reads": row.reads_judgments,
        "means": row.means,
        "intervals": row.intervals,
        "fit": row.medians.get("fit_cpu_seconds"),
        "rank": row.medians.get("rank_milliseconds"),
    }


def _queries(ids: Sequence[str], topics: TopicSet | None) -> list[str] | None:
    """Query texts, where they are known."""
    if topics is None:
        return None
    texts = {topic.query_id: topic.query_text or "" for topic in topics}
    found = [texts.get(query_id, "") for query_id in ids]
    return found if any(found) else None


def _packed(scores: Mapping[str, Scores], rankers: Sequence[str]) -> str:
    """[rankers, topics] scores as base64 of float32: five characters a number, good to seven digits."""
    table = np.stack([scores[name].mean(axis=0) for name in rankers]).astype("<f4")
    return base64.b64encode(table.tobytes()).decode("ascii")


def _rounded(value: Any) -> Any:
    """The value with all numbers in six significant digits: finer than any pixel."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, (list, tuple, np.ndarray)) else value
