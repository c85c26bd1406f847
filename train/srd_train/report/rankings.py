"""The rankings that the page lets one look into: documents by rank, what each adds, the subtopics it covers, its text.

Rankings come from the TREC runs, gains and texts from the topics. Topics are read again for that; where they cannot be
had, or are no longer those that the records are about, the rankings are shown as they are, and the reason with them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from srd_gym.measures import parse_measure
from srd_gym.measures.ideal import IdealPool
from srd_gym.measures.label_free import LabelFree
from srd_gym.topic import GradeArray, Topic, TopicSet
from srd_gym.trec_files import Run, read_run
from srd_train.experiment.records import Record
from srd_train.report.tables import Problem, ResultTable

TEXT_LENGTH = 320
"""Characters of a text that are shown."""
_GOLDEN = (5**0.5 - 1) / 2
"""Places by the fractions of its multiples: however many of the first are taken, they are evenly spaced."""

Ranked = tuple[str, int, Sequence[str]]
"""Ranker, seed, and document ids, best first."""
Rankings = dict[str, list[Ranked]]
"""Query id -> its lists."""


def rankings_of(
    table: ResultTable, topics: TopicSet | None, budget: int
) -> tuple[list[dict[str, Any]], int, list[Problem]]:
    """The rankings of a table, topic by topic.

    Args:
        table: the topic set's numbers.
        topics: its topics; None: they could not be loaded, and there are neither subtopics nor texts nor gains.
        budget: bytes that the rankings may take as JSON; where all take more, evenly spaced topics are shown.

    Returns:
        One for each topic shown, how many topics have rankings, and what could not be read or was left out.
    """
    rankings, problems = _rankings(table.records)
    ids = list(rankings)
    entries: dict[int, dict[str, object]] = {}
    for place in np.argsort(np.arange(len(ids)) * _GOLDEN % 1).tolist():
        entry = _entry(ids[place], rankings[ids[place]], topics, table)
        budget -= len(json.dumps(entry, separators=(",", ":"))) + 1
        if budget < 0:
            break
        entries[place] = entry
    if len(entries) < len(ids):
        many = f"the rankings of {len(entries):,} of {len(ids):,} topics are shown, evenly spaced"
        problems.append(Problem(kind="left out", what=table.topics, why=many))
    return [entries[place] for place in sorted(entries)], len(ids), problems


def _entry(query_id: str, lists: Sequence[Ranked], topics: TopicSet | None, table: ResultTable) -> dict[str, object]:
    """One topic with its rankings.

    Returns:
        `id`, `query`, `candidates`, if judged `subtopics` (pairs of id or text, and candidates that cover it), `docs`
        (id, text, covered subtopics), `lists` (ranker -> seed -> `docs` by index and `gains` in ten-thousandths).
    """
    rankings = [ranking for *_, ranking in lists]
    ids = list(dict.fromkeys(chain.from_iterable(rankings)))
    index = {doc_id: i for i, doc_id in enumerate(ids)}
    topic = None if topics is None else topics[query_id]
    place = {} if topic is None else {doc_id: i for i, doc_id in enumerate(topic.doc_ids)}
    entry: dict[str, Any] = {"id": query_id, "docs": [_document(doc_id, topic, place) for doc_id in ids], "lists": {}}
    if topic is not None:
        entry |= {"query": topic.query_text, "candidates": topic.n_candidates}
        entry |= {} if topic.judgments is None else {"subtopics": _subtopics(topic, topic.judgments)}
    gains = _gains(rankings, topic, place, table)
    for (ranker, seed, ranking), row in zip(lists, gains, strict=True):
        listed = {"docs": [index[doc_id] for doc_id in ranking]}
        if row is not None:
            listed["gains"] = [round(float(gain) * 1e4) for gain in row[: len(ranking)]]
        entry["lists"].setdefault(ranker, {})[str(seed)] = listed
    return entry


def _gains(
    lists: Sequence[Sequence[str]], topic: Topic | None, place: Mapping[str, int], table: ResultTable
) -> Iterable[Any]:
    """Gain in the first measure by the document at each rank, for every ranking; None without judgments."""
    wanted = parse_measure(table.measures[0])
    if topic is None or topic.judgments is None or isinstance(wanted, LabelFree):  # no gains
        return [None] * len(lists)
    judged, depth = topic.judgments, max(record["depth"] for record in table.records)
    normalizer = wanted.normalizer or table.normalizer
    reference = IdealPool.of(topic, normalizer)
    bound = dataclasses.replace(wanted, normalizer=normalizer).bind([reference], depth, judged.shape[1])
    rows = np.zeros((len(lists), depth, judged.shape[1]), dtype=np.int8)
    for i, ranking in enumerate(lists):
        for rank, doc_id in enumerate(ranking):
            if doc_id in place:
                rows[i, rank] = judged[place[doc_id]]
    return bound.gains(rows, 0)


def _document(doc_id: str, topic: Topic | None, place: Mapping[str, int]) -> list[object]:
    """Id, text and, if judged, covered subtopics of a document; the id alone where nothing else is known."""
    if topic is None or doc_id not in place:
        return [doc_id]
    i = place[doc_id]
    text = "" if topic.doc_texts is None else _short(topic.doc_texts[i])
    return [doc_id, text, *([] if topic.judgments is None else [np.flatnonzero(topic.judgments[i] >= 1).tolist()])]


def _subtopics(topic: Topic, judgments: GradeArray) -> list[list[object]]:
    """Name and number of covering candidates of each subtopic."""
    names = topic.subtopic_names
    counts = (judgments >= 1).sum(axis=0).tolist()
    return [[_short(name), count] for name, count in zip(names, counts, strict=True)]


def _short(text: str) -> str:
    """The text, cut to what is shown."""
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 1] + "…"


def _rankings(records: Sequence[Record]) -> tuple[Rankings, list[Problem]]:
    """The rankings in the records' runs."""
    rankings: Rankings = {}
    problems = []
    for record in records:
        try:
            run = record["run"]
            run = run if isinstance(run, Run) else read_run(_inside(record["folder"], run))
        except (OSError, ValueError) as error:
            problems.append(Problem(kind="run", what=str(record["run"]), why=f"{error}; its rankings are not shown"))
            continue
        for query_id, ids in run.rankings.items():
            if query_id in record["per_topic"]:
                ranked = (record["ranker"], record["seed"], ids[: record["depth"]])
                rankings.setdefault(query_id, []).append(ranked)
    return rankings, problems


def _inside(folder: Path, name: str) -> Path:
    """A file in the folder: a record must not make the page show files from elsewhere.

    Raises:
        ValueError: a name that leads out of it.
    """
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError("it leads out of the folder of results")
    return path
