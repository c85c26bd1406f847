"""`srd benchmark`: run a recipe's cells and show its tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from srd_agents.training.machine import versions
from srd_agents.training.progress import OnProgress, Progress
from srd_train.commands.console import Output
from srd_train.commands.help import overview
from srd_train.commands.options import SomeFile, SomeFolder, parsed
from srd_train.commands.tables import print_summary, print_table
from srd_train.experiment.benchmark import Engine, FailedCellsError, in_process, run_benchmark
from srd_train.experiment.cells import Cell
from srd_train.experiment.engines import on_ray, processes
from srd_train.experiment.provenance import commit
from srd_train.experiment.recipe import Recipe, built_in, chosen_at_edges, load_recipe
from srd_train.experiment.sources import patterns
from srd_train.report.latex import as_latex
from srd_train.report.macro import collection_cells, macro_cells, macro_tables, recipe_part
from srd_train.report.markup import legend_of, marked_page, write_page, write_text
from srd_train.report.results import differences, equal_cells, read_scores, with_runs, write_scores
from srd_train.report.tables import ResultTable, complete_tables

PAGES = Path(__file__).parents[3] / "docs" / "results"
"""In a checkout: the pages of results, and their scores."""
_DIFFERS = "DIFFERS from what is stored: {}"
_USAGE = """srd benchmark NAME|FILE.toml [--out DIR] [--fresh] [--jobs N]
                     [--device NAME] [--engine local|ray] [--trust]
                     [--markdown FILE] [--latex FILE]
                     [--scores FILE [--force]] [--check FILE] [--beside FILE]
                     [--all-columns] [--json]"""


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Train and compare rankers by a configuration file: topic sets x rankers x folds x seeds.

    Each run writes its scores and a TREC run into --out, and the tables come from these files alone. The same command
    continues an interrupted benchmark. Options are chosen on validation topics, then the test topics are opened.
    A run that fails leaves its reason in --out; the others finish.

    Examples:
      srd benchmark smoke
      srd benchmark smoke --jobs 2
      SRD_DATA_DIR=data srd benchmark ambient --markdown ambient.md
      srd benchmark smoke --check smoke.parquet
      srd benchmark my-recipe.toml --json
      srd benchmark curves-and-mine.toml --beside curves.parquet --trust
    """

    recipe: tyro.conf.Positional[str]
    """Name of a configuration of the package, or a file ending in .toml."""
    out: SomeFolder = None
    """Folder of the results (default: results/NAME)."""
    fresh: bool = False
    """Repeat finished runs."""
    jobs: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Number of processes on this machine, with one thread each."""
    device: Annotated[str, tyro.conf.arg(metavar="NAME")] = ""
    """Device of the learners that have this option, as torch names it: cuda, say (default: as the configuration
    says)."""
    engine: Literal["local", "ray"] = "local"
    """Place of the runs: this machine, or the Ray cluster that RAY_ADDRESS names (else one that is running, or
    started, here)."""
    trust: bool = False
    """Let the configuration run code: rankers, measures, rewards and pruning strategies given as "module:NAME", and
    files that can hold code (ranker sb3). Give it for files that you, or people you trust, have made."""
    markdown: SomeFile = None
    """Also write the tables as Markdown. A file with the marks <!-- NAME: begin --> and <!-- NAME: end --> keeps its
    text around them."""
    latex: SomeFile = None
    """Also write the tables as LaTeX to paste (booktabs)."""
    scores: SomeFile = None
    """Also write the scores of all runs, topic by topic (.parquet), and the rankings of a sample of ten trained ones. A
    file that exists needs --force."""
    check: SomeFile = None
    """Compare the scores with a file that --scores wrote, which stays as it is: how many runs are equal, and what
    differs in the others. The exit code is 1 where one differs."""
    beside: SomeFile = None
    """Take runs that --scores wrote into this file from there, and run the others: rows of yours beside stored ones."""
    force: bool = False
    """Replace the scores in an existing file."""
    all_columns: bool = False
    """Print all columns: intervals, tests, other measures and costs."""
    json: bool = False
    """Print the tables as JSON."""

    def execute(self, output: Output) -> int:
        """Run what is not finished, and show the tables.

        Returns:
            0, or 1 where cells failed or differ from those of --check; rankers and seeds with failed cells are left
            out of the tables.

        Raises:
            ValueError, FileNotFoundError: a recipe that cannot be read, topics that are missing, or a file that is
                there and not to be replaced.
        """
        recipe = load_recipe(self.recipe, trust=self.trust)
        if self.device:
            recipe = replace(recipe, rankers=tuple(entry.on_device(self.device) for entry in recipe.rankers))
        reference = self._reference(recipe)
        stored = [] if reference is None else read_scores(reference)
        out = self.out or Path("results") / recipe.name
        records, failed = self._run_cells(recipe, out, output)
        tables, problems = complete_tables(records, recipe)
        differing = list(differences(records, stored, whole=self.check is not None))
        for line in [*map(str, problems), *map(_DIFFERS.format, differing), *chosen_at_edges(recipe, records)]:
            output.notice(line)
        if differing:
            known = os.environ.get("OPENBLAS_CORETYPE") == "HASWELL"
            more = "" if known else ", and in numpy: pages' scores are of OPENBLAS_CORETYPE=HASWELL"
            output.notice(f"notice: kinds of processors round differently in torch{more}")
        if self.scores is not None:
            write_scores(self.scores, with_runs([record for table in tables for record in table.records], out))
        if self.markdown is not None:
            write_page(self.markdown, recipe.name, recipe.title, recipe_part(tables, recipe))
        if self.latex is not None:
            write_text(self.latex, as_latex(tables))
        compared = {"file": str(self.check), "equal": equal_cells(records, stored), "of": len(stored)}
        check = None if self.check is None else {**compared, "differences": differing}
        if self.json:
            content = {"recipe": recipe.name, "out": str(out), "tables": [table.as_dict() for table in tables]}
            output.data(content | {"failed": failed, "check": check})
        else:
            self._show(tables, recipe, output)
            output.text(f"All columns: --all-columns, --markdown FILE or --json. Scores and runs: {out}")
            if check:
                output.text("{file}: {equal} of {of} equal".format(**check))
        return int(bool(failed or (check and differing)))

    def _show(self, tables: Sequence[ResultTable], recipe: Recipe, output: Output) -> None:
        """Print the tables, and the averages of their collections."""
        for table in tables:
            if self.all_columns:
                print_table(table, output, legend_of(tables) if table is tables[-1] else "")
            else:
                print_summary(table, output)
        for average in macro_tables(tables, recipe) if any(entry.average for entry in recipe.topics) else ():
            output.table(average.title, *macro_cells(average))
            output.table(f"{average.name}, by collection", *collection_cells(average))

    def _reference(self, recipe: Recipe) -> Path | None:
        """The scores to compare with: those of --check, or to be replaced, else those beside the recipe's page.

        Raises:
            ValueError: scores, or a page's own text, would be lost.
        """
        replaced = self.scores if self.scores is not None and self.scores.is_file() else None
        if replaced is not None and not self.force:
            raise ValueError(f"{replaced} exists: compare with it by --check {replaced}, or replace it with --force")
        if self.markdown is not None:
            marked_page(self.markdown, recipe.name, recipe.title)
        beside = PAGES / f"{recipe.name}.parquet"
        return self.check or replaced or (beside if self.recipe == recipe.name and beside.is_file() else None)

    def _run_cells(
        self, recipe: Recipe, out: Path, output: Output
    ) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """All cells with a progress bar, and a line for each that was run: the finished ones, and those that failed."""
        finished, done, cell_share, total = 0, 0, 0.0, recipe.cells
        failed: list[dict[str, object]] = []
        with output.progress(recipe.name, total) as advance:

            def on_progress(progress: Progress) -> None:
                nonlocal cell_share
                share = (progress.epoch + progress.topics_done / progress.topics) / progress.epochs
                share = max(cell_share, int(64 * share) / 64)  # sixty-fourths add up exactly
                advance(share - cell_share)
                cell_share = share

            def report(cell: Cell, record: dict[str, Any], was_finished: bool) -> None:
                nonlocal finished, done, cell_share
                finished, done = finished + was_finished, done + 1
                advance(1 - cell_share)
                cell_share = 0.0
                where = f"{cell.topics.name}, {cell.row}, fold {cell.fold}, seed {cell.seed}"
                counted = f"{done} of {total} runs"
                if "error" in record:
                    output.notice(
                        f"{where}: FAILED, {record['error']['type']}: {record['error']['message']}; {counted}"
                    )
                elif not was_finished and not output.json:
                    name, value = next(iter(record["measures"].items()))
                    output.notice(f"{where}: {name} {value:.4f} ({record['wall_seconds']:.1f} s); {counted}")

            try:
                records = run_benchmark(
                    recipe,
                    out,
                    fresh=self.fresh,
                    trust=self.trust,
                    engine=engine_named(self.engine, self.jobs, on_progress),
                    report=report,
                    stored=() if self.beside is None else read_scores(self.beside),
                )
            except FailedCellsError as error:
                records, failed = error.records, error.failed
                if not records:
                    raise
                output.notice(str(error))
            except KeyboardInterrupt as stop:
                again = "the same command without --fresh" if self.fresh else "the same command"
                stop.add_note(f"{again} goes on with the runs that are not finished")
                raise
        if finished:
            others = sum((one["commit"], one["versions"]) != (commit(), versions()) for one in records)
            by = f", {others} of them by other code or versions" if others else ""
            output.notice(f"{finished} of {len(records)} runs were finished before{by} (--fresh repeats them)")
        return records, failed


first_words = built_in
"""The configurations of the package."""


def parse(args: Sequence[str], prog: str) -> Benchmark:
    """The command from its words."""
    if list(args[:1]) in (["-h"], ["--help"]):
        heading = "Configurations (minutes on one processor; files needed below SRD_DATA_DIR):"
        overview(_USAGE, Benchmark.__doc__, heading, {name: _about(load_recipe(name)) for name in built_in()})
    return parsed(Benchmark, args, prog)


def _about(recipe: Recipe) -> str:
    """A recipe's line in a list."""
    needs = sorted({f"{pattern.split('/')[0]}/" for entry in recipe.topics for pattern in patterns(entry)})
    more = [] if recipe.minutes is None else [f"{recipe.minutes:g} min"]
    more += [f"needs {', '.join(needs)}"] if needs else []
    return recipe.title + (f" ({'; '.join(more)})" if more else "")


def engine_named(name: Literal["local", "ray"], jobs: int, on_progress: OnProgress | None = None) -> Engine:
    """The engine that the options name.

    Raises:
        ValueError: no jobs, or several on Ray, which has its own processes.
    """
    if name == "ray":
        if jobs != 1:
            raise ValueError(
                "--jobs is for processes of this machine; with --engine ray the cluster's processors count"
            )
        return on_ray
    return partial(in_process, on_progress=on_progress) if jobs == 1 else processes(jobs)
