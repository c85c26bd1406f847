"""Macro-averages: one figure for several topic sets, in which every collection counts the same.

A recipe's topic sets say which `average` they are part of and which `collection` they show (with other vectors,
another first stage). A topic's score is its mean over the sets of its collection and over seeds; a collection's is the
mean over its topics; a macro-average is the mean over collections.

A set of an average has no table of its own on a page: its means stand in one table of all.

Shapes: S seeds, T topics of a collection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from srd_train.experiment.recipe import Recipe
from srd_train.report.markup import SIGNS, as_markdown, difference, escaped, markdown_of, mean_text, p_text
from srd_train.report.significance import Scores, adjusted_tests
from srd_train.report.sizes import sizes_markdown, sizes_of
from srd_train.report.tables import ResultTable

LEGEND = (
    "Differences with 95% intervals over topics and seeds; p of the paired t test over both, Holm-adjusted over a "
    "table. By collection nothing is adjusted."
)
_ORDERS = ("retrieval-order", "random")
"""The order that rankers were given, the first of these that all sets have: without scores it is a shuffle."""


@dataclass(frozen=True, kw_only=True)
class MacroTable:
    """A macro-average, a row for each ranker that all its topic sets have."""

    name: str
    measure: str
    collections: Mapping[str, Sequence[ResultTable]]
    """The tables of each collection's topic sets."""
    scores: Mapping[str, Sequence[Scores]]
    """Ranker -> its [S, T] scores of each collection."""
    competitors: tuple[str, ...]
    """Those that do not read the judgments: what is compared with references."""
    order: str | None
    """The order that rankers were given, where all sets have it."""
    references: tuple[str, ...]
    """The given order, and the recipe's reference."""
    few: frozenset[str] = frozenset()
    """Rows trained with too few seeds for a test."""

    @property
    def tested(self) -> dict[str, Sequence[Scores]]:
        """Scores of the rows that are compared."""
        return {name: self.scores[name] for name in self.competitors if name not in self.few}

    @property
    def title(self) -> str:
        """The measure, and the collections that it is a mean of."""
        counts = [scores.shape[1] for scores in next(iter(self.scores.values()))]
        parts = [
            f"{name} ({topics} topics{f', {len(sets)} sets' if len(sets) > 1 else ''})"
            for topics, (name, sets) in zip(counts, self.collections.items(), strict=True)
        ]
        return f"{self.name}: {self.measure}, mean over {', '.join(parts)}"


def macro_tables(tables: Sequence[ResultTable], recipe: Recipe) -> list[MacroTable]:
    """The macro-averages that a recipe names, of rankers that all their topic sets have.

    Args:
        tables: of `complete_tables`.
        recipe: says which average and collection a topic set is part of.
    """
    groups: dict[str, dict[str, list[ResultTable]]] = {}
    for table in tables:
        entry = recipe.entry(table.topics)
        if entry is not None and entry.average:
            groups.setdefault(entry.average, {}).setdefault(entry.collection, []).append(table)
    return [_macro_table(name, group, recipe) for name, group in groups.items()]


def _macro_table(name: str, group: Mapping[str, Sequence[ResultTable]], recipe: Recipe) -> MacroTable:
    """One macro-average."""
    tables = [table for several in group.values() for table in several]
    measure = tables[0].measures[0]
    seeds = [{row.ranker: row.seeds for row in table.rows} for table in tables]
    rows = [row for row in tables[0].rows if all(own.get(row.ranker) == row.seeds for own in seeds)]
    scores = {
        row.ranker: [collection_scores(several, measure, row.ranker) for several in group.values()] for row in rows
    }
    order = next((wanted for wanted in _ORDERS if wanted in scores), None)
    return MacroTable(
        name=name,
        measure=measure,
        collections=group,
        scores=scores,
        competitors=tuple(row.ranker for row in rows if not row.reads_judgments),
        order=order,
        references=tuple(dict.fromkeys(one for one in (order, recipe.reference) if one in scores)),
        few=frozenset(row.ranker for table in tables for row in table.rows if row.too_few_seeds),
    )


def recipe_part(
    tables: Sequence[ResultTable], recipe: Recipe, *, left_out: Collection[str] = (), legend: str | None = None
) -> str:
    """The part of a page that a benchmark makes: what the recipe says of itself, its tables and their origin.

    The tables are learning curves, macro-averages with the means of their sets, then the other sets. Of a learning
    curve only the largest size has a table of its own; scores of the others are in the file of scores.

    Args:
        tables: of `complete_tables`.
        recipe: says which average and collection a topic set is part of.
        left_out: heads of columns that the page does not show.
        legend: instead of the whole one, for a page beside others: it leaves versions out and has, of three sets or
            more with the same rows, one table of means and a whole one of the first.
    """
    averages = macro_tables(tables, recipe)
    within = [table.topics for one in averages for several in one.collections.values() for table in several]
    made = {table.topics for table in tables}
    within += [name for one in sizes_of(recipe) for name in [name for name in one.topics.values() if name in made][:-1]]
    apart = [table for table in tables if table.topics not in within]
    rows = {tuple(row.ranker for row in table.rows) for table in apart}
    parts = [recipe.about.strip(), sizes_markdown(tables, recipe), macro_markdown(averages)]
    parts += [set_markdown(one) for one in averages if any(len(several) > 1 for several in one.collections.values())]
    if legend is not None and len(apart) > 2 and len(rows) == 1:
        parts.append(sweep_markdown(apart))
        del apart[1:]
    parts.append(as_markdown(apart, legend=legend, left_out=left_out))
    return "\n\n".join(filter(None, [*parts, origin(tables, f"srd benchmark {recipe.name}", versions=legend is None)]))


def sweep_markdown(tables: Sequence[ResultTable]) -> str:
    """One table of several topic sets with the same rows: means by the first measure, a column a set."""
    measure = tables[0].measures[0]
    heads = [f"{table.topics.rpartition(', ')[2]} ({table.tested})" for table in tables]
    rows = [
        [row[0].ranker, *(f"{mean_text(one, measure)} {SIGNS[one.verdict]}".rstrip() for one in row)]
        for row in zip(*(table.rows for table in tables), strict=True)
    ]
    return f"**{measure} by topic set (test topics)**\n\n{markdown_of(['ranker', *heads], rows)}"


def origin(tables: Sequence[ResultTable], command: str, *, versions: bool = True) -> str:
    """The command that makes tables, and the commits and versions that made their cells."""
    commits = ", ".join(sorted({commit for table in tables for commit in table.commits}))
    software: dict[str, set[str]] = {}
    for record in (record for table in tables for record in table.records):
        for package, number in record["versions"].items():
            software.setdefault(package, set()).add(number)
    numbers = ", ".join(f"{package} {' and '.join(sorted(several))}" for package, several in software.items())
    return f"Made by `{command}`, cells at commit {commits}{f' ({numbers})' if versions else ''}."


def macro_markdown(tables: Sequence[MacroTable]) -> str:
    """The tables for a Markdown page: the averages, then each collection against the given order."""
    parts = []
    for table in tables:
        heads, rows = macro_cells(table)
        parts += [f"**{escaped(table.title)}**", markdown_of(heads, rows)]
        heads, rows = collection_cells(table)
        said = f"{escaped(table.name)}, by collection; in brackets the difference from the given order:"
        parts += [said, markdown_of(heads, rows)]
    return "\n\n".join([*parts, LEGEND] if parts else [])


def set_markdown(table: MacroTable) -> str:
    """The means of every topic set, a line each."""
    means = {
        one.topics: {row.ranker: f"{row.means[table.measure]:.3f}" for row in one.rows if not row.reads_judgments}
        for several in table.collections.values()
        for one in several
    }
    rankers = list(dict.fromkeys(ranker for own in means.values() for ranker in own))
    rows = [[name, *(own.get(ranker, "-") for ranker in rankers)] for name, own in means.items()]
    return f"{escaped(table.name)}, by topic set:\n\n{markdown_of(['topic set', *rankers], rows)}"


def macro_cells(table: MacroTable) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: the macro-average and its differences."""
    heads = ["ranker", table.measure]
    rows = [[ranker, f"{np.mean([values.mean() for values in own]):.3f}"] for ranker, own in table.scores.items()]
    p_values = adjusted_tests(table.tested, table.references)
    for reference in table.references:
        heads += [f"minus {reference} [95% interval]", "p"]
        for row in rows:
            p_value = p_values.get(frozenset((row[0], reference)))
            if row[0] in table.competitors and row[0] != reference:
                text = "-" if p_value is None else p_text(p_value)
                pairs = zip(table.scores[row[0]], table.scores[reference], strict=True)
                row += [" ".join(difference(*pairs)), text]
            else:
                row += ["-", "-"]
    return heads, rows


def collection_cells(table: MacroTable) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: every collection's mean, with the difference from the given order."""
    rows = []
    for ranker, own in table.scores.items():
        cells = [f"{values.mean():.3f}" for values in own]
        if table.order is not None and ranker != table.order and ranker in table.competitors:
            pairs = zip(own, table.scores[table.order], strict=True)
            cells = [f"{mean} ({' '.join(difference(pair))})" for mean, pair in zip(cells, pairs, strict=True)]
        rows.append([ranker, *cells])
    return ["ranker", *table.collections], rows


def collection_scores(tables: Sequence[ResultTable], measure: str, ranker: str) -> Scores:
    """[S, T] of a collection: means over the sets that have the topic."""
    query_ids = sorted({query_id for table in tables for query_id in table.topic_ids})
    row = {query_id: number for number, query_id in enumerate(query_ids)}
    total, sets = np.zeros((len(query_ids), len(tables[0].scores[measure][ranker]))), np.zeros((len(query_ids), 1))
    for table in tables:
        own = [row[query_id] for query_id in table.topic_ids]
        total[own] += table.scores[measure][ranker].T
        sets[own] += 1
    return (total / sets).T
