"""Learning curves over the number of training queries: one table of a recipe's topic sets that differ in it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from srd_train.experiment.recipe import Recipe
from srd_train.experiment.sources import TopicsEntry
from srd_train.report.markup import difference, escaped, markdown_of, short
from srd_train.report.tables import ResultTable

_OWN: dict[str, Any] = {
    **{"name": "", "train_queries": None, "epochs_factor": 1.0, "rankers": ()},
    **{"average": "", "collection": "", "published": {}, "published_source": ""},
}
"""Fields in which topic sets of one curve may differ."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Topic sets that differ in the number of training queries alone."""

    name: str
    """The first one's, without its last part ("..., 1,000 training queries")."""
    topics: Mapping[int, str]
    """Training queries, rising -> the topic set's name."""


def sizes_of(recipe: Recipe) -> list[Sizes]:
    """The learning curves of a recipe: at least two sizes each, in the order of the recipe."""
    groups: list[tuple[TopicsEntry, dict[int, str]]] = []
    for entry in recipe.topics:
        if entry.train_queries is None:
            continue
        same = replace(entry, **_OWN)
        group = next((group for other, group in groups if other == same and entry.train_queries not in group), None)
        if group is None:
            groups.append((same, group := {}))
        group[entry.train_queries] = entry.name
    return [
        Sizes(name=first.rpartition(", ")[0] or first, topics=dict(sorted(group.items())))
        for _, group in groups
        if len(group) > 1 and (first := next(iter(group.values())))
    ]


def sizes_markdown(tables: Sequence[ResultTable], recipe: Recipe) -> str:
    """A table for each learning curve, empty where there is none: means by size, gains and cost at the largest size.

    Args:
        tables: of `complete_tables`.
        recipe: says which topic sets belong together, and the references.
    """
    by_name = {table.topics: table for table in tables}
    parts = []
    for sizes in sizes_of(recipe):
        own = {size: by_name[name] for size, name in sizes.topics.items() if name in by_name}
        if len(own) > 1:
            parts += [
                f"**{escaped(sizes.name)}: {next(iter(own.values())).measures[0]} by training queries**",
                _table(own),
            ]
    legend = (
        "Gains: differences at the largest number of training queries with 95% intervals over topics and seeds; tests "
        "are in the tables below. Training: median processor seconds of a training at that number."
    )
    return "\n\n".join([*parts, legend] if parts else [])


def _table(by_size: Mapping[int, ResultTable]) -> str:
    """The table of one learning curve.

    Args:
        by_size: training queries, rising -> the table; at least one.
    """
    largest = by_size[max(by_size)]
    measure = largest.measures[0]
    references = [name for name in (largest.second_reference, largest.reference) if name is not None]
    heads = ["ranker", *(f"{size:,}" for size in by_size), *(f"over {name}" for name in references), "training, s"]
    means = {size: {row.ranker: f"{row.means[measure]:.3f}" for row in table.rows} for size, table in by_size.items()}
    rows = []
    for ranker in dict.fromkeys(name for own in reversed(means.values()) for name in own):
        row = next((row for row in largest.rows if row.ranker == ranker), None)
        cost = "-" if row is None or not row.trained else short(row.medians["fit_cpu_seconds"])
        gains = [_gain(largest, ranker, other) for other in references]
        rows.append([ranker, *(own.get(ranker, "-") for own in means.values()), *gains, cost])
    return markdown_of(heads, rows)


def _gain(table: ResultTable, ranker: str, other: str) -> str:
    """The difference of two rows with its interval."""
    scores = table.scores[table.measures[0]]
    if ranker == other or ranker not in scores:
        return "-"
    return " ".join(difference((scores[ranker], scores[other])))
