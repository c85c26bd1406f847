"""`make convergence`: how soon rankers become good, with and without pruning."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import tyro

from srd_gym.files import written_atomically
from srd_train.commands.options import SomeFile, SomeFolder
from srd_train.commands.output import Output
from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.fit import commit, torch_threads, versions
from srd_train.experiment.recipe import Recipe, load_recipe
from srd_train.experiment.records import Record
from srd_train.report.markup import write_page
from srd_train.report.results import read_results
from studies.convergence.effort import SetConvergence, convergence
from studies.convergence.episode_costs import EpisodeCost, episode_costs

_COSTS_FILE = "episode-costs.json"


@dataclass(frozen=True, kw_only=True)
class Convergence:
    """Compare how soon rankers become good: against episodes, candidates evaluated, and processor time.

    Runs the recipe's cells as `srd benchmark` does (finished ones are not run again). Their files tell what it cost to
    reach fixed levels of quality, and the speed-up over the unpruned policy with its interval. Where the time of an
    episode goes is measured beside. With --markdown a page is written, with two figures beside it.

    Examples:
      SRD_DATA_DIR=data make convergence
      SRD_DATA_DIR=data make convergence ARGS="convergence-attention --markdown attention.md"
      make convergence ARGS="my-recipe.toml --out results/mine --finished"
    """

    recipe: tyro.conf.Positional[str] = "convergence"
    """Name of a recipe of the package, or a file ending in .toml."""
    out: SomeFolder = None
    """Folder of the results; by default results/NAME."""
    fresh: bool = False
    """Run finished cells again."""
    finished: bool = False
    """Run nothing: take the cells that are in the folder, all of them."""
    markdown: SomeFile = None
    """Also write the tables as a Markdown file, and two figures (.svg) beside it."""
    json: bool = False
    """Print the figures as JSON."""

    def execute(self, output: Output) -> int:
        """Run what is not finished, compare, show.

        Raises:
            ValueError, FileNotFoundError: a recipe that cannot be read, missing topics, or cells without a
                curve to compare.
            ImportError: --markdown is given and matplotlib is not installed.
        """
        from studies.convergence.page import all_tables

        if self.fresh and self.finished:
            raise ValueError("--fresh runs cells again and --finished runs none; give one of them")
        recipe = load_recipe(self.recipe)
        out = self.out or Path("results") / recipe.name
        records = _finished(recipe, out, output) if self.finished else _records(recipe, out, self.fresh, output)
        found = convergence(records, [name for name in (recipe.reference, recipe.second_reference) if name])
        costs, made_at = _costs(out, self.fresh, output)
        if self.markdown is not None:
            _write_page(self, recipe, found, costs, made_at)
        if self.json:
            output.data({"sets": [_as_json(one) for one in found], "episode_costs": [c.as_dict() for c in costs]})
            return 0
        for table in all_tables(found, costs):
            output.table(table.title, table.heads, table.rows, table.note)
        output.text(f"Cells and runs: {out}")
        return 0


def _records(recipe: Recipe, out: Path, fresh: bool, output: Output) -> Sequence[Record]:
    """All cells, with a progress bar."""
    with output.progress(recipe.name) as advance:
        return run_benchmark(recipe, out, fresh=fresh, report=lambda *_: advance(1))


def _finished(recipe: Recipe, out: Path, output: Output) -> list[Record]:
    """The finished cells in the order of the recipe's topic sets and rankers, which a folder does not have."""
    results = read_results([out])
    for problem in results.problems:
        output.notice(f"notice: {problem}")
    places = [[entry.name for entry in entries] for entries in (recipe.topics, recipe.rankers)]

    def place(record: Record) -> tuple[int, ...]:
        names = (record["topic_set"]["name"], record["ranker"])
        return tuple(known.index(n) if n in known else len(known) for n, known in zip(names, places, strict=True))

    return sorted(results.records, key=place)


def _costs(out: Path, fresh: bool, output: Output) -> tuple[list[EpisodeCost], str]:
    """What episodes cost on this machine, measured once for a folder of results; and the commit it was measured at."""
    path = out / _COSTS_FILE
    if path.is_file() and not fresh:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [EpisodeCost(**line) for line in content["costs"]], str(content["commit"])
    output.notice("measuring where the time of an episode goes")
    import_module("torch")  # before its threads are limited
    with torch_threads(1):
        costs = episode_costs()
    content = {"costs": [cost.as_dict() for cost in costs], "commit": commit(), "versions": versions()}
    with written_atomically(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return costs, str(content["commit"])


def _as_json(one: SetConvergence) -> dict[str, Any]:
    """A comparison as plain values, without the curves."""
    names = ("topics", "full_name", "measure", "normalizer", "folds", "seeds", "unlearned", "references", "commits")
    return {
        **{name: getattr(one, name) for name in names},
        "ends": [asdict(end) for end in one.ends],
        "reached": [asdict(line) for line in one.reached],
    }


def _write_page(
    options: Convergence, recipe: Recipe, found: Sequence[SetConvergence], costs: Sequence[EpisodeCost], made_at: str
) -> None:
    """The page and its figures."""
    from studies.convergence.figures import draw_curves, draw_times
    from studies.convergence.page import all_tables

    path = options.markdown or Path(f"{recipe.name}.md")
    curves, times = path.with_suffix(".svg"), path.with_name(f"{path.stem}-times.svg")
    draw_curves(found, curves)
    draw_times(found, times)
    first, *rest = all_tables(found, costs)
    commits = sorted({name for one in found for name in one.commits})
    software = ", ".join(f"{name} {number}" for name, number in versions().items())
    part = "\n\n".join(
        [
            first.as_markdown(),
            f"![Learning curves against episodes, evaluations and processor time]({_beside(curves, path)})\n\n"
            "Means over runs, bands their standard deviation. The return is that of the sampled training episodes, the "
            "mean of about the last 400; the validation curve is the best so far. All axes of effort are logarithmic.",
            f"![Test measure against time, published and ours]({_beside(times, path)})\n\n"
            "Left the published figures, hours on other vectors and another machine; right ours. Bars are the standard "
            "deviation over runs.",
            *(table.as_markdown() for table in rest),
            f'Made by `make convergence ARGS="{options.recipe}{" --finished" if options.finished else ""}"`, cells at '
            f"commit {', '.join(commits)}, "
            f"episode costs at commit {made_at} ({software}).",
        ]
    )
    about = " ".join(recipe.about.split())
    write_page(path, recipe.name, part, "\n\n".join(filter(None, (f"# {recipe.title}", about, part))))


def _beside(picture: Path, page: Path) -> str:
    """The picture's place as the page's links have it."""
    return os.path.relpath(picture, page.parent).replace(os.sep, "/")
