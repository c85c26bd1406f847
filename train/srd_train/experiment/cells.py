"""Cells: the points of a recipe's product, and the tasks that share one fit."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

from srd_agents.training.files import sources_of
from srd_gym.showing import short_repr
from srd_gym.topic import TopicSet
from srd_train.experiment.recipe import RankerEntry, Recipe, View
from srd_train.experiment.sources import CONTENT, TopicsEntry, load_entry

_NOT_HASHED = {
    "ranker": ("views", "needs", "select_by", "seeds", "config", "grid"),
    "topics": (
        *(name for name in CONTENT if name not in ("vectors", "width", "twins")),  # they also decide a fold's parts
        *("run_folds", "one_seed_a_fold", "epochs_factor", "rankers"),
        *("average", "collection", "published", "published_source"),
    ),
}
"""Fields that make no other cell: the fingerprint of the topics, the ranker's options or the cell's fields tell them as
well, or they are about other cells and tables."""
_LONGEST_PART = 80
"""Letters of a name that a file name takes over: file systems allow 255 in all, and the hash tells cells apart."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of the product: what it is made of decides its result, and names its files."""

    __repr__ = short_repr

    topics: TopicsEntry
    ranker: RankerEntry
    fold: int
    seed: int
    measures: tuple[str, ...]
    select_by: str
    depth: int
    topics_fingerprint: str
    """Fingerprint of the topic set's content: other topics are another cell."""
    options: Mapping[str, Any]
    """All of the ranker's options, defaults included, what is chosen among, and digests of the code and files that
    they name: other defaults, or other content, are another cell."""
    view: View | None = None
    """View by which it ranks with what was fitted; None: as it was trained."""

    @property
    def row(self) -> str:
        """Its name in the tables."""
        return self.ranker.name if self.view is None else self.view.name

    @property
    def chooser(self) -> Cell:
        """The cell that tries the grid for it: that of `grid_seed`, else itself."""
        first = self.ranker.grid_seed
        return self if first is None or first == self.seed else replace(self, seed=first, view=None)

    @property
    def id(self) -> str:
        """A file name: readable parts, and a hash of what decides the result, fields with their default left out."""
        content = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for part, left_out in _NOT_HASHED.items():
            content[part] = {
                entry.name: value
                for entry in fields(content[part])
                if entry.name not in left_out and (value := getattr(content[part], entry.name)) != entry.default
            }
        content["view"] = None if self.view is None else asdict(self.view)
        digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=list).encode()).hexdigest()[:10]
        parts = (self.topics.name, self.row, f"fold{self.fold}", f"seed{self.seed}", digest)
        return ".".join(re.sub(r"[^A-Za-z0-9_+-]+", "-", part)[:_LONGEST_PART] for part in parts)


class Choice(NamedTuple):
    """A choice on the validation topics."""

    chosen: dict[str, Any]
    """Option -> value."""
    trials: list[dict[str, Any]]
    """Every configuration tried, with its score."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Cells of one fit."""

    __repr__ = short_repr

    cells: tuple[Cell, ...]
    """At least one; they differ only in their view."""
    topics: TopicSet
    """The whole topic set that they name."""
    choice: Choice | None = None
    """Choice of the cell that `grid_seed` names on this fold, where it is known; else the task tries the grid again."""


def tasks(recipe: Recipe, kept: list[tuple[TopicsEntry, TopicSet]] | None = None) -> Iterator[Task]:
    """The product, one topic set after the other (only one is in memory).

    A ranker has no cells on a set that lacks what it needs (a retrieval order).

    Args:
        recipe: the product.
        kept: the set that an earlier call read last, put here by it; None: none is kept.

    Raises:
        ValueError, FileNotFoundError: a topic set that cannot be read.
    """
    kept = [] if kept is None else kept
    for entry in recipe.topics:
        if not kept or kept[0][0] != entry.content:
            kept[:] = [(entry.content, load_entry(entry))]
        topics = kept[0][1]
        for ranker in (one.trained_longer(entry.epochs_factor) for one in recipe.rankers):
            if not _applies(ranker, entry, topics):
                continue
            named = [ranker.ranker, ranker.config, ranker.grid, ranker.select_by, recipe.measures, entry.folds_file]
            sources = sources_of([*named, recipe.select_by], code=True)
            for fold in entry.fold_numbers:
                for seed in recipe.seeds_of(entry, ranker, fold):
                    cell = Cell(
                        topics=entry,
                        ranker=ranker,
                        fold=fold,
                        seed=seed,
                        measures=recipe.measures,
                        select_by=ranker.select_by or recipe.select_by,
                        depth=recipe.depth,
                        topics_fingerprint=topics.fingerprint,
                        options=ranker.resolved.options | ({"sources": sources} if sources else {}),
                    )
                    views = (replace(cell, view=view) for view in ranker.views)
                    yield Task(cells=(cell, *views), topics=topics)


def _applies(ranker: RankerEntry, entry: TopicsEntry, topics: TopicSet) -> bool:
    """Whether the set is to have the ranker, and has what it needs, a retrieval order, say."""
    if entry.rankers and ranker.name not in entry.rankers:
        return False
    needs = {*ranker.resolved.spec.needs, *ranker.needs}
    queries = all(topic.query_vector is not None for topic in topics) or topics.vector_width is None  # lsa comes later
    return (topics.has_retrieval_order or "retrieval order" not in needs) and (queries or "query" not in ranker.needs)
