"""Tables of the recipes' pages, and comparisons of their rows, from the scores that lie beside the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from srd_gym.checks import unknown
from srd_train.experiment.recipe import Recipe, load_recipe
from srd_train.experiment.records import Record
from srd_train.report.macro import collection_scores, macro_tables, recipe_part
from srd_train.report.results import read_scores
from srd_train.report.significance import (
    Scores,
    Test,
    adjusted_tests,
    difference_interval,
    equivalence_test,
    paired_test,
)
from srd_train.report.tables import FEWEST_SEEDS, SIGNIFICANT, ResultTable, Row, complete_tables
from studies.named_tables import NAME, part_of, recipe_of

MARGIN = 0.01
"""Of equivalence."""
LEGEND = "[How to read the columns](../results.md#how-to-read-them)."
"""Of every page of a recipe."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Two rows of one table."""

    recipe: str
    topics: str
    measure: str
    rows: tuple[str, str]
    means: tuple[float, float]
    interval: tuple[float, float]
    """95%, of the difference."""
    p: float | None
    """Of equal means, adjusted over the table; None where a row is not tested."""
    equivalent: float | None
    """p of a difference of MARGIN or more, adjusted likewise."""
    few: str
    """Rows trained with too few seeds for a test, and their seeds."""

    @property
    def difference(self) -> float:
        """Of the means."""
        return self.means[0] - self.means[1]

    @property
    def verb(self) -> str:
        """The one that the tests allow; empty where there was none."""
        if self.p is None or self.equivalent is None:
            return ""
        if self.p < SIGNIFICANT:
            return "above" if self.difference > 0 else "below"
        if self.equivalent < SIGNIFICANT:
            return f"equivalent within {MARGIN:g}"
        # The interval is of one comparison: it may leave out the 0 that the adjusted test does not.
        low, high = self.interval
        return "no significant difference" + ("" if low <= 0 <= high else " after adjustment")


@dataclass(frozen=True, kw_only=True)
class _Family:
    """Rows that are tested together."""

    scores: Mapping[str, Sequence[Scores]]
    """Row -> its [S, T] scores of each collection."""
    references: tuple[str, ...]
    """Rows that the page's table tests the others against."""
    seeds: Mapping[str, int]
    """Row -> its seeds, where they are too few."""
    _adjusted: dict[tuple[bool, Test], dict[frozenset[str], float]] = field(default_factory=dict)
    """Whether they are the tests that the table shows, and the test -> p values; filled when they are asked for."""

    def p_value(self, rows: tuple[str, str], test: Test) -> float | None:
        """Adjusted over the tests that the page's table shows, or, for a pair that it does not test, over all pairs."""
        shown = bool(set(rows) & set(self.references))
        if (shown, test) not in self._adjusted:
            tested = {name: scores for name, scores in self.scores.items() if name not in self.seeds}
            self._adjusted[shown, test] = adjusted_tests(tested, self.references if shown else tested, test)
        return self._adjusted[shown, test].get(frozenset(rows))


class Stored:
    """Tables by recipe and topic set, of a folder of pages with their scores; each file is read once.

    Names of recipes, topic sets and rows that are not there are a ValueError.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, tuple[Recipe, list[Record], list[ResultTable]]] = {}
        self._families: dict[tuple[str, str, str], _Family] = {}

    @property
    def recipes(self) -> list[str]:
        """Those with scores."""
        return sorted(path.stem for path in self.folder.glob("*.parquet"))

    def page(self, recipe: str) -> str:
        """File name of the page that holds a recipe's part: one called like it, unless another has its mark."""
        mark = f"<!-- {recipe}: begin -->"
        marked = (path for path in sorted(self.folder.glob("*.md")) if mark in path.read_text(encoding="utf-8"))
        return next((path.name for path in marked), f"{recipe}.md")

    def recipe(self, name: str) -> Recipe:
        """The recipe of stored scores."""
        return self._of(name)[0]

    def records(self, recipe: str) -> list[Record]:
        """All records of a recipe."""
        return self._of(recipe)[1]

    def tables(self, recipe: str) -> list[ResultTable]:
        """The tables of a recipe's page."""
        return self._of(recipe)[2]

    def _of(self, name: str) -> tuple[Recipe, list[Record], list[ResultTable]]:
        """A recipe, its records and its tables."""
        if name not in self._read:
            if name not in self.recipes:
                raise unknown("recipe with stored scores", name, self.recipes, "`srd benchmark --scores` writes them.")
            records = read_scores(self.folder / f"{name}.parquet")
            recipe = (
                recipe_of([record["topic_set"]["name"] for record in records]) if name == NAME else load_recipe(name)
            )
            tables, _ = complete_tables(records, recipe)
            self._read[name] = (recipe, [*records], tables)
        return self._read[name]

    def commits(self, recipe: str) -> set[str]:
        """Commits of its cells."""
        return {commit for table in self.tables(recipe) for commit in table.commits}

    def part(self, recipe: str) -> str:
        """The part of a recipe's page that is made from its scores."""
        tables = self.tables(recipe)
        if recipe == NAME:
            return part_of(tables)
        left_out = {"wins / ties / losses", "episodes"}
        if not recipe.endswith("-paper"):  # papers' tables have these
            left_out |= {"alpha_nDCG@5", "StRecall@5"}
        return recipe_part(tables, self.recipe(recipe), left_out=left_out, legend=LEGEND)

    def compared(self, recipe: str, topics: str, one: str, other: str, measure: str = "") -> Compared:
        """Two rows on a topic set, or on a macro-average of this name; by the first measure unless one is named."""
        measure = measure or self.tables(recipe)[0].measures[0]
        if (recipe, topics, measure) not in self._families:
            self._families[recipe, topics, measure] = self._family(recipe, topics, measure)
        family = self._families[recipe, topics, measure]
        for name in (one, other):
            if name not in family.scores:
                raise unknown(f"row of {topics}", name, family.scores)
        pairs = list(zip(family.scores[one], family.scores[other], strict=True))
        means = [float(np.mean([scores.mean() for scores in several])) for several in zip(*pairs, strict=True)]
        few = [f"`{name}` has {family.seeds[name]}" for name in (one, other) if name in family.seeds]
        return Compared(
            recipe=recipe,
            topics=topics,
            measure=measure,
            rows=(one, other),
            means=(means[0], means[1]),
            interval=difference_interval(*pairs),
            p=family.p_value((one, other), paired_test),
            equivalent=family.p_value((one, other), _within_margin),
            few=" and ".join(few),
        )

    def set(self, recipe: str, topics: str) -> ResultTable:
        """The table of a topic set, or of the first set of a macro-average."""
        return self._sets(recipe, topics)[0]

    def row(self, recipe: str, topics: str, name: str) -> Row:
        """A row of a topic set, or of the first set of a macro-average."""
        rows = {row.ranker: row for row in self.set(recipe, topics).rows}
        if name not in rows:
            raise unknown(f"row of {topics}", name, rows)
        return rows[name]

    def rows(self, recipe: str, topics: str, but: str) -> list[Row]:
        """The rows of a topic set that read no judgments, but for one."""
        rows = [row for row in self.set(recipe, topics).rows if not row.reads_judgments]
        if but not in [row.ranker for row in rows]:
            raise unknown(f"row of {topics}", but, [row.ranker for row in rows])
        return [row for row in rows if row.ranker != but]

    def _sets(self, recipe: str, topics: str) -> list[ResultTable]:
        """The tables of a topic set or macro-average."""
        tables = self.tables(recipe)
        averages = {entry.name: entry.average for entry in self.recipe(recipe).topics if entry.average}
        found = [table for table in tables if topics in (table.topics, averages.get(table.topics))]
        if not found:
            raise unknown(f"topic set of {recipe}", topics, [*(table.topics for table in tables), *averages.values()])
        return found

    def _family(self, recipe: str, topics: str, measure: str) -> _Family:
        """The rows of a topic set's table, or of a macro-average's."""
        sets = self._sets(recipe, topics)
        if measure not in sets[0].measures:
            raise unknown(f"measure of {recipe}", measure, sets[0].measures)
        seeds = {row.ranker: len(row.seeds) for table in sets for row in table.rows if row.too_few_seeds}
        if topics != sets[0].topics:
            (average,) = (one for one in macro_tables(self.tables(recipe), self.recipe(recipe)) if one.name == topics)
            groups = average.collections.values()
            scores = {
                name: [collection_scores(group, measure, name) for group in groups] for name in average.competitors
            }
            references: tuple[str, ...] = average.references
        else:
            (table,) = sets
            scores = {row.ranker: [table.scores[measure][row.ranker]] for row in table.competitors}
            references = tuple(name for name in (table.reference, table.second_reference) if name is not None)
        return _Family(scores=scores, references=references, seeds=seeds)


def _within_margin(*pairs: tuple[Scores, Scores]) -> float:
    """Test of a difference of MARGIN or more: its p value."""
    return equivalence_test(MARGIN, *pairs)


def few_text(compared: Compared) -> str:
    """Why two rows were not tested."""
    return f"not tested: {compared.few} of the {FEWEST_SEEDS} seeds that a test needs"
