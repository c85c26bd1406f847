"""Cells, the points of a benchmark's product: what each is made of, and how it is run.

A cell opens its test topics once, after everything was chosen on the validation topics. Its result depends on its
arguments only and nothing is written here, so that cells can run in any order, process and place (`engines`). Cells
that differ only in their view share one fit.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from srd_agents.history import OnProgress
from srd_agents.registry import RANKERS, import_own
from srd_gym.checks import checked_rankings
from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet
from srd_train.experiment.fit import Fitted, Split, all_options, commit, fit_ranker, split_topics, versions, with_lsa
from srd_train.experiment.recipe import RankerEntry, Recipe, View
from srd_train.experiment.records import SCHEMA_VERSION
from srd_train.experiment.sources import TopicsEntry, check_files, folds_path, load_entry

_NOT_HASHED = {
    "ranker": ("views", "needs"),
    "topics": ("published", "published_source", "average", "collection", "retrieve"),
}
"""What else a fit serves for, where a row stands, what tables show beside it, and what the fingerprint of the topics
tells as well: other values make no other cell."""
_RANK_CHUNK = 64
_LONGEST_PART = 80
"""Letters of a name that a file name takes over: file systems allow 255 in all, and the hash tells cells apart."""


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
        """Its name in the tables."""
        return self.ranker.name if self.view is None else self.view.name

    @property
    def id(self) -> str:
        """A file name: readable parts, and a hash of everything."""
        content = asdict(self)
        for part, keys in _NOT_HASHED.items():
            for key in keys:
                del content[part][key]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=list).encode()).hexdigest()[:10]
        parts = (self.topics.name, self.row, f"fold{self.fold}", f"seed{self.seed}", digest)
        return ".".join(re.sub(r"[^A-Za-z0-9_+-]+", "-", part)[:_LONGEST_PART] for part in parts)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Cells of one fit."""

    cells: tuple[Cell, ...]
    """At least one; they differ only in their view."""
    topics: TopicSet
    """The whole topic set that they name."""


def check_recipe(recipe: Recipe, *, trust: bool = False) -> None:
    """Refuse, before hours of work, what cannot be run.

    Args:
        recipe: the product.
        trust: let rankers run other people's code; the recipe itself cannot say so.

    Raises:
        ValueError, FileNotFoundError: a ranker that is not trusted, or a file that is missing.
    """
    for ranker in recipe.rankers:
        if RANKERS.find(ranker.ranker).foreign_code and not trust:
            raise ValueError(
                f"recipe {recipe.name!r}: row {ranker.name!r} (ranker {ranker.ranker!r}) reads a file that can run any "
                "code in it; give the command --trust if you trust the recipe and the file"
            )
        _check_weights(ranker, ranker.seeds or recipe.seeds)
    for entry in recipe.topics:
        check_files(entry)


def tasks(recipe: Recipe) -> Iterator[Task]:
    """The product, one topic set after the other (only one is in memory).

    A ranker has no cells on a set that lacks what it needs (a retrieval order).

    Raises:
        ValueError, FileNotFoundError: a topic set that cannot be read.
    """
    for entry in recipe.topics:
        topics = load_entry(entry)
        for ranker in recipe.rankers:
            if not _applies(ranker, topics):
                continue
            options = all_options(ranker.ranker, ranker.config, ranker.grid)
            for fold in entry.fold_numbers:
                for seed in ranker.seeds or recipe.seeds:
                    cell = Cell(
                        topics=entry,
                        ranker=ranker,
                        fold=fold,
                        seed=seed,
                        measures=recipe.measures,
                        select_by=recipe.select_by,
                        depth=recipe.depth,
                        topics_fingerprint=topics.fingerprint,
                        options=options,
                    )
                    views = (replace(cell, view=view) for view in ranker.views)
                    yield Task(cells=(cell, *views), topics=topics)


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """What became of a cell."""

    record: dict[str, Any]
    """Its JSON line. Of a failed cell it says which cell it is and, under `error`, why: type, message, traceback."""
    rankings: Mapping[str, Sequence[str]] | None
    """Its run: document ids by query id, best first; None where it failed."""

    @property
    def failed(self) -> bool:
        """Whether there is no run."""
        return self.rankings is None


Seconds = NDArray[np.float64]
"""Of the clock on the wall, and of processors: [2]."""
Engine = Callable[[Iterable[Task]], Iterator[tuple[Cell, CellResult]]]
"""Runs tasks, and gives their cells' results in whatever order they end (`engines`)."""


def failure(cell: Cell, error: BaseException, wall_seconds: float = 0.0) -> CellResult:
    """The result of a cell that failed.

    Args:
        cell: which.
        error: why.
        wall_seconds: how long it had run.
    """
    reason = {
        "type": type(error).__name__,
        "message": str(error) or type(error).__name__,
        "traceback": "".join(traceback.format_exception(error)),
    }
    return CellResult(rankings=None, record={**_about(cell), "error": reason, "wall_seconds": wall_seconds})


def in_process(tasks: Iterable[Task], on_progress: OnProgress | None = None) -> Iterator[tuple[Cell, CellResult]]:
    """The engine that runs one task after the other, in this process, and can tell how far a training is."""
    for task in tasks:
        yield from zip(task.cells, run_fit(task.cells, task.topics, on_progress), strict=True)


def run_fit(cells: Sequence[Cell], topics: TopicSet, on_progress: OnProgress | None = None) -> list[CellResult]:
    """Run cells that differ only in their view: fit once, then rank with each view in turn.

    Choose and train on the fold's training and validation topics, then open its test topics, once. An error ends its
    cell, or all of them where the fit failed; it is recorded, not raised.

    Args:
        cells: of one fit, at least one.
        topics: the whole topic set that they name.
        on_progress: called while a learner trains.

    Returns:
        The result of each, in their order.
    """
    begun = _now()
    try:
        fit = _fit(cells[0], topics, on_progress)
    except Exception as error:
        return [failure(cell, error, (_now() - begun)[0]) for cell in cells]
    results = []
    for cell in cells:
        begun = _now()
        try:
            results.append(_ranked(cell, fit))
        except Exception as error:
            results.append(failure(cell, error, (_now() - begun)[0]))
    return results


@dataclass(frozen=True, kw_only=True)
class _Fit:
    """What cells of one fit have in common."""

    topics: TopicSet
    split: Split
    fitted: Fitted
    seconds: Seconds
    """With splitting and vectors."""
    fit_seconds: Seconds
    """Of training and choosing alone."""


def _fit(cell: Cell, topics: TopicSet, on_progress: OnProgress | None) -> _Fit:
    """Split off the fold, with vectors fitted on its training texts where the recipe says so, and fit the ranker."""
    begun = _now()
    # For processes that have not read the recipe; cells come from `tasks`, which has refused what is not trusted.
    import_own([cell.ranker.ranker, cell.ranker.config, cell.measures, cell.select_by], trust=True)
    file = folds_path(cell.topics)
    fold = str(cell.fold) if file is not None else f"{cell.fold}/{cell.topics.folds}"
    split = _split(topics, fold, file, cell.topics.width if cell.topics.vectors == "lsa" else None)
    fit_begun = _now()
    fitted = fit_ranker(
        cell.ranker.ranker,
        cell.ranker.config,
        split,
        grid=cell.ranker.grid,
        select_by=cell.select_by,
        seed=cell.seed,
        trust=True,
        progress=on_progress,
    )
    ended = _now()
    return _Fit(topics=topics, split=split, fitted=fitted, seconds=ended - begun, fit_seconds=ended - fit_begun)


@lru_cache(maxsize=5)
def _split(topics: TopicSet, fold: str, file: Path | None, lsa_width: int | None) -> Split:
    """The fold. Kept for the next rows: fitting LSA takes longer than most of them."""
    split = split_topics(topics, fold=fold, folds=file)
    return split if lsa_width is None else with_lsa(split, lsa_width)


def _ranked(cell: Cell, fit: _Fit) -> CellResult:
    """Open the cell's test topics: rank them, and score the rankings."""
    split, fitted = fit.split, fit.fitted
    if split.test is None:
        raise ValueError("a benchmark fold has test topics")  # a named fold always has them
    test, view = split.test, {} if cell.view is None else dict(cell.view.config)
    begun = _now()
    ranker: Any = fitted.ranker if cell.view is None else cast(Any, fitted.ranker).ranking_with(**view)
    chunks = [test[start : start + _RANK_CHUNK] for start in range(0, len(test), _RANK_CHUNK)]
    ranked = [ranking for chunk in chunks for ranking in ranker.rank_batch(chunk, cell.depth)]
    rank_seconds = _now() - begun
    checked_rankings(ranked, test, cell.ranker.ranker)
    for topic, ranking in zip(test, ranked, strict=True):
        if len(ranking) != (wanted := min(cell.depth, topic.n_candidates)):
            raise ValueError(
                f"ranker {cell.ranker.ranker!r} ranked {len(ranking)} documents of topic {topic.query_id!r}, "
                f"expected {wanted}"
            )
    evaluation = evaluate(test, dict(zip(test.query_ids, ranked, strict=True)), cell.measures)
    ids = {topic.query_id: [topic.doc_ids[i] for i in ranking] for topic, ranking in zip(test, ranked, strict=True)}
    wall, cpu = (fit.seconds + _now() - begun).tolist()
    about, records = _about(cell), (fitted.history or {}).get("records", ())
    last = records[-1] if records else {}
    topic_set = {
        "full_name": fit.topics.name,
        "marks": list(test.marks),
        "topics": len(fit.topics),
        "train": len(split.train),
        "validation": len(split.validation),
        "test": len(test),
    }
    record = {
        **about,
        "topic_set": {**about["topic_set"], **topic_set},
        "vectors": cell.topics.vectors,
        "fitted_as": cell.ranker.name,
        "view": None if cell.view is None else view,
        "registry_name": cell.ranker.ranker,
        "reads_judgments": "judgments" in RANKERS.find(cell.ranker.ranker).needs,
        "select_by": cell.select_by,
        "split": dict(split.description),
        "depth": cell.depth,
        "config": {**fitted.config, **view},
        "chosen": fitted.chosen,
        "validation": fitted.validation,
        "trials": fitted.trials,
        "normalizer": evaluation.normalizer,
        "measures": evaluation.mean(),
        "per_topic": evaluation.per_topic,
        "history": fitted.history,
        "environment_episodes": last.get("episodes"),
        "environment_steps": last.get("steps"),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "fit_cpu_seconds": float(fit.fit_seconds[1]),
        "rank_cpu_seconds": float(rank_seconds[1]),
        "run": run_of(cell),
    }
    return CellResult(record=record, rankings=ids)


def run_of(cell: Cell) -> str:
    """Where the cell's run is, in the folder of results."""
    return f"runs/{cell.id}.run"


def _about(cell: Cell) -> dict[str, Any]:
    """The part of a record that says which cell it is of, and what code made it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "cell": cell.id,
        "topic_set": {"name": cell.topics.name, "fingerprint": cell.topics_fingerprint},
        "ranker": cell.row,
        "fold": cell.fold,
        "seed": cell.seed,
        "commit": commit(),
        "versions": versions(),
    }


def _now() -> Seconds:
    """Wall time, and processor time of all threads of this process."""
    return np.array([time.perf_counter(), time.process_time()])


def _check_weights(ranker: RankerEntry, seeds: Iterable[int]) -> None:
    """Refuse a row whose files are missing; whatever else is wrong with it, its cells say."""
    spec = RANKERS.find(ranker.ranker)
    for seed in () if spec.learns or spec.foreign_code else seeds:
        try:
            spec.build(spec.configure(**ranker.config), seed=seed)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"row {ranker.name!r} needs a file that is not there: {error}") from error
        except Exception:
            return


def _applies(ranker: RankerEntry, topics: TopicSet) -> bool:
    """Whether the set has what the ranker needs, a retrieval order, say."""
    needs = {*RANKERS.find(ranker.ranker).needs, *ranker.needs}
    queries = all(topic.query_vector is not None for topic in topics) or topics.vector_width is None  # lsa comes later
    return (topics.has_retrieval_order or "retrieval order" not in needs) and (queries or "query" not in ranker.needs)
