"""`srd benchmark`: run a recipe's cells and show its tables."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from srd_train.benchmark import Cell, run_benchmark
from srd_train.curves import check_format, draw, panels
from srd_train.latency import boards, draw_latency
from srd_train.options import SomeFile, SomeFolder, parsed
from srd_train.output import Output
from srd_train.pages import write_page
from srd_train.progress import BenchmarkProgress
from srd_train.provenance import commit, versions
from srd_train.recipe import Recipe, built_in, load_recipe
from srd_train.tables import ResultTable, as_markdown, tables

_CURVES_TITLE = "Learning curves: validation measure against episodes and against time"
_CURVES_LEGEND = (
    "Lines are means over seeds and folds, bands the range over seeds; both axes of effort are logarithmic. "
    "Dots at their left edge are the first weights, before any episode. Time is wall time, validation included."
)
_LATENCY_TITLE = "Test measure against the time to rank a topic"
_LATENCY_LEGEND = (
    "Bars are the standard deviation over seeds; lines join rows that rank with one fit and other budgets. Time is "
    "processor time of ranking alone, logarithmic."
)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Train and compare rankers by a recipe: topic sets x rankers x folds x seeds.

    Every cell leaves one JSON line and a TREC run in --out; the tables come from these files alone. Finished cells are
    not run again, so an interrupted benchmark goes on where it stopped. Test topics are opened once, after every
    choice was made on validation topics.

    Examples:
      srd benchmark smoke
      SRD_DATA_DIR=data srd benchmark ambient --out results/ambient --markdown ambient.md
      srd benchmark my-recipe.toml --json
    """

    recipe: tyro.conf.Positional[str]
    """Name of a recipe that comes along, or a file ending in .toml."""
    out: SomeFolder = None
    """Folder of the results; by default results/NAME."""
    fresh: bool = False
    """Run finished cells again."""
    markdown: SomeFile = None
    """Also write the tables as a Markdown file; one with the recipe's marks (<!-- NAME: begin -->, <!-- NAME: end -->)
    keeps its text around them."""
    curves: SomeFile = None
    """Also draw the learning curves (.png or .svg), as `srd curves` does; a page that --markdown writes shows them."""
    latency: SomeFile = None
    """Also draw the first measure against the time to rank a topic (.png or .svg), on the page too."""
    json: bool = False
    """Print the tables as JSON."""


def parse(args: Sequence[str], prog: str) -> BenchmarkCommand:
    """The command from its words."""
    if list(args[:1]) in (["-h"], ["--help"]):
        return BenchmarkCommand(None)
    return BenchmarkCommand(parsed(Benchmark, args, prog))


@dataclass(frozen=True)
class BenchmarkCommand:
    """`srd benchmark`, ready to run."""

    options: Benchmark | None

    def run(self, output: Output) -> int:
        """Run what is not finished, and show the tables.

        Raises:
            ValueError, FileNotFoundError: a recipe that cannot be read, or topics that cannot be had.
        """
        options = self.options
        if options is None:
            output.text(_overview())
            return 0
        recipe = load_recipe(options.recipe)
        for picture in (options.curves, options.latency):
            if picture is not None:
                check_format(picture)
        out = options.out or Path("results") / recipe.name
        records = self._run_cells(recipe, out, options.fresh, output)
        found = tables(records, recipe.reference, second_reference=recipe.second_reference)
        if options.curves is not None:
            draw(panels(records), options.curves)
        if options.latency is not None:
            draw_latency(boards(found), options.latency)
        if options.markdown is not None:
            _write_markdown(options, recipe, found)
        if options.json:
            output.data({"recipe": recipe.name, "out": str(out), "tables": [table.as_dict() for table in found]})
            return 0
        for table in found:
            output.table(table.title, table.heads, table.cells, table.note)
        output.text(f"Cells and runs: {out}")
        return 0

    def _run_cells(self, recipe: Recipe, out: Path, fresh: bool, output: Output) -> list[dict[str, Any]]:
        """All cells with a progress bar, and a line for each that was run."""
        there = 0
        made_by: set[str] = set()
        with BenchmarkProgress(recipe, output) as progress:

            def report(cell: Cell, record: dict[str, Any], found: bool) -> None:
                nonlocal there
                there += found
                made_by.add(str(record["commit"]))
                progress.add(cell.topics.name, cell.row, record["wall_seconds"], found=found)
                if not found and not output.json:
                    output.notice(f"{_line(cell, record)}; {progress.left}")

            records = run_benchmark(recipe, out, fresh=fresh, report=report)
        if there:
            output.notice(f"{there} of {len(records)} cells were finished before (--fresh runs them again)")
        if made_by - {str(commit())}:
            output.notice(f"some cells were made at other commits: {', '.join(sorted(made_by))}")
        return records


def _line(cell: Cell, record: dict[str, Any]) -> str:
    """What a cell came to."""
    name, value = next(iter(record["measures"].items()))
    where = f"{cell.topics.name}, {cell.row}, fold {cell.fold}, seed {cell.seed}"
    return f"{where}: {name} {value:.4f} ({record['wall_seconds']:.1f} s)"


def _overview() -> str:
    """The help, with the recipes that come along."""
    recipes = {name: load_recipe(str(path)) for name, path in built_in().items()}
    width = max(len(name) for name in recipes)
    lines = [
        "usage: srd benchmark NAME|RECIPE.toml [--out DIR] [--fresh] [--markdown FILE] [--curves FILE]",
        "                     [--latency FILE] [--json]",
        "",
    ]
    lines += [inspect.cleandoc(Benchmark.__doc__ or ""), "", "Recipes:"]
    return "\n".join(lines + [f"  {name:<{width}}  {recipe.title}" for name, recipe in recipes.items()])


def _write_markdown(options: Benchmark, recipe: Recipe, found: Sequence[ResultTable]) -> None:
    """The tables as a page (what, by which command, of which commit), or within the marks of a page that has them."""
    path = options.markdown or Path(f"{recipe.name}.md")
    commits = sorted({name for table in found for name in table.commits})
    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    command = f"srd benchmark {options.recipe}"
    parts = [as_markdown(found)]
    for option, picture, title, legend in (
        ("curves", options.curves, _CURVES_TITLE, _CURVES_LEGEND),
        ("latency", options.latency, _LATENCY_TITLE, _LATENCY_LEGEND),
    ):
        if picture is not None:
            command += f" --{option} {picture.name}"
            place = os.path.relpath(picture, path.parent).replace(os.sep, "/")
            parts.append(f"![{title}]({place})\n\n{legend}")
    parts.append(f"Made by `{command}`, cells at commit {', '.join(commits)} ({software}).")
    part = "\n\n".join(parts)
    about = " ".join(recipe.about.split())
    write_page(path, recipe.name, part, "\n\n".join(filter(None, (f"# {recipe.title}", about, part))))
