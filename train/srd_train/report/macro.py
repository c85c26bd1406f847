"""Macro-averages: one figure for several topic sets, in which every collection counts the same.

A recipe's topic sets say which `average` they are part of and which `collection` they show (with other vectors,
another first stage). A topic's score is its mean over the sets of its collection and over seeds; a collection's is the
mean over its topics; a macro-average is the mean over collections.

A set of an average has no table of its own on a page: its means stand in one table of all.

Shapes: S seeds, T topics of a collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from srd_train.experiment.recipe import Recipe
from srd_train.report.markup import as_markdown, markdown
from srd_train.report.significance import Scores, difference_interval, paired_test, tests_against
from srd_train.report.tables import ResultTable

LEGEND = (
    "Differences with 95% intervals over topics and seeds; p of the paired t test over both, Holm-adjusted within a "
    "table. By collection nothing is adjusted."
)
_ORDERS = ("retrieval-order", "random")
"""The order that rankers were given, the first of these that all sets have: without scores it is a shuffle."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A ranker against another."""

    difference: float
    interval: tuple[float, float]
    """95% interval of the difference, over the topics of each collection and seeds."""
    p_value: float
    """Two-sided, of the paired test over topics and seeds, Holm-adjusted over the table's rows."""


@dataclass(frozen=True, kw_only=True)
class MacroRow:
    """A ranker."""

    ranker: str
    mean: float
    """The macro-average."""
    collections: Mapping[str, float]
    """Mean of each collection."""
    against: Mapping[str, Comparison]
    """Against each reference; none for itself and for rankers that read the judgments."""
    by_collection: Mapping[str, Comparison]
    """Against the given order, collection by collection; not adjusted."""


@dataclass(frozen=True, kw_only=True)
class MacroTable:
    """A macro-average, a row a ranker."""

    name: str
    measure: str
    sets: Mapping[str, tuple[str, ...]]
    """Topic sets of each collection."""
    topics: Mapping[str, int]
    """T of each collection."""
    set_means: Mapping[str, Mapping[str, float]]
    """Topic set -> every ranker that does not read the judgments -> mean."""
    references: tuple[str, ...]
    """The given order, and the recipe's reference."""
    rows: tuple[MacroRow, ...]

    @property
    def title(self) -> str:
        """What it is a mean of."""
        parts = ", ".join(f"{name} ({self.topics[name]} topics, {len(sets)} sets)" for name, sets in self.sets.items())
        return f"{self.name}: {self.measure}, mean over {parts}"


def macro_tables(tables: Sequence[ResultTable], recipe: Recipe) -> list[MacroTable]:
    """The macro-averages that a recipe names, of rankers that all their topic sets have.

    Args:
        tables: of `complete_tables`.
        recipe: says which average and collection a topic set is part of.
    """
    return [_macro_table(name, group, recipe) for name, group in averaged(tables, recipe).items()]


def averaged(tables: Sequence[ResultTable], recipe: Recipe) -> dict[str, dict[str, list[ResultTable]]]:
    """Macro-average -> collection -> the tables of its topic sets."""
    groups: dict[str, dict[str, list[ResultTable]]] = {}
    for table in tables:
        entry = recipe.entry(table.topics)
        if entry is not None and entry.average:
            groups.setdefault(entry.average, {}).setdefault(entry.collection, []).append(table)
    return groups


def page_markdown(tables: Sequence[ResultTable], recipe: Recipe) -> str:
    """All tables of a Markdown page: macro-averages with the means of their sets, and the other sets one by one.

    Args:
        tables: of `complete_tables`.
        recipe: says which average and collection a topic set is part of.
    """
    averages = macro_tables(tables, recipe)
    averaged_sets = {name for average in averages for name in average.set_means}
    apart = [table for table in tables if table.topics not in averaged_sets]
    parts = [macro_markdown(averages), *map(set_markdown, averages), as_markdown(apart) if apart else ""]
    return "\n\n".join(filter(None, parts))


def macro_markdown(tables: Sequence[MacroTable]) -> str:
    """The tables for a Markdown page: the averages, then each collection against the given order."""
    parts = []
    for table in tables:
        heads, rows = macro_cells(table)
        parts += [f"**{table.title}**", markdown(heads, rows)]
        heads, rows = collection_cells(table)
        parts += [f"{table.name}, by collection; in brackets the difference from the given order:"]
        parts.append(markdown(heads, rows))
    return "\n\n".join([*parts, LEGEND] if parts else [])


def set_markdown(table: MacroTable) -> str:
    """The means of every topic set, a line each."""
    rankers = list(dict.fromkeys(ranker for means in table.set_means.values() for ranker in means))
    rows = [
        [name, *(f"{means[ranker]:.3f}" if ranker in means else "-" for ranker in rankers)]
        for name, means in table.set_means.items()
    ]
    return f"{table.name}, by topic set:\n\n{markdown(['topic set', *rankers], rows)}"


def macro_cells(table: MacroTable) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: the macro-average and its differences."""
    heads = ["ranker", table.measure]
    for reference in table.references:
        heads += [f"less {reference}", "95% interval", "p"]
    rows = []
    for row in table.rows:
        cells = [row.ranker, f"{row.mean:.3f}"]
        for reference in table.references:
            cells += _comparison_cells(row.against.get(reference))
        rows.append(cells)
    return heads, rows


def collection_cells(table: MacroTable) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: every collection's mean, with the difference from the given order."""
    rows = []
    for row in table.rows:
        cells = [row.ranker]
        for name, mean in row.collections.items():
            difference, interval, _ = _comparison_cells(row.by_collection.get(name))
            cells.append(f"{mean:.3f}" + (f" ({difference} {interval})" if difference != "-" else ""))
        rows.append(cells)
    return ["ranker", *table.sets], rows


def _comparison_cells(found: Comparison | None) -> tuple[str, str, str]:
    """Difference, interval and p."""
    if found is None:
        return "-", "-", "-"
    low, high = found.interval
    p = "< 0.001" if found.p_value < 0.001 else f"{found.p_value:.3f}"
    return f"{found.difference:+.3f}", f"[{low:+.3f}, {high:+.3f}]", p


def _macro_table(name: str, group: Mapping[str, Sequence[ResultTable]], recipe: Recipe) -> MacroTable:
    """One macro-average."""
    tables = [table for several in group.values() for table in several]
    measure = tables[0].measures[0]
    rankers = [row for row in tables[0].rows if all(row.ranker in table.scores[measure] for table in tables)]
    scores = {
        row.ranker: {
            collection: collection_scores(several, measure, row.ranker) for collection, several in group.items()
        }
        for row in rankers
    }
    order = next((wanted for wanted in _ORDERS if wanted in scores), None)
    wanted = (order, recipe.reference)
    references = tuple(dict.fromkeys(one for one in wanted if one in scores))
    competitors = {row.ranker: list(scores[row.ranker].values()) for row in rankers if not row.reads_judgments}
    against = {one: _against(competitors, one, list(scores[one].values())) for one in references}
    return MacroTable(
        name=name,
        measure=measure,
        sets={collection: tuple(table.topics for table in several) for collection, several in group.items()},
        topics={collection: values.shape[1] for collection, values in scores[rankers[0].ranker].items()},
        set_means={
            table.topics: {
                row.ranker: float(table.scores[measure][row.ranker].mean())
                for row in table.rows
                if not row.reads_judgments
            }
            for table in tables
        },
        references=references,
        rows=tuple(
            MacroRow(
                ranker=ranker,
                mean=float(np.mean([values.mean() for values in own.values()])),
                collections={collection: float(values.mean()) for collection, values in own.items()},
                against={one: found[ranker] for one, found in against.items() if ranker in found},
                by_collection={
                    collection: _compared([values], [scores[order][collection]])
                    for collection, values in own.items()
                    if order is not None and ranker in against[order]
                },
            )
            for ranker, own in scores.items()
        ),
    )


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


def _against(
    competitors: Mapping[str, Sequence[Scores]], reference: str, its_scores: Sequence[Scores]
) -> dict[str, Comparison]:
    """Every competitor against the reference."""
    p_values = tests_against({**competitors, reference: its_scores}, reference)
    return {name: _compared(competitors[name], its_scores, p_value) for name, p_value in p_values.items()}


def _compared(first: Sequence[Scores], second: Sequence[Scores], p_value: float | None = None) -> Comparison:
    """Two rankers by their [S, T] scores of each collection, with an adjusted p value where there is one."""
    pairs = list(zip(first, second, strict=True))
    return Comparison(
        difference=float(np.mean([one.mean() - other.mean() for one, other in pairs])),
        interval=difference_interval(*pairs),
        p_value=paired_test(*pairs) if p_value is None else p_value,
    )
