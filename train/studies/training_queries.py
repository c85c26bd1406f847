"""`python -m studies training-queries`: scores by the number of training queries as a picture for a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tyro

from srd_train.commands.console import File, Output
from srd_train.experiment.recipe import Recipe, load_recipe
from srd_train.report.significance import Scores, interval
from srd_train.report.sizes import Sizes, sizes_of
from studies.figures import COLOURS, MARKERS, check_format, empty_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True, kw_only=True)
class TrainingQueries:
    """Draw how scores grow with the number of training queries, from the stored scores of a benchmark.

    Example:
      python -m studies training-queries medical --scores docs/results/medical.parquet --out docs/pictures/medical.svg
    """

    recipe: tyro.conf.Positional[str]
    """Name of a recipe of the package, or a file ending in .toml."""
    scores: File
    """The file that `srd benchmark --scores` wrote."""
    out: File
    """The picture (.png or .svg)."""
    hide: Annotated[tuple[str, ...], tyro.conf.arg(metavar="RANKER")] = ()
    """Rankers to leave out, where they would squeeze the others."""

    def execute(self, output: Output) -> int:
        """Read and draw."""
        check_format(self.out)
        recipe = load_recipe(self.recipe)
        panels = sizes_of(recipe)
        if not panels:
            raise ValueError(
                f"recipe {recipe.name!r} has no topic sets that differ in train_queries alone; list several"
            )
        curves = [read_curves(self.scores, recipe, sizes, self.hide) for sizes in panels]
        save_figure(lambda: _figure(panels, curves, recipe.measures[0]), self.out)
        output.notice(str(self.out))
        return 0


Curves = dict[str, dict[int, Scores]]
"""Ranker -> training queries -> its [S, T] scores: S seeds, T topics."""


def read_curves(path: Path, recipe: Recipe, sizes: Sizes, hide: tuple[str, ...] = ()) -> Curves:
    """The scores of every ranker at every size that it was run at, in the order of the recipe's rows.

    Args:
        path: a file of `srd benchmark --scores`.
        recipe: says which rankers there are, and the measure.
        sizes: the topic sets.
        hide: rankers to leave out.
    """
    measure = recipe.measures[0]
    table = pq.read_table(path, columns=["topics", "ranker", "seed", "topic", measure])
    curves: Curves = {}
    for ranker in (row for row in recipe.rows if row not in hide):
        for size, topics in sizes.topics.items():
            own = table.filter((pc.field("ranker") == ranker) & (pc.field("topics") == topics))
            if own.num_rows:
                own = own.sort_by([("seed", "ascending"), ("topic", "ascending")])
                seeds = len(own["seed"].unique())
                curves.setdefault(ranker, {})[size] = own[measure].to_numpy().reshape(seeds, -1)
    return curves


def _figure(panels: list[Sizes], curves: list[Curves], measure: str) -> Figure:
    """A panel for each learning curve."""
    figure, axes = empty_figure(len(panels), 1, (10, 5.4 * len(panels)))
    for (own,), sizes, of_rankers in zip(axes, panels, curves, strict=True):
        _draw(own, of_rankers)
        own.set_xscale("log")
        own.set_xticks(list(sizes.topics), [f"{size:,}" for size in sizes.topics])
        own.minorticks_off()
        own.set_xlabel("training queries")
        own.set_ylabel(f"{measure}, test")
        own.set_title(sizes.name)
        own.grid(visible=True, which="major", alpha=0.3)
        own.spines[["top", "right"]].set_visible(False)
        own.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def _draw(axes: Axes, curves: Curves) -> None:
    """A line for each ranker with its 95% interval, a point where it has one size; black where all sizes are equal."""
    learners = flat = 0
    for ranker, by_size in curves.items():
        means = [float(np.mean(scores)) for scores in by_size.values()]
        if len(means) > 1 and np.ptp(means) == 0:
            grey = str(0.5 * (flat // len(_STYLES)))
            axes.axhline(means[0], color=grey, linewidth=1.2, linestyle=_STYLES[flat % len(_STYLES)], label=ranker)
            flat += 1
            continue
        look: dict[str, Any] = {"color": COLOURS[learners % len(COLOURS)], "marker": MARKERS[learners % len(MARKERS)]}
        style = _STYLES[learners // len(COLOURS) % len(_STYLES)]
        axes.plot(list(by_size), means, label=ranker, linewidth=2, linestyle=style, **look)
        low, high = zip(*map(interval, by_size.values()), strict=True)
        axes.fill_between(list(by_size), low, high, alpha=0.12, linewidth=0, color=look["color"])
        learners += 1
