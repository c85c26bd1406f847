"""Benchmarks: a product of lists, cell by cell; each cell leaves a JSON line and a TREC run, and is never run twice.

A cell opens its test topics once, after everything was chosen on the validation topics. Its result depends on its
arguments only, so that cells can run in any order, process and place.

Nothing but these files goes into the tables (`srd_train.report`). Cells run in this process, in
several, or on a Ray cluster (`engines`): wherever they run, this process writes their results, so that a run
that is killed loses the cells that were running, and no others. One process writes a folder of results at a time:

NAME/cells/CELL.json     config, commit, versions, seed, fold, scores by topic, time, environment steps
NAME/runs/CELL.run       the rankings of the test topics, which ndeval can score
NAME/failed/CELL.json    why a cell has no result; gone once it has one
NAME/recipe.json         what was compared, for tables and reports
"""

from __future__ import annotations

import json
import re
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from srd_agents.own_code import import_own
from srd_agents.training.machine import versions
from srd_agents.training.progress import OnProgress
from srd_agents.training.validation import checked_topics
from srd_gym.checks import checked_rankings
from srd_gym.data import embed_topics
from srd_gym.files import remove_left, written_atomically
from srd_gym.measures import evaluate
from srd_gym.showing import short_repr
from srd_gym.topic import TOPIC_FIELDS, TopicSet
from srd_gym.trec_files import write_run
from srd_train.experiment.cells import Cell, Choice, Task, tasks
from srd_train.experiment.folds import Cut, fold_of
from srd_train.experiment.lock import locked
from srd_train.experiment.provenance import commit
from srd_train.experiment.recipe import CELLS, RECIPE_FILE, Recipe, check_recipe
from srd_train.experiment.records import SCHEMA_VERSION, OtherVersionError, read_record, run_digest
from srd_train.experiment.selection import Fitted, fit_ranker
from srd_train.experiment.sources import TopicsEntry
from srd_train.experiment.split import Split

Record = dict[str, Any]
_RANK_CHUNK = 64


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """Result of a cell."""

    __repr__ = short_repr

    record: dict[str, Any]
    """Its JSON line. Of a failed cell it says which cell it is and, under `error`, why: type, message, traceback."""
    rankings: Mapping[str, Sequence[str]] | None
    """Its run: document ids by query id, best first; None where it failed."""

    @property
    def failed(self) -> bool:
        """Whether there is no run."""
        return self.rankings is None


Seconds = NDArray[np.float64]
"""Seconds of wall time and of processor time: [2]."""
Engine = Callable[[Iterable[Task]], Iterator[tuple[Cell, CellResult]]]
"""Runs tasks, and gives their cells' results in whatever order they end (`engines`)."""


def in_process(tasks: Iterable[Task], on_progress: OnProgress | None = None) -> Iterator[tuple[Cell, CellResult]]:
    """The engine that runs one task after the other, in this process, and can tell how far a training is."""
    for task in tasks:
        yield from zip(task.cells, run_fit(task.cells, task.topics, on_progress, task.choice), strict=True)


class FailedCellsError(ValueError):
    """Cells of a benchmark failed; the others are finished.

    Args:
        records: of the finished cells, in the order of the product.
        failed: of the failed ones; each says why under `error`.
    """

    def __init__(self, records: list[Record], failed: list[Record]) -> None:
        self.records = records
        self.failed = failed
        first = failed[0]
        super().__init__(
            f"{len(failed)} of {len(records) + len(failed)} cells failed (first: {first['cell']}: "
            f"{first['error']['type']}: {first['error']['message']}); the others are finished, and the same command "
            "runs these again"
        )


def run_benchmark(
    recipe: Recipe,
    out: Path,
    *,
    fresh: bool = False,
    trust: bool = False,
    engine: Engine = in_process,
    report: Callable[[Cell, Record, bool], None] = lambda *_: None,
    stored: Iterable[Mapping[str, object]] = (),
) -> list[Record]:
    """Run the cells that are not finished yet.

    Args:
        recipe: the product.
        out: folder of the results.
        fresh: run finished cells again.
        trust: let rankers run other people's code.
        engine: where cells run: `in_process`, `engines.processes(jobs)` or `engines.on_ray`.
        report: called after each cell with its record, and whether it was there already; that of a failed cell holds
            `error`.
        stored: records of cells that need not be run either, of a file of scores; they leave nothing in `out`.

    Returns:
        The records of all cells, in the order of the product.

    Raises:
        FailedCellsError: at the end, if cells failed; it holds the records of the others.
        ValueError, FileNotFoundError: a missing topic set, a row that cannot be run on its topics, a folder that
            another run writes to, one that another version wrote, or one with a `recipe.json` of something else.
    """
    check_recipe(recipe, trust=trust)
    last: list[tuple[TopicsEntry, TopicSet]] = []
    _try_rows(recipe, out, last, trust=trust)
    ids: list[str] = []
    finished: dict[str, Record] = {}
    failed: dict[str, Record] = {}
    elsewhere = {record["cell"]: dict(record) for record in stored}

    def unfinished() -> Iterator[Task]:
        """Unfinished tasks; finished cells are reported on the way."""
        for task in tasks(recipe, last):
            left = []
            for cell in task.cells:
                ids.append(cell.id)
                record = (None if fresh else _finished(out, cell)) or elsewhere.get(cell.id)
                if record is None or not _of_its_fold(record, task.topics, cell):
                    left.append(cell)
                else:
                    finished[cell.id] = record
                    report(cell, record, True)
            if left:
                yield replace(task, cells=tuple(left))

    with locked(out):
        if (kept := out / RECIPE_FILE).is_file() and b'"rankers"' not in kept.read_bytes():
            raise ValueError(f"{kept} is not a recipe of benchmarks; give another folder with --out")
        for folder in ("cells", "runs", "failed"):
            remove_left(out / folder)
        write_recipe(out, recipe)
        for cell, result in engine(_grids_first(unfinished(), finished)):
            written = _written(out, cell, result)
            (failed if written.failed else finished)[cell.id] = written.record
            report(cell, written.record, False)
        write_recipe(out, recipe, ids)
    records = [finished[name] for name in ids if name in finished]
    if failed:
        raise FailedCellsError(records, [failed[name] for name in ids if name in failed])
    return records


def _try_rows(recipe: Recipe, out: Path, last: list[tuple[TopicsEntry, TopicSet]], *, trust: bool) -> None:
    """Refuse, before the first cell, rows that cannot be run on their topics; once all cells have ended, none is tried.

    A row ranks one topic of each kind that a set has (with and without scores, say), and is scored. Learners are not
    trained for that, and rankers of one's own are not asked; they must find what they need.

    Raises:
        ValueError: the message names topic set and row, and says why.
    """
    if sum(1 for _ in out.glob("cells/*.json")) >= recipe.cells:
        return
    made = tasks(recipe, last)
    for (topics, row), several in groupby(made, lambda task: (task.cells[0].topics.name, task.cells[0].row)):
        try:
            with warnings.catch_warnings(action="ignore"):  # cells tell
                _try_row(next(several), trust=trust)
        except Exception as error:
            raise ValueError(f"topics {topics!r}, row {row!r} cannot be run, so no cell was: {error}") from error


def _try_row(task: Task, *, trust: bool) -> None:
    """Raise what a row would raise in its cells."""
    topics, cell = task.topics, task.cells[0]
    entry, row = cell.topics, cell.ranker.resolved
    for number in entry.fold_numbers:
        fold_of(topics, entry, number)
    kinds = {tuple(getattr(topic, name) is None for name in TOPIC_FIELDS): topic for topic in topics}
    sample = topics.replace(kinds.values())
    if entry.vectors == "lsa":  # fitted later, on training texts
        sample = embed_topics(sample, lambda texts: np.zeros((len(texts), entry.width), np.float32))
    if row.spec.trainable or len(row.choices) > 1:
        checked_topics(cell.row, topics, None)
    if row.spec.trainable:
        sample.require_vectors(f"ranker {row.spec.name!r}")
    if "texts" in row.spec.needs and any(topic.doc_texts is None for topic in sample):
        raise ValueError(f"ranker {row.spec.name!r} needs document texts, and some topics have none")
    if not row.spec.trainable and ":" not in row.spec.name:  # what is wrong with a ranker of one's own, its cells say
        ranked = row.spec.build(row.configured(row.choices[0]), trust=trust).rank_batch(list(sample), cell.depth)
        evaluate(sample, dict(zip(sample.query_ids, ranked, strict=True)), cell.measures)


def _grids_first(given: Iterable[Task], finished: Mapping[str, Record]) -> Iterator[Task]:
    """The tasks; in a topic set those last whose grid another seed tries, with its choice once that has ended.

    Args:
        given: tasks, one topic set after the other.
        finished: records of the cells that have ended, by id; it grows while tasks run.
    """

    def with_choice(task: Task) -> Task:
        record = finished.get(task.cells[0].chooser.id)
        return task if record is None else replace(task, choice=Choice(record["chosen"], record.get("trials", [])))

    held: list[Task] = []
    for task in given:
        if held and held[0].topics is not task.topics:
            yield from map(with_choice, held)
            held = []
        chooser = task.cells[0].chooser
        if chooser is task.cells[0] or chooser.id in finished:
            yield with_choice(task)
        else:
            held.append(task)
    yield from map(with_choice, held)


def _finished(out: Path, cell: Cell) -> Record | None:
    """The record of a finished cell; None where there is none, or, with a warning, one that is cut off.

    Raises:
        ValueError: another version of this package wrote it.
    """
    path = out / "cells" / f"{cell.id}.json"
    if not path.is_file() or not (out / run_of(cell)).is_file():
        return None
    try:
        return read_record(path)
    except OtherVersionError as error:
        raise ValueError(f"{path}: {error}; give another folder with --out, or run it with --fresh") from error
    except ValueError as error:
        warnings.warn(f"{path}: {error} Its cell is run again", stacklevel=2)
        return None


def _of_its_fold(record: Record, topics: TopicSet, cell: Cell) -> bool:
    """Whether a record is of the test topics of its fold, which a file of folds or of twins may have changed."""
    if not (cell.topics.folds_file or cell.topics.twins):
        return True
    test = fold_of(topics, cell.topics, cell.fold).test
    return test is None or record["per_topic"].keys() == {topic.query_id for topic in test if topic.labelled}


def _written(out: Path, cell: Cell, result: CellResult) -> CellResult:
    """The result, once it is written; a failure, where it cannot be (ids that a run cannot carry)."""
    if result.rankings is not None:
        # The record goes first and comes last: where it is, the run is whole, and its own.
        (out / "cells" / f"{cell.id}.json").unlink(missing_ok=True)
        try:
            write_run(out / run_of(cell), result.rankings, tag=re.sub(r"\s+", "-", cell.row))
        except ValueError as error:
            result = failure(cell, error, result.record["wall_seconds"])
    _write_line(out / ("failed" if result.failed else "cells") / f"{cell.id}.json", result.record)
    if not result.failed:
        (out / "failed" / f"{cell.id}.json").unlink(missing_ok=True)
    return result


def write_recipe(out: Path, recipe: Recipe, cells: Sequence[str] = ()) -> None:
    """Keep a recipe beside its results, and the ids of its cells where all of them were run."""
    _write_line(out / RECIPE_FILE, asdict(recipe) | ({CELLS: list(cells)} if cells else {}))


def _write_line(path: Path, values: Record) -> None:
    """Values as a line of JSON."""
    with written_atomically(path) as temporary:
        temporary.write_text(json.dumps(values, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")


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


def run_fit(
    cells: Sequence[Cell],
    topics: TopicSet,
    on_progress: OnProgress | None = None,
    choice: Choice | None = None,
    cut: Cut | None = None,
) -> list[CellResult]:
    """Run cells that differ only in their view: fit once, then rank with each view in turn.

    Choose and train on the fold's training and validation topics, then open its test topics, once. An error ends its
    cell, or all of them where the fit failed; it is recorded, not raised.

    Args:
        cells: of one fit, at least one.
        topics: the whole topic set that they name.
        on_progress: called while a learner trains.
        choice: as `Task.choice`.
        cut: as of `fold_of`.

    Returns:
        The result of each, in their order.
    """
    begun = _now()
    try:
        split, fitted, fit_seconds = _fit(cells[0], topics, on_progress, choice, cut)
    except Exception as error:
        return [failure(cell, error, (_now() - begun)[0]) for cell in cells]
    seconds = _now() - begun
    results = []
    for cell in cells:
        begun = _now()
        try:
            rankings, record = _ranked(cell, topics, split, fitted)
            wall, cpu = (seconds + _now() - begun).tolist()
            times = {"wall_seconds": wall, "cpu_seconds": cpu, "fit_cpu_seconds": float(fit_seconds[1])}
            results.append(CellResult(record=record | times, rankings=rankings))
        except Exception as error:
            results.append(failure(cell, error, (_now() - begun)[0]))
    return results


def _fit(
    cell: Cell, topics: TopicSet, on_progress: OnProgress | None, choice: Choice | None, cut: Cut | None
) -> tuple[Split, Fitted, Seconds]:
    """Split off the fold, with vectors fitted on its training texts where the recipe says so, and fit the ranker.

    Returns:
        The fold, the ranker, and the time of training and choosing alone.
    """
    # For processes that have not read the recipe; cells come from `tasks`, which has refused what is not trusted.
    named = [cell.ranker.ranker, cell.ranker.config, cell.ranker.grid, cell.measures, cell.select_by]
    import_own(named, trust=True)
    lsa_width = cell.topics.width if cell.topics.vectors == "lsa" else None
    split = fold_of(topics, cell.topics, cell.fold, lsa_width, cut)
    begun = _now()
    fit = partial(fit_ranker, split=split, trust=True, callback=on_progress)
    row, chooser = cell.ranker.resolved, cell.chooser
    if choice is None:
        fitted = fit(row, select_by=cell.select_by, seed=chooser.seed)
        choice = Choice(fitted.chosen, fitted.trials)
        if chooser is cell:
            return split, fitted, _now() - begun
    fitted = replace(fit(row.fixed(choice.chosen), seed=cell.seed), chosen=choice.chosen, trials=choice.trials)
    return split, fitted, _now() - begun


def _ranked(cell: Cell, topics: TopicSet, split: Split, fitted: Fitted) -> tuple[dict[str, list[str]], Record]:
    """Open the cell's test topics: rank them, and score the rankings.

    Returns:
        Document ids by query id, best first; and the cell's record, but for the times it took in all.
    """
    test = cast(TopicSet, split.test)  # a named fold always has some
    view = {} if cell.view is None else dict(cell.view.config)
    begun = _now()
    ranker: Any = fitted.ranker if cell.view is None else cast(Any, fitted.ranker).ranking_with(**view)
    chunks = [test[start : start + _RANK_CHUNK] for start in range(0, len(test), _RANK_CHUNK)]
    ranked = [ranking for chunk in chunks for ranking in ranker.rank_batch(chunk, cell.depth)]
    rank_seconds = _now() - begun
    checked_rankings(ranked, test, cell.ranker.ranker, cell.depth)
    ids = {topic.query_id: [topic.doc_ids[i] for i in ranking] for topic, ranking in zip(test, ranked, strict=True)}
    evaluation = evaluate(test, dict(zip(test.query_ids, ranked, strict=True)), cell.measures)
    about, records = _about(cell), (fitted.history or {}).get("records", ())
    last = records[-1] if records else {}
    topic_set = {
        "full_name": topics.name,
        "marks": list(test.marks),
        "topics": len(topics),
        "train": len(split.train),
        "validation": len(split.validation),
        "test": len(test),
    }
    return ids, {
        **about,
        "topic_set": {**about["topic_set"], **topic_set},
        "vectors": cell.topics.vectors,
        "fitted_as": cell.ranker.name,
        "view": None if cell.view is None else view,
        "registry_name": cell.ranker.ranker,
        "reads_judgments": "judgments" in cell.ranker.resolved.spec.needs,
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
        "environment_episodes": last.get("episodes") or None,
        "environment_steps": last.get("steps") or None,
        "rank_cpu_seconds": float(rank_seconds[1]),
        "run": run_of(cell),
        "run_digest": run_digest(ids),
    }


def run_of(cell: Cell) -> str:
    """Path of the cell's run in the folder of results."""
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
