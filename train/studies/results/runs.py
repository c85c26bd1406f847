"""Scores bound to runs: rows that do not learn rank again, kept runs are scored again, and both give what is stored."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from srd_gym.measures import evaluate
from srd_gym.topic import TopicSet
from srd_train.experiment.benchmark import run_fit
from srd_train.experiment.cells import Cell, tasks
from srd_train.experiment.folds import fold_of
from srd_train.experiment.records import Record, grouped, run_digest
from srd_train.experiment.sources import data_root, matching, patterns
from srd_train.report.results import KEPT_RUNS, differences, place_of
from studies.named import cases, records_of
from studies.named_tables import NAME
from studies.results.stored import Stored

Tell = Callable[[str], object]
"""Takes lines that are no faults."""


def record_faults(stored: Stored) -> Iterator[str]:
    """Records that contradict themselves or others, and kept runs that are not those that their records name."""
    for name in stored.recipes:
        records = stored.records(name)
        for (topics, row, fold, seed), several in grouped(records, place_of).items():
            record, place = several[0], f"{name}: {topics}, {row}, fold {fold}, seed {seed}"
            if len(several) > 1:
                yield f"{place}: stored {len(several)} times"
            if len(record["per_topic"]) != record["topic_set"]["test"]:
                yield f"{place}: scores of {len(record['per_topic'])} topics, tested {record['topic_set']['test']}"
            rankings = record["rankings"]
            if rankings and run_digest(rankings) != record["run_digest"]:
                yield f"{place}: its run has digest {run_digest(rankings)}, its record names {record['run_digest']}"
        kept = sum(bool(record["rankings"]) for record in records)
        least = min(KEPT_RUNS, sum(bool(record["history"] and record["run_digest"]) for record in records))
        if kept < least:
            yield f"{name} keeps {kept} runs of trained rows; expected {least}, as `srd benchmark --scores` writes them"


def scored_again(stored: Stored, tell: Tell) -> Iterator[str]:
    """Scores that are not those of their runs, as far as these can be had without training; it takes minutes.

    Args:
        stored: the scores.
        tell: called with what was done of each page, and with what could not be.
    """
    if os.environ.get("OPENBLAS_CORETYPE") != "HASWELL":
        tell("no row was ranked again: the scores are of OPENBLAS_CORETYPE=HASWELL")
        return
    for name in stored.recipes:
        done: Counter[str] = Counter()
        for fault in _named(stored, tell, done) if name == NAME else _cells(name, stored, tell, done):
            yield f"{name}: {fault}"
        records = stored.records(name)
        bare = sum(record["run_digest"] is None for record in records)
        tell(
            f"{name}: {done['ranked']} runs ranked again and {done['kept']} kept ones scored again, of {len(records)}; "
            f"{bare} records are older than digests, {done['other']} of other options than their recipe's"
        )


def _cells(name: str, stored: Stored, tell: Tell, done: Counter[str]) -> Iterator[str]:
    """The differences of a recipe's cells."""
    recipe, entries = stored.recipe(name), []
    for entry in recipe.topics:
        try:
            for pattern in patterns(entry):
                matching(pattern)
        except FileNotFoundError as error:
            tell(f"{name}, {entry.name}: not scored again: {error}")
        else:
            entries.append(entry)
    names = {entry.name for entry in entries}
    left = {place_of(record): record for record in stored.records(name) if record["topic_set"]["name"] in names}
    for task in tasks(replace(recipe, topics=tuple(entries))) if entries else ():
        cells = [(cell, left.pop(place)) for cell in task.cells if (place := _place(cell)) in left]
        done["other"] += sum(cell.id != record["cell"] for cell, record in cells)
        spec = task.cells[0].ranker.resolved.spec
        if spec.trainable:
            kept = [(cell, record) for cell, record in cells if record["rankings"]]
            done["kept"] += len(kept)
            again = [_scored(cell, task.topics, record) for cell, record in kept]
            yield from differences(again, [record for _, record in kept])
        elif cells and not spec.requires_trust:
            done["ranked"] += len(cells)
            results = run_fit(task.cells, task.topics)
            yield from (f"{result.record['cell']}: {result.record['error']}" for result in results if result.failed)
            again = [result.record for result in results if not result.failed]
            yield from differences(again, [record for _, record in cells])
    yield from (f"{', '.join(map(str, place))}: its recipe has no such run" for place in left)


def _scored(cell: Cell, topics: TopicSet, record: Record) -> Record:
    """The record of a cell with the scores that its kept run has; a document that is no candidate is a ValueError."""
    split = fold_of(topics, cell.topics, cell.fold)
    places = {topic.query_id: {doc_id: i for i, doc_id in enumerate(topic.doc_ids)} for topic in split.test or ()}
    try:
        rankings = {query: [places[query][doc_id] for doc_id in ids] for query, ids in record["rankings"].items()}
    except KeyError as error:
        raise ValueError(f"{record['cell']}: its kept run has {error}, which the topics have not") from error
    scored = evaluate(split.test or (), rankings, cell.measures)
    topic_set = {**record["topic_set"], "fingerprint": topics.fingerprint}
    return {**record, "topic_set": topic_set, "per_topic": scored.per_topic, "measures": scored.mean()}


def _named(stored: Stored, tell: Tell, done: Counter[str]) -> Iterator[str]:
    """The differences of the study of named subtopics."""
    try:
        records = [record for case in cases(data_root()) for record in records_of(case)]
    except (ImportError, FileNotFoundError) as error:
        tell(f"{NAME}: not ranked again: {error}")
        return
    done["ranked"] = len(records)
    yield from differences(records, stored.records(NAME), whole=True)


def _place(cell: Cell) -> tuple[object, ...]:
    """Identity of a cell, as `place_of` its record."""
    return cell.topics.name, cell.row, cell.fold, cell.seed
