"""A picture of comparisons: differences with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studies.figures import COLOURS, MARKERS, empty_figure, save_figure
from studies.results.stored import Compared, Stored

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_gains(lines: Sequence[Sequence[str]], stored: Stored, path: Path) -> None:
    """Draw comparisons, a line of the picture a label and a point a ranker; never half a file.

    Args:
        lines: LABEL, RECIPE, TOPICS, ROW, ROW each.
        stored: the scores.
        path: of the picture.
    """
    found = [(label, stored.compared(*names)) for label, *names in lines]
    save_figure(lambda: _figure(found), path)


def _figure(found: Sequence[tuple[str, Compared]]) -> Figure:
    """All comparisons."""
    labels = list(dict.fromkeys(label for label, _ in found))
    rankers = list(dict.fromkeys(one.rows[0] for _, one in found))
    figure, ((axes,),) = empty_figure(1, 1, (9.5, 1.4 + 0.62 * len(labels)))
    for label, one in found:
        number = rankers.index(one.rows[0])
        place = labels.index(label) + 0.62 * (number / max(1, len(rankers) - 1) - 0.5)
        look: dict[str, Any] = {"marker": MARKERS[number % len(MARKERS)], "color": COLOURS[number % len(COLOURS)]}
        look |= {"markersize": 6, "capsize": 2, "linestyle": "none", "label": one.rows[0]}
        reach = [[one.difference - one.interval[0]], [one.interval[1] - one.difference]]
        axes.errorbar(one.difference, place, xerr=reach, **look)
    axes.axvline(0, color="black", linewidth=1)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x", alpha=0.3)
    against = ", ".join(dict.fromkeys(one.rows[1] for _, one in found))
    axes.set_xlabel(f"{found[0][1].measure}, less that of {against}")
    handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    axes.legend(handles.values(), handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure
