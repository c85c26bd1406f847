"""Benchmarks: a product of lists, cell by cell; each cell leaves a JSON line and a TREC run, and is never run twice.

    results/NAME/cells/CELL.json     config, commit, versions, seed, fold, scores by topic, time, environment steps
    results/NAME/runs/CELL.run       the rankings of the test topics, which the official tool can score

A cell opens its test topics once, after everything was chosen on the validation topics. Nothing but these files goes
into the tables (`srd_train.report`). `run_cell` depends on its arguments only, so cells can run in any order and place.
Cells that differ only in their view (`srd_train.views`) are made of one fit.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from srd_agents.registry import RANKERS
from srd_gym.data.trec import write_run
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet
from srd_train.fitting import Fitted, Session, all_options, fit_ranker, rank_all
from srd_train.provenance import commit, fingerprint, versions
from srd_train.recipe import RankerEntry, Recipe, TopicsEntry, View
from srd_train.sources import folds_path, load_entry
from srd_train.training import Cut, Split, are_lists, with_lsa
from srd_train.views import check_views, config_seen, seen_through

SCHEMA_VERSION = 1
"""Of a cell's JSON line; rises when its keys change their meaning."""


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
        del parts_of_it["ranker"]["views"]  # what else the fit serves for makes no difference
        # Cells without these keep the names they had before there were such options.
        if self.topics.reshape is None:
            del parts_of_it["topics"]["reshape"]
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


def plans(recipe: Recipe) -> Iterator[Plan]:
    """The product, one topic set after the other (only one is in memory).

    Rankers that need what the set has not (a retrieval order) have no cells there.

    Raises:
        ValueError, FileNotFoundError: a topic set or ranker that cannot be had.
    """
    for ranker in recipe.rankers:
        check_views(ranker)
    for entry in recipe.topics:
        topics = load_entry(entry)
        content = fingerprint(topics)
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


def run_benchmark(
    recipe: Recipe,
    out: Path,
    *,
    fresh: bool = False,
    report: Callable[[Cell, dict[str, Any], bool], None] | None = None,
) -> list[dict[str, Any]]:
    """Run the cells that are not finished yet.

    Args:
        recipe: the product.
        out: folder of the results.
        fresh: run finished cells again.
        report: called after each cell with its record, and whether it was there already.

    Returns:
        The records of all cells, in the order of the product.
    """
    records: list[dict[str, Any]] = []
    for plan in plans(recipe):
        for fit in plan.fits:
            there = {cell.id: None if fresh else read_record(out, cell) for cell in fit}
            made = run_fit([cell for cell in fit if there[cell.id] is None], plan.topics, out)
            for cell in fit:
                record = there[cell.id]
                found = record is not None
                if record is None:
                    record = next(made)
                records.append(record)
                if report is not None:
                    report(cell, record, found)
    return records


def read_record(out: Path, cell: Cell) -> dict[str, Any] | None:
    """The record of a finished cell; None where there is none (or only a broken one)."""
    path = _record_path(out, cell)
    if not path.is_file() or not _run_path(out, cell).is_file():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    right = (
        isinstance(record, dict) and record.get("cell") == cell.id and record.get("schema_version") == SCHEMA_VERSION
    )
    return record if right else None


def run_cell(cell: Cell, topics: TopicSet, out: Path) -> dict[str, Any]:
    """Choose and train on the fold's training and validation topics, then open its test topics, once.

    Args:
        cell: the point of the product.
        topics: the whole topic set that the cell names.
        out: folder of the results.

    Returns:
        The record, as written.
    """
    return next(run_fit([cell], topics, out))


def run_fit(cells: Sequence[Cell], topics: TopicSet, out: Path) -> Iterator[dict[str, Any]]:
    """`run_cell` for cells that differ only in their view: fitted once, then ranked with in turn.

    Args:
        cells: of one fit.
        topics: the whole topic set that they name.
        out: folder of the results.

    Yields:
        The records in their order, each as soon as it is written.
    """
    if not cells:
        return
    first, whole = cells[0], _Clock()
    split = _split(first, topics)
    alone = _Clock()
    fitted = fit_ranker(
        first.ranker.ranker,
        dict(first.ranker.config),
        split,
        Session(seed=first.seed, time_budget=first.ranker.time_budget),
        grid=first.ranker.grid,
        select_by=first.select_by,
    )
    shared = _Shared(topics=topics, split=split, fitted=fitted, fit=alone.read(), until_ranking=whole.read())
    for cell in cells:
        yield _rank_and_record(cell, shared, out)


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """What cells of one fit have in common; times are (wall, processor) seconds."""

    topics: TopicSet
    split: Split
    fitted: Fitted
    fit: tuple[float, float]
    until_ranking: tuple[float, float]


def _rank_and_record(cell: Cell, shared: _Shared, out: Path) -> dict[str, Any]:
    """Open the cell's test topics, and write its run and its record."""
    test, fitted = shared.split.test, shared.fitted
    if test is None:
        raise ValueError("a benchmark fold has test topics")  # Cut with a fold always gives them
    clock = _Clock()
    rankings = rank_all(seen_through(fitted.ranker, cell.view), test, cell.depth)
    ranking = clock.read()
    evaluation = evaluate(test, rankings, cell.measures)
    ids = {topic.query_id: [topic.doc_ids[i] for i in rankings[topic.query_id]] for topic in test}
    write_run(_run_path(out, cell), ids, tag=re.sub(r"\s+", "-", cell.row))
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
    # The record comes last: where it is, the run is whole.
    with written_atomically(_record_path(out, cell)) as temporary:
        temporary.write_text(json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
    return record


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
    split = Cut(fold=fold, folds=file, fold_seed=cell.topics.fold_seed)(topics)
    return with_lsa(split, cell.topics.width) if cell.topics.vectors == "lsa" else split


def _applies(ranker: RankerEntry, topics: TopicSet) -> bool:
    """Whether the ranker can rank the set: without a retrieval order there is no such row."""
    return topics.has_retrieval_order or "retrieval order" not in RANKERS.find(ranker.ranker).needs


def _record_path(out: Path, cell: Cell) -> Path:
    """Where the cell's JSON line is."""
    return out / "cells" / f"{cell.id}.json"


def _run_path(out: Path, cell: Cell) -> Path:
    """Where the cell's run is."""
    return out / "runs" / f"{cell.id}.run"
