"""The tables of the recipes' pages, made from the scores that lie beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from srd_gym.checks import unknown
from srd_gym.reading import reading
from srd_train.experiment.recipe import Recipe, load_recipe
from srd_train.experiment.records import Record
from srd_train.report.macro import averaged, collection_scores, macro_markdown, macro_tables, page_markdown
from srd_train.report.results import AS_JSON, KEY, VERSION
from srd_train.report.significance import Scores
from srd_train.report.tables import ResultTable, Row, complete_tables
from studies.named_tables import NAME, recipe_of, tables_of


class Stored:
    """Tables by recipe and topic set, of a folder of pages with their scores; each file is read once.

    What is not there, by name, is a ValueError.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tables: dict[str, list[ResultTable]] = {}
        self._recipes: dict[str, Recipe] = {}

    @property
    def recipes(self) -> list[str]:
        """Those with scores."""
        return sorted(path.stem for path in self.folder.glob("*.parquet"))

    def tables(self, recipe: str) -> list[ResultTable]:
        """The tables of a recipe's page."""
        if recipe not in self.recipes:
            raise unknown("recipe with stored scores", recipe, self.recipes, "`srd benchmark --scores` writes them.")
        if recipe not in self._tables:
            records = read_scores(self.folder / f"{recipe}.parquet")
            names = [record["topic_set"]["name"] for record in records]
            self._recipes[recipe] = recipe_of(names) if recipe == NAME else load_recipe(recipe)
            self._tables[recipe], _ = complete_tables(records, self._recipes[recipe])
        return self._tables[recipe]

    def markdown(self, recipe: str) -> str:
        """All tables of a recipe's page."""
        tables = self.tables(recipe)
        return tables_of(tables) if recipe == NAME else page_markdown(tables, self._recipes[recipe])

    def averages(self, recipes: Sequence[str]) -> str:
        """The macro-averages of several recipes together: those of one name are one, over the collections of all."""
        tables = [table for recipe in recipes for table in self.tables(recipe)]
        first, *others = (self._recipes[recipe] for recipe in recipes)
        together = replace(first, topics=(*first.topics, *(entry for one in others for entry in one.topics)))
        return macro_markdown(macro_tables(tables, together))

    def collections(self, recipe: str, topics: str) -> list[list[ResultTable]]:
        """The tables of a topic set, or of a macro-average by this name: those of each of its collections."""
        averages = averaged(self.tables(recipe), self._recipes[recipe])
        if topics in averages:
            return list(averages[topics].values())
        return [[self.table(recipe, topics)]]

    def table(self, recipe: str, topics: str) -> ResultTable:
        """The table of a topic set."""
        by_name = {table.topics: table for table in self.tables(recipe)}
        if topics not in by_name:
            raise unknown(f"topic set of {recipe}", topics, by_name)
        return by_name[topics]

    def pairs(
        self, one: list[list[ResultTable]], ranker: str, two: list[list[ResultTable]], other: str
    ) -> list[tuple[Scores, Scores]]:
        """[S, T] scores of two rankers on each collection; the second may stand on another page of the same topics."""
        if [_topics(several) for several in one] != [_topics(several) for several in two]:
            message = f"{ranker!r} and {other!r} were not tested on the same topics; expected rows of one topic set"
            raise ValueError(message)
        return list(zip(scores_of(one, ranker), scores_of(two, other), strict=True))


def read_scores(path: Path) -> list[dict[str, Any]]:
    """The records in a file of scores: what `complete_tables` needs, without configuration, history and rankings."""
    with reading(path, "scores", "a file of `srd benchmark --scores`", "write it again from the benchmark's folder"):
        table = pq.read_table(path)
        said = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
        if said.get("version") != VERSION:
            raise ValueError(f"version {said.get('version')!r}, expected {VERSION!r}")
        cells = table["cell"].to_numpy()
        starts = [0, *(np.flatnonzero(cells[1:] != cells[:-1]) + 1).tolist(), len(cells)]
        scores = {name: table[name].to_numpy() for name in said["measures"]}
        query_ids, about = table["topic"].to_pylist(), table.take(starts[:-1]).to_pylist()
        return [
            _record(first, query_ids[one:other], {name: values[one:other] for name, values in scores.items()})
            for first, (one, other) in zip(about, pairwise(starts), strict=True)
        ]


def _record(first: Record, query_ids: Sequence[str], scores: Mapping[str, Scores]) -> dict[str, Any]:
    """The record of a cell: what its first row says of it, its topics, and its columns of scores."""
    columns = {name: values for name, values in scores.items() if first[name] is not None}
    scored = zip(*(values.tolist() for values in columns.values()), strict=True)
    each = [dict(zip(columns, values, strict=True)) for values in scored]
    return {
        **{key: value for key, value in first.items() if key not in scores},
        **{key: json.loads(first[key]) for key in AS_JSON},
        "history": {"measure": "", "records": []} if first["trained"] else None,
        "measures": {name: float(values.mean()) for name, values in columns.items()},
        "per_topic": dict(zip(query_ids, each, strict=True)),
    }


def _topics(several: list[ResultTable]) -> list[tuple[object, ...]]:
    """What makes scores of two pages comparable."""
    return [(t.records[0]["topic_set"]["fingerprint"], t.topic_ids, t.normalizer, t.measures[0]) for t in several]


def row_of(table: ResultTable, ranker: str) -> Row:
    """The row of a ranker."""
    rows = {row.ranker: row for row in table.rows}
    if ranker not in rows:
        raise unknown(f"row of {table.topics}", ranker, rows)
    return rows[ranker]


def scores_of(collections: list[list[ResultTable]], ranker: str, measure: str = "") -> list[Scores]:
    """[S, T] scores of a ranker on each collection; by the first measure unless one is named."""
    measure = measure or collections[0][0].measures[0]
    for table in (table for several in collections for table in several):
        row_of(table, ranker)
        if measure not in table.scores:
            raise unknown(f"measure of {table.topics}", measure, table.scores)
    return [collection_scores(several, measure, ranker) for several in collections]


def mean_of(scores: list[Scores]) -> float:
    """The mean over collections of the means over seeds and topics."""
    return float(np.mean([one.mean() for one in scores]))
