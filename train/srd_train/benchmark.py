"""Benchmarks: a product of lists, cell by cell; each cell leaves a JSON line and a TREC run, and is never run twice.

    results/NAME/cells/CELL.json     config, commit, versions, seed, fold, scores by topic, time, environment steps
    results/NAME/runs/CELL.run       the rankings of the test topics, which the official tool can score

A cell opens its test topics once, after everything was chosen on the validation topics. Nothing but these files goes
into the tables (`srd_train.report`). `run_cell` depends on its arguments only, so cells can run in any order and place.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from srd_agents.registry import RANKERS
from srd_gym.data.trec import write_run
from srd_gym.files import written_atomically
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet
from srd_train.fitting import Session, all_options, fit_ranker, rank_all
from srd_train.provenance import commit, fingerprint, versions
from srd_train.recipe import RankerEntry, Recipe, TopicsEntry
from srd_train.sources import folds_path, load_entry
from srd_train.training import Cut, Split, are_lists, with_lsa

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

    @property
    def id(self) -> str:
        """A file name: readable parts, and a hash of everything."""
        parts_of_it = asdict(self)
        if self.topics.reshape is None:  # cells without it keep the names they had before there was such an option
            del parts_of_it["topics"]["reshape"]
        content = json.dumps(parts_of_it, sort_keys=True, default=list)
        digest = hashlib.sha256(content.encode()).hexdigest()[:10]
        parts = (self.topics.name, self.ranker.name, f"fold{self.fold}", f"seed{self.seed}", digest)
        return ".".join(re.sub(r"[^A-Za-z0-9_+-]+", "-", part) for part in parts)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cells of one topic set."""

    topics: TopicSet
    cells: tuple[Cell, ...]


def plans(recipe: Recipe) -> Iterator[Plan]:
    """The product, one topic set after the other (only one is in memory).

    Rankers that need what the set has not (a retrieval order) have no cells there.

    Raises:
        ValueError, FileNotFoundError: a topic set or ranker that cannot be had.
    """
    for entry in recipe.topics:
        topics = load_entry(entry)
        content = fingerprint(topics)
        folds = entry.run_folds or tuple(range(1, entry.folds + 1))
        cells = tuple(
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
            for ranker in recipe.rankers
            if _applies(ranker, topics)
            for fold in folds
            for seed in ranker.seeds or recipe.seeds
        )
        yield Plan(topics=topics, cells=cells)


def count_cells(recipe: Recipe) -> int:
    """How many cells there are at most; for a progress bar, without loading a topic set."""
    folds = sum(len(entry.run_folds or range(entry.folds)) for entry in recipe.topics)
    return folds * sum(len(ranker.seeds or recipe.seeds) for ranker in recipe.rankers)


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
        for cell in plan.cells:
            record = None if fresh else read_record(out, cell)
            found = record is not None
            if record is None:
                record = run_cell(cell, plan.topics, out)
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
    wall, cpu = time.perf_counter(), time.process_time()
    split = _split(cell, topics)
    started = time.perf_counter()
    fitted = fit_ranker(
        cell.ranker.ranker,
        dict(cell.ranker.config),
        split,
        Session(seed=cell.seed, time_budget=cell.ranker.time_budget),
        grid=cell.ranker.grid,
        select_by=cell.select_by,
    )
    trained = time.perf_counter()
    test = split.test
    if test is None:
        raise ValueError("a benchmark fold has test topics")  # Cut with a fold always gives them
    rankings = rank_all(fitted.ranker, test, cell.depth)
    ranked = time.perf_counter()
    evaluation = evaluate(test, rankings, cell.measures)
    ids = {topic.query_id: [topic.doc_ids[i] for i in rankings[topic.query_id]] for topic in test}
    write_run(_run_path(out, cell), ids, tag=re.sub(r"\s+", "-", cell.ranker.name))
    record = {
        "schema_version": SCHEMA_VERSION,
        "cell": cell.id,
        "topic_set": {
            "name": cell.topics.name,
            "full_name": topics.name,
            "fingerprint": cell.topics_fingerprint,
            "marks": list(test.marks),
            "topics": len(topics),
            "train": len(split.train),
            "validation": len(split.validation),
            "test": len(test),
            "lists": are_lists(test),
        },
        "vectors": cell.topics.vectors,
        "ranker": cell.ranker.name,
        "registry_name": cell.ranker.ranker,
        "reads_judgments": "judgments" in RANKERS.find(cell.ranker.ranker).needs,
        "config": fitted.config,
        "chosen": fitted.chosen,
        "validation": fitted.validation,
        "trials": fitted.trials,
        "select_by": cell.select_by,
        "fold": cell.fold,
        "split": dict(split.description),
        "seed": cell.seed,
        "depth": cell.depth,
        "normalizer": evaluation.normalizer,
        "measures": evaluation.mean(),
        "per_topic": evaluation.per_topic,
        "history": fitted.history,
        "time_budget": cell.ranker.time_budget,
        "environment_episodes": fitted.environment_episodes,
        "environment_steps": fitted.environment_steps,
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "fit_seconds": trained - started,
        "rank_seconds": ranked - trained,
        "commit": commit(),
        "versions": versions(),
        "run": f"runs/{cell.id}.run",
    }
    # The record comes last: where it is, the run is whole.
    with written_atomically(_record_path(out, cell)) as temporary:
        temporary.write_text(json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
    return record


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
