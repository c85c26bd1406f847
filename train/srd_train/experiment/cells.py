"""Cells, the points of a benchmark's product: what each is made of, and how it is run.

A cell opens its test topics once, after everything was chosen on the validation topics. What it comes to depends on
its arguments only and nothing is written here, so that cells can run in any order, process and place
(`engines`). Cells that differ only in their view (`views`) are made of one fit.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from srd_agents.registry import RANKERS
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet
from srd_train.experiment.fit import Fitted, Session, all_options, fit_ranker, rank_all
from srd_train.experiment.provenance import commit, versions
from srd_train.experiment.recipe import RankerEntry, Recipe, TopicsEntry, View
from srd_train.experiment.sources import folds_path, load_entry
from srd_train.experiment.split import Split, SplitSpec, are_lists, with_lsa
from srd_train.experiment.views import check_views, config_seen, seen_through

SCHEMA_VERSION = 1
"""Of a cell's JSON line; rises when its keys change their meaning."""
_LATER_OPTIONS: Mapping[str, Any] = {"reshape": None, "years": (), "candidates": None, "without": ()}
"""Options of topic sets that earlier versions had not, and what leaves them out: an option added goes here."""
_LATER_RANKER_OPTIONS: Mapping[str, Any] = {"without": []}
"""The same of rankers, for options whose default changes nothing."""
_BESIDE_RESULTS = ("published", "published_source")
"""What topic sets carry for the tables: other values make no other cell."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of the product: what it is made of decides its result, and names its files."""

    topics: TopicsEntry
    ranker: RankerEntry
    fold: int
    seed: int
    measures: tuple[str, ...]
    select_by: str
    depth: int
    topics_fingerprint: str
    """Of the topic set's content: other topics are another cell."""
    options: Mapping[str, Any]
    """All of the ranker's options, defaults included, and what is chosen among: other defaults are another cell."""
    view: View | None = None
    """How it ranks with what was fitted; None: as it was trained."""

    @property
    def row(self) -> str:
        """What tables call it."""
        return self.ranker.name if self.view is None else self.view.name

    @property
    def id(self) -> str:
        """A file name: readable parts, and a hash of everything."""
        parts_of_it = asdict(self)
        for key in ("views", "needs"):  # what else the fit serves for, and where, makes no difference
            del parts_of_it["ranker"][key]
        # Cells without these keep the names they had before there were such options.
        for key, unset in _LATER_OPTIONS.items():
            if parts_of_it["topics"][key] == unset:
                del parts_of_it["topics"][key]
        config = parts_of_it["options"].get("config", {})
        for key, unset in _LATER_RANKER_OPTIONS.items():
            if config.get(key) == unset:
                del config[key]
        for key in _BESIDE_RESULTS:
            del parts_of_it["topics"][key]
        if self.view is None:
            del parts_of_it["view"]
        content = json.dumps(parts_of_it, sort_keys=True, default=list)
        digest = hashlib.sha256(content.encode()).hexdigest()[:10]
        parts = (self.topics.name, self.row, f"fold{self.fold}", f"seed{self.seed}", digest)
        return ".".join(re.sub(r"[^A-Za-z0-9_+-]+", "-", part) for part in parts)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cells of one topic set."""

    topics: TopicSet
    fits: tuple[tuple[Cell, ...], ...]
    """The cells, those of one fit together."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All of them, in the order of the product."""
        return tuple(cell for fit in self.fits for cell in fit)


def plans(recipe: Recipe, *, trust: bool = False) -> Iterator[Plan]:
    """The product, one topic set after the other (only one is in memory).

    Rankers that need what the set has not (a retrieval order) have no cells there.

    Args:
        recipe: the product.
        trust: let rankers run other people's code; the recipe itself cannot say so.

    Raises:
        ValueError, FileNotFoundError: a topic set or ranker that cannot be had, or is not trusted.
    """
    for ranker in recipe.rankers:
        check_views(ranker)
        if RANKERS.find(ranker.ranker).foreign_code and not trust:
            raise ValueError(
                f"recipe {recipe.name!r}: row {ranker.name!r} (ranker {ranker.ranker!r}) reads a file that can run any "
                "code in it; give the command --trust if you trust the recipe and the file"
            )
    for entry in recipe.topics:
        topics = load_entry(entry)
        content = topics.fingerprint
        folds = entry.run_folds or tuple(range(1, entry.folds + 1))
        fits = tuple(
            _views_of(
                Cell(
                    topics=entry,
                    ranker=ranker,
                    fold=fold,
                    seed=seed,
                    measures=recipe.measures,
                    select_by=recipe.select_by,
                    depth=recipe.depth,
                    topics_fingerprint=content,
                    options=all_options(ranker.ranker, ranker.config, ranker.grid),
                )
            )
            for ranker in recipe.rankers
            if _applies(ranker, topics)
            for fold in folds
            for seed in ranker.seeds or recipe.seeds
        )
        yield Plan(topics=topics, fits=fits)


def _views_of(cell: Cell) -> tuple[Cell, ...]:
    """The cells of one fit."""
    return (cell, *(replace(cell, view=view) for view in cell.ranker.views))


def count_cells(recipe: Recipe) -> int:
    """How many cells there are at most; for a progress bar, without loading a topic set."""
    folds = sum(len(entry.run_folds or range(entry.folds)) for entry in recipe.topics)
    return folds * sum(len(ranker.seeds or recipe.seeds) * len(ranker.rows) for ranker in recipe.rankers)


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """A cell that came to its end."""

    record: dict[str, Any]
    """Its JSON line."""
    rankings: Mapping[str, Sequence[str]]
    """Its run: document ids by query id, best first."""


@dataclass(frozen=True, kw_only=True)
class FailedCell:
    """A cell that did not."""

    record: dict[str, Any]
    """A JSON line that says which cell it is and, under `error`, why: type, message and traceback."""


Result = CellResult | FailedCell


def failure(cell: Cell, error: BaseException, wall_seconds: float = 0.0) -> FailedCell:
    """What is kept of a cell that failed.

    Args:
        cell: which.
        error: why.
        wall_seconds: how long it had run.
    """
    told = {
        "type": type(error).__name__,
        "message": str(error) or type(error).__name__,
        "traceback": "".join(traceback.format_exception(error)),
    }
    return FailedCell(
        record={
            "schema_version": SCHEMA_VERSION,
            "cell": cell.id,
            "topic_set": {"name": cell.topics.name, "fingerprint": cell.topics_fingerprint},
            "ranker": cell.row,
            "fold": cell.fold,
            "seed": cell.seed,
            "error": told,
            "wall_seconds": wall_seconds,
            "commit": commit(),
            "versions": versions(),
        }
    )


def run_fit(cells: Sequence[Cell], topics: TopicSet) -> Iterator[Result]:
    """Run cells that differ only in their view: fitted once, then ranked with in turn.

    Choose and train on the fold's training and validation topics, then open its test topics, once. An error ends the
    cell it comes up in, or all of them where there is no fit; it is told, not raised.

    Args:
        cells: of one fit, at least one.
        topics: the whole topic set that they name.

    Yields:
        What each came to, in their order, as soon as it is known.
    """
    whole = _Clock()
    try:
        shared = _fit(cells[0], topics)
    except Exception as error:
        yield from (failure(cell, error, whole.read()[0]) for cell in cells)
        return
    for cell in cells:
        clock = _Clock()
        try:
            result: Result = _rank_and_record(cell, shared)
        except Exception as error:
            result = failure(cell, error, clock.read()[0])
        yield result


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """What cells of one fit have in common; times are (wall, processor) seconds."""

    topics: TopicSet
    split: Split
    fitted: Fitted
    fit: tuple[float, float]
    until_ranking: tuple[float, float]


def _fit(cell: Cell, topics: TopicSet) -> _Shared:
    """Split off the fold and fit the ranker."""
    whole = _Clock()
    split = _split(cell, topics)
    alone = _Clock()
    fitted = fit_ranker(
        cell.ranker.ranker,
        dict(cell.ranker.config),
        split,
        # A cell comes from `plans`, which has refused what the caller does not trust.
        Session(seed=cell.seed, time_budget=cell.ranker.time_budget, trust=True),
        grid=cell.ranker.grid,
        select_by=cell.select_by,
    )
    return _Shared(topics=topics, split=split, fitted=fitted, fit=alone.read(), until_ranking=whole.read())


def _rank_and_record(cell: Cell, shared: _Shared) -> CellResult:
    """Open the cell's test topics."""
    test, fitted = shared.split.test, shared.fitted
    if test is None:
        raise ValueError("a benchmark fold has test topics")  # a SplitSpec with a fold always gives them
    clock = _Clock()
    rankings = rank_all(seen_through(fitted.ranker, cell.view), test, cell.depth)
    ranking = clock.read()
    evaluation = evaluate(test, rankings, cell.measures)
    ids = {topic.query_id: [topic.doc_ids[i] for i in rankings[topic.query_id]] for topic in test}
    wall, cpu = clock.read()
    record = {
        **_what_it_is(cell, shared, test),
        "config": config_seen(fitted.config, cell.view),
        "chosen": fitted.chosen,
        "validation": fitted.validation,
        "trials": fitted.trials,
        "normalizer": evaluation.normalizer,
        "measures": evaluation.mean(),
        "per_topic": evaluation.per_topic,
        "history": fitted.history,
        "environment_episodes": fitted.environment_episodes,
        "environment_steps": fitted.environment_steps,
        "wall_seconds": shared.until_ranking[0] + wall,
        "cpu_seconds": shared.until_ranking[1] + cpu,
        "fit_seconds": shared.fit[0],
        "fit_cpu_seconds": shared.fit[1],
        "rank_seconds": ranking[0],
        "rank_cpu_seconds": ranking[1],
        "commit": commit(),
        "versions": versions(),
        "run": f"runs/{cell.id}.run",
    }
    return CellResult(record=record, rankings=ids)


def _what_it_is(cell: Cell, shared: _Shared, test: TopicSet) -> dict[str, Any]:
    """The part of a record that says what was run on what."""
    split = shared.split
    return {
        "schema_version": SCHEMA_VERSION,
        "cell": cell.id,
        "topic_set": {
            "name": cell.topics.name,
            "full_name": shared.topics.name,
            "fingerprint": cell.topics_fingerprint,
            "marks": list(test.marks),
            "topics": len(shared.topics),
            "train": len(split.train),
            "validation": len(split.validation),
            "test": len(test),
            "lists": are_lists(test),
        },
        "vectors": cell.topics.vectors,
        "ranker": cell.row,
        "fitted_as": cell.ranker.name,
        "view": None if cell.view is None else dict(cell.view.config),
        "registry_name": cell.ranker.ranker,
        "reads_judgments": "judgments" in RANKERS.find(cell.ranker.ranker).needs,
        "select_by": cell.select_by,
        "fold": cell.fold,
        "split": dict(split.description),
        "seed": cell.seed,
        "depth": cell.depth,
        "time_budget": cell.ranker.time_budget,
    }


class _Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """By the wall, and of the processor (all threads of this process)."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


def _split(cell: Cell, topics: TopicSet) -> Split:
    """The cell's fold, with vectors fitted on its training texts where the recipe wants that."""
    file = folds_path(cell.topics)
    fold = str(cell.fold) if file is not None else f"{cell.fold}/{cell.topics.folds}"
    split = SplitSpec(fold=fold, folds=file, fold_seed=cell.topics.fold_seed)(topics)
    return with_lsa(split, cell.topics.width) if cell.topics.vectors == "lsa" else split


def _applies(ranker: RankerEntry, topics: TopicSet) -> bool:
    """Whether the ranker can rank the set: without a retrieval order, say, there is no such row."""
    needs = {*RANKERS.find(ranker.ranker).needs, *ranker.needs}
    asked = all(topic.query_vector is not None for topic in topics) or topics.vector_width is None  # lsa comes later
    return (topics.has_retrieval_order or "retrieval order" not in needs) and (asked or "query" not in ranker.needs)
