"""The data of the page as plain values, as small as it goes: the page of 200,000 scores should open at once."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srd_gym.topic import TopicSet
from srd_train.report.curves import panels
from srd_train.report.rankings import ShownRankings
from srd_train.report.results import Problem
from srd_train.report.tables import ResultTable, Row, Scores

SCORES = 600_000
"""Numbers of scores by topic that a page holds; measures beyond are left out, the first of all last."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One topic set of a page."""

    table: ResultTable
    topics: TopicSet | None
    rankings: ShownRankings


def payload(parts: Sequence[Part]) -> tuple[dict[str, Any], list[Problem]]:
    """What the page's scripts read, but for the rankings, and what did not fit.

    Returns:
        `styles` (ranker -> number of its colour and line), and `sets`: for each topic set `name`, `title`, `reference`,
        `measures`, `topics` (ids), `queries` (texts or None), `rankers` (names and figures), `scores` (measure ->
        base64 of [rankers, topics] little-endian float32; means over seeds), `curves`.
    """
    rankers = dict.fromkeys(row.ranker for part in parts for row in part.table.rows)
    kept, problems = _measures_kept([part.table for part in parts])
    sets = [_set(part, names) for part, names in zip(parts, kept, strict=True)]
    return {"styles": {name: number for number, name in enumerate(rankers)}, "sets": sets}, problems


def _measures_kept(tables: Sequence[ResultTable]) -> tuple[list[list[str]], list[Problem]]:
    """The measures whose scores by topic fit: the first of every set, then the second, and so on."""
    kept: list[list[str]] = [[] for _ in tables]
    problems = []
    left = SCORES
    most = max(len(table.measures) for table in tables)
    for place in range(most):
        for table, names in zip(tables, kept, strict=True):
            if place >= len(table.measures):
                continue
            size = table.tested * len(table.rows)
            if size <= left and len(names) == place:
                names.append(table.measures[place])
                left -= size
    for table, names in zip(tables, kept, strict=True):
        missing = table.measures[len(names) :]
        if missing:
            why = f"scores by topic of {', '.join(missing)} are left out: a page holds at most {SCORES:,} of them"
            problems.append(Problem(kind="left out", what=table.topics, why=why))
    return kept, problems


def _set(part: Part, measures: Sequence[str]) -> dict[str, Any]:
    """One topic set."""
    table = part.table
    names = [row.ranker for row in table.rows]
    return {
        "name": table.topics,
        "title": table.title,
        "reference": table.reference,
        "measures": list(table.measures),
        "topics": list(table.topic_ids),
        "queries": _queries(table.topic_ids, part.topics),
        "rankers": _rounded([_ranker(row) for row in table.rows]),
        "scores": {name: _packed(table.scores[name], names) for name in measures},
        "curves": _rounded(_curves(table)),
        "texts": part.rankings.why_no_texts,
        "shown": len(part.rankings.topics),
        "of": part.rankings.of,
    }


def _ranker(row: Row) -> dict[str, Any]:
    """The figures of a ranker."""
    return {
        "name": row.ranker,
        "reads": row.reads_judgments,
        "means": row.means,
        "intervals": row.intervals,
        "fit": row.medians["fit_cpu_seconds"],
        "rank": row.medians["rank_milliseconds"],
    }


def _queries(ids: Sequence[str], topics: TopicSet | None) -> list[str] | None:
    """Query texts where they are known; of the topics themselves, so lists drawn from them have none of their own."""
    if topics is None:
        return None
    texts = {topic.query_id: topic.query_text or "" for topic in topics}
    found = [texts.get(query_id, texts.get(f"{query_id}/1", "")) for query_id in ids]
    return found if any(found) else None


def _packed(scores: Mapping[str, Scores], rankers: Sequence[str]) -> str:
    """[rankers, topics] scores as base64 of float32: five characters a number, good to seven digits."""
    table = np.stack([scores[name] for name in rankers]).astype("<f4")
    return base64.b64encode(table.tobytes()).decode("ascii")


def _curves(table: ResultTable) -> list[dict[str, Any]]:
    """The learning curves, if anything learned with validation."""
    try:
        found = panels(table.records)
    except ValueError:  # nothing to draw; anything else wrong with the records was told when they were read
        return []
    keys = ("x", "mean", "low", "high", "seeds", "start")
    return [
        {
            "measure": panel.measure,
            "against": panel.against,
            "lines": [{"name": c.ranker} | {key: getattr(c, key) for key in keys} for c in panel.curves],
            "levels": panel.levels,
        }
        for panel in found
    ]


def _rounded(value: Any) -> Any:
    """The value with all numbers in six significant digits: finer than any pixel."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, (list, tuple, np.ndarray)) else value
