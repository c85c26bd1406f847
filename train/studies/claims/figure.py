"""The figure of results.md: what each learner gains over MMR, on every topic set of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from srd_train.report.significance import difference_interval
from studies.claims.book import Pivot
from studies.claims.stored import Stored
from studies.figures import COLOURS, MARKERS, empty_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_gains(pivot: Pivot, stored: Stored, path: Path) -> None:
    """Draw the differences from the table's first reference with their 95% intervals; never half a file."""
    save_figure(lambda: _figure(pivot, pivot.above[0], stored), path)


def _figure(pivot: Pivot, against: str, stored: Stored) -> Figure:
    """A line a topic set, a point a learner."""
    learners = {head: name for head, name in pivot.columns.items() if name not in pivot.above}
    figure, ((axes,),) = empty_figure(1, 1, (9.5, 1.2 + 0.62 * len(pivot.lines)))
    for number, (head, name) in enumerate(learners.items()):
        offset = 0.62 * (number / max(1, len(learners) - 1) - 0.5)
        for line, where in enumerate(pivot.lines.values()):
            recipe, _, topics = where.partition(": ")
            table = stored.table(recipe, topics)
            scores = table.scores[table.measures[0]]
            if name not in scores:
                continue
            mean = float(scores[name].mean() - scores[against].mean())
            low, high = difference_interval((scores[name], scores[against]))
            look: dict[str, Any] = {"marker": MARKERS[number % len(MARKERS)], "color": COLOURS[number % len(COLOURS)]}
            look |= {"markersize": 6, "capsize": 2, "linestyle": "none", "label": head.replace("`", "")}
            axes.errorbar(mean, line + offset, xerr=[[mean - low], [high - mean]], **look)
    axes.axvline(0, color="black", linewidth=1)
    axes.set_yticks(range(len(pivot.lines)), [label.replace("`", "") for label in pivot.lines])
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.set_xlabel("alpha_nDCG@10, less that of MMR with lambda chosen")
    handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    axes.legend(handles.values(), handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure
