"""Scores over the lists or queries of a training: pictures, and tables of how many lists it takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from srd_gym.dtypes import ScoreArray
from srd_train.report.markup import markdown
from srd_train.report.significance import Scores, interval
from srd_train.report.sizes import sizes_of
from studies.figures import COLOURS, empty_figure, look, save_figure
from studies.results.stored import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Lines = Sequence[Sequence[str]]
"""RECIPE, TOPICS, ROWS each, with * for any letters in ROWS; rows that differ in their lists alone are a curve."""
ENOUGH = 0.9
"""Mean that `reach` asks for."""
RESAMPLES = 2000
"""Of the bootstrap over topics and seeds."""
_LISTS = re.compile(r"([0-9,]+) lists$")
"""Number of lists in the name of a row."""
_STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Rows of one label on one topic set, by rising numbers of lists or queries."""

    label: str
    parts: tuple[str, str]
    """Learner and reward of the label."""
    topics: str
    measure: str
    lists: tuple[int, ...]
    """Shown in training, or training queries; 0 for a row without training, which stands alone."""
    steps: tuple[int, ...] = ()
    scores: tuple[Scores, ...]
    """[S, T] each."""

    @property
    def means(self) -> list[float]:
        """Of each row, over topics and seeds."""
        return [float(np.mean(each)) for each in self.scores]

    @property
    def level(self) -> bool:
        """Whether it is drawn as a level line."""
        return not any(self.lists) or (len(self.means) > 1 and np.ptp(self.means) == 0)


def curves_of(lines: Lines, stored: Stored) -> list[Curve]:
    """The curves of a part, in the order of their rows.

    Raises:
        ValueError: names that are not there, or rows of a curve with the same number of lists.
    """
    found: dict[tuple[str, str], list[tuple[int, int, Scores, str]]] = {}
    for recipe, topics, name in lines:
        table = stored.set(recipe, topics)
        rows = [row for row in table.competitors if fnmatchcase(row.ranker, name)]
        for row in rows or [stored.row(recipe, topics, name)]:
            label = row.ranker.rpartition(", ")[0] if row.ranker.endswith(" lists") else row.ranker
            lists, steps = (int(row.medians.get(f"environment_{key}", 0)) for key in ("episodes", "steps"))
            if told := _LISTS.search(row.ranker):  # also of those that are shown before the first episode
                lists = max(lists, int(told[1].replace(",", "")))
            scores = table.scores[table.measures[0]][row.ranker]
            found.setdefault((label, topics), []).append((lists, steps, scores, table.measures[0]))
    curves = []
    for (label, topics), points in found.items():
        every, steps_of, scores_of, measures = zip(*sorted(points, key=lambda point: point[0]), strict=True)
        if len(set(every)) < len(every):
            raise ValueError(f"{label}: two rows show the same number of lists on {topics}")
        learner, _, reward = label.partition(", ")
        values: dict[str, Any] = {"lists": every, "steps": steps_of, "scores": scores_of, "parts": (learner, reward)}
        curves.append(Curve(label=label, topics=topics, measure=measures[0], **values))
    return curves


def worth(lines: Lines, stored: Stored) -> str:
    """A table: numbers of lists of all curves but the first, and how many of the first one's give the same score.

    Between the first one's points the score is a straight line over the logarithm of the lists. Intervals: bootstrap
    over topics and seeds.
    """
    every = curves_of(lines, stored)
    rows = []
    for curve in every:
        yard = next(one for one in every if one.topics == curve.topics)
        if curve is yard:
            continue
        for lists, scores in zip(curve.lists, curve.scores, strict=True):
            low, high = interval(scores)
            as_many, *ends = (_lists(number, yard) for number in _as_many(yard, scores))
            same = as_many if {*ends} == {as_many} else f"{as_many} [{', '.join(ends)}]"
            rows.append([curve.topics, curve.label, f"{lists:,}", f"{scores.mean():.3f} [{low:.3f}, {high:.3f}]", same])
    heads = (
        "topics",
        "learning from",
        "lists",
        f"{every[0].measure} [95%]",
        f"as many lists of {every[0].label} [95%]",
    )
    return markdown(heads, rows, words=2)


def reach(lines: Lines, stored: Stored) -> str:
    """A table: the fewest lists of each curve whose mean is `ENOUGH`, or that none is."""
    rows = []
    for curve in curves_of(lines, stored):
        best = max(range(len(curve.means)), key=curve.means.__getitem__)
        low, high = interval(curve.scores[best])
        first = next((point for point, mean in enumerate(curve.means) if mean >= ENOUGH), None)
        costs = ("-", "-") if first is None else (f"{curve.lists[first]:,}", f"{curve.steps[first]:,}")
        tried = ", ".join(f"{lists:,}" for lists in curve.lists)
        highest = f"{curve.means[best]:.3f} [{low:.3f}, {high:.3f}]"
        rows.append([curve.topics, curve.label, tried, highest, *costs])
    heads = (
        "topics",
        "learner, reward",
        "lists tried",
        "highest mean [95%]",
        f"lists to {ENOUGH:.2f}",
        f"steps to {ENOUGH:.2f}",
    )
    return markdown(heads, rows, words=2)


def draw_curves(lines: Lines, stored: Stored, path: Path) -> None:
    """Draw the curves, a panel a topic set; never half a file.

    Args:
        lines: as of `curves_of`. A label is "LEARNER, REWARD": colours tell learners apart, styles rewards.
        stored: the scores.
        path: of the picture.
    """
    every = curves_of(lines, stored)
    save_figure(lambda: _figure(every, "lists shown in training"), path)


def draw_sizes(lines: Lines, stored: Stored, path: Path) -> None:
    """Draw the scores by the number of training queries, a panel a learning curve; never half a file.

    Args:
        lines: one, RECIPE and the rows to leave out, where they would squeeze the others.
        stored: the scores.
        path: of the picture.
    """
    ((name, *hidden),) = lines
    recipe, every = stored.recipe(name), []
    for sizes in sizes_of(recipe):
        tables = {size: stored.set(name, topics).scores[recipe.measures[0]] for size, topics in sizes.topics.items()}
        for row in (row for row in recipe.rows if row not in hidden):
            own = {size: scores[row] for size, scores in tables.items() if row in scores}
            values: dict[str, Any] = {"lists": tuple(own), "scores": tuple(own.values()), "parts": (row, "")}
            every += [Curve(label=row, topics=sizes.name, measure=recipe.measures[0], **values)] if own else []
    save_figure(lambda: _figure(every, "training queries"), path)


def _as_many(yard: Curve, scores: Scores) -> ScoreArray:
    """[3] lists of the yardstick that give the mean of the scores, and the ends of their 95% interval."""
    generator = np.random.default_rng(0)
    topics = generator.multinomial(scores.shape[1], np.full(scores.shape[1], 1 / scores.shape[1]), size=RESAMPLES)
    drawn = []
    for each in (*yard.scores, scores):
        seeds = generator.multinomial(len(each), np.full(len(each), 1 / len(each)), size=RESAMPLES)
        resampled = ((seeds @ each) * topics).sum(axis=1) / each.size
        drawn.append(np.concatenate([[each.mean()], resampled]))
    *rising, value = np.array(drawn)
    known = np.maximum.accumulate(np.array(rising), axis=0).T
    logs = np.array([np.interp(v, row, np.log(yard.lists)) for v, row in zip(value, known, strict=True)])
    return np.exp([logs[0], *np.quantile(logs[1:], (0.025, 0.975))])


def _lists(number: float, yard: Curve) -> str:
    """A number of lists in hundreds, or that it is outside what was tried."""
    least, most = yard.lists[0], yard.lists[-1]
    if number <= least * (1 + 1e-9):
        return f"at most {least:,}"
    return f"at least {most:,}" if number >= most * (1 - 1e-9) else f"{100 * round(number / 100):,}"


def _figure(every: Sequence[Curve], counted: str) -> Figure:
    """A panel for each topic set."""
    panels = list(dict.fromkeys(curve.topics for curve in every))
    figure, axes = empty_figure(len(panels), 1, (10, 4.6 * len(panels)))
    learners, rewards = (list(dict.fromkeys(one.parts[part] for one in every if not one.level)) for part in (0, 1))
    for (own,), topics in zip(axes, panels, strict=True):
        shown = [curve for curve in every if curve.topics == topics]
        _draw(own, shown, learners, rewards)
        ticks = sorted({lists for curve in shown for lists in curve.lists if lists})
        own.set_xscale("log")
        own.set_xticks(ticks, [f"{lists:,}" for lists in ticks])
        own.minorticks_off()
        own.set_xlabel(counted)
        own.set_ylabel(f"{shown[0].measure}, test")
        own.set_title(topics)
        own.grid(visible=True, which="major", alpha=0.3)
        own.spines[["top", "right"]].set_visible(False)
        own.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def _draw(axes: Axes, shown: Sequence[Curve], learners: Sequence[str], rewards: Sequence[str]) -> None:
    """Lines with their 95% intervals; level ones in black and grey where training changes nothing."""
    level = 0
    for curve in shown:
        if curve.level:
            grey: dict[str, Any] = {
                "color": str(0.5 * (level // len(_STYLES))),
                "linestyle": _STYLES[level % len(_STYLES)],
            }
            axes.axhline(curve.means[0], label=curve.label, linewidth=1.2, **grey)
            level += 1
            continue
        learner, reward = (names.index(part) for names, part in zip((learners, rewards), curve.parts, strict=True))
        style = _STYLES[(reward + learner // len(COLOURS)) % len(_STYLES)]
        # Hollow markers tell rewards apart where a curve is one point.
        shape = {"linestyle": style, "fillstyle": "none" if reward else "full", **look(learner)}
        axes.plot(curve.lists, curve.means, label=curve.label, linewidth=2, **shape)
        low, high = zip(*map(interval, curve.scores), strict=True)
        axes.fill_between(curve.lists, low, high, alpha=0.12, linewidth=0, color=look(learner)["color"])
