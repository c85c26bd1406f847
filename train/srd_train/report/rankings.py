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
from srd_gym.measures.ad_hoc import AdHoc
from srd_gym.measures.ideal import IdealPool
from srd_gym.measures.label_free import LabelFree
from srd_gym.topic import GradeArray, Topic, TopicSet
from srd_gym.trec_files import Run, read_run
from srd_train.report.tables import Problem, ResultTable

TEXT_LENGTH = 320
"""Characters of a text that are shown."""
_GOLDEN = (5**0.5 - 1) / 2
"""Places by the fractions of its multiples: however many of the first are taken, they are evenly spaced."""

Ranked = tuple[str, int, float, Sequence[str]]
"""Ranker, seed, score by the table's first measure, and document ids, best first."""
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
    rankings, problems = _rankings(table)
    by_id = {topic.query_id: topic for topic in topics or ()}
    ids = list(rankings)
    entries: dict[int, dict[str, object]] = {}
    for place in np.argsort(np.arange(len(ids)) * _GOLDEN % 1).tolist():
        entry = _entry(ids[place], rankings[ids[place]], by_id.get(ids[place]), table)
        budget -= len(json.dumps(entry, separators=(",", ":"))) + 1
        if budget < 0:
            break
        entries[place] = entry
    if len(entries) < len(ids):
        many = f"the rankings of {len(entries):,} of {len(ids):,} topics are shown, evenly spaced"
        problems.append(Problem(kind="left out", what=table.topics, why=many))
    return [entries[place] for place in sorted(entries)], len(ids), problems


def _entry(query_id: str, lists: Sequence[Ranked], topic: Topic | None, table: ResultTable) -> dict[str, object]:
    """One topic, if it is known, with its rankings.

    Returns:
        `id`, `query`, `candidates`, if judged `subtopics` (pairs of id or text, and candidates that cover it), `docs`
        (id, text, covered subtopics), `lists` (ranker -> seed -> `docs` by index, `value` of the list and `gains`, both
        in ten-thousandths).
    """
    rankings = [ranking for *_, ranking in lists]
    ids = list(dict.fromkeys(chain.from_iterable(rankings)))
    index = {doc_id: i for i, doc_id in enumerate(ids)}
    texts = {} if topic is None else dict(zip(topic.doc_ids, topic.doc_texts or (), strict=False))
    rows = _judged_rows(topic, table)
    docs = [[doc_id] if topic is None else _document(doc_id, topic, texts, rows) for doc_id in ids]
    entry: dict[str, Any] = {"id": query_id, "docs": docs, "lists": {}}
    if topic is not None:
        entry |= {"query": topic.query_text, "candidates": topic.n_candidates}
        entry |= {} if topic.judgments is None else {"subtopics": _subtopics(topic, topic.judgments)}
    gains = _gains(rankings, topic, rows, table)
    for (ranker, seed, score, ranking), row in zip(lists, gains, strict=True):
        listed: dict[str, Any] = {"docs": [index[doc_id] for doc_id in ranking], "value": round(score * 1e4)}
        if row is not None:
            listed["gains"] = [round(float(gain) * 1e4) for gain in row[: len(ranking)]]
        entry["lists"].setdefault(ranker, {})[str(seed)] = listed
    return entry


def _gains(
    lists: Sequence[Sequence[str]], topic: Topic | None, judged: Mapping[str, GradeArray], table: ResultTable
) -> Iterable[Any]:
    """Gain in the first measure by the document at each rank, for every ranking; None where there is none.

    Neither without judgments nor of measures of whole lists alone: label-free ones, and those of ir_measures.
    """
    wanted = parse_measure(table.measures[0])
    if topic is None or topic.judgments is None or isinstance(wanted, AdHoc | LabelFree):
        return [None] * len(lists)
    width, depth = topic.judgments.shape[1], max(record["depth"] for record in table.records)
    normalizer = wanted.normalizer or table.normalizer
    reference = IdealPool.of(topic, normalizer)
    bound = dataclasses.replace(wanted, normalizer=normalizer).bind([reference], depth, width)
    rows = np.zeros((len(lists), depth, width), dtype=np.int8)
    for i, ranking in enumerate(lists):
        for rank, doc_id in enumerate(ranking):
            rows[i, rank] = judged.get(doc_id, 0)
    return bound.gains(rows, 0)


def _judged_rows(topic: Topic | None, table: ResultTable) -> dict[str, GradeArray]:
    """Judgments [S] of the documents that rankings are scored by: candidates, and the pool's where it is the ideal."""
    if topic is None or topic.judgments is None:
        return {}
    judged = dict(zip(topic.doc_ids, topic.judgments, strict=True))
    if table.normalizer != "pool" or topic.pool is None or topic.pool_ids is None:
        return judged
    return dict(zip(topic.pool_ids, topic.pool, strict=True)) | judged


def _document(doc_id: str, topic: Topic, texts: Mapping[str, str], judged: Mapping[str, GradeArray]) -> list[object]:
    """Id, text and, if the topic is judged, covered subtopics of a document."""
    text = _short(texts.get(doc_id, ""))
    covered = np.flatnonzero(judged[doc_id] >= 1).tolist() if doc_id in judged else []
    return [doc_id, text, *([] if topic.judgments is None else [covered])]


def _subtopics(topic: Topic, judgments: GradeArray) -> list[list[object]]:
    """Name and number of covering candidates of each subtopic."""
    names = topic.subtopic_names
    counts = (judgments >= 1).sum(axis=0).tolist()
    return [[_short(name), count] for name, count in zip(names, counts, strict=True)]


def _short(text: str) -> str:
    """The text, cut to what is shown."""
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 1] + "…"


def _rankings(table: ResultTable) -> tuple[Rankings, list[Problem]]:
    """The rankings in the runs of a table's records."""
    rankings: Rankings = {}
    problems = []
    for record in table.records:
        try:
            run = record["run"]
            run = run if isinstance(run, Run) else read_run(_inside(record["folder"], run))
        except (OSError, ValueError) as error:
            problems.append(Problem(kind="run", what=str(record["run"]), why=f"{error}; its rankings are not shown"))
            continue
        for query_id, ids in run.rankings.items():
            if query_id in record["per_topic"]:
                score = record["per_topic"][query_id][table.measures[0]]
                ranked = (record["ranker"], record["seed"], score, ids[: record["depth"]])
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
