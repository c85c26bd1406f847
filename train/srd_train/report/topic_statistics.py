"""The statistics of topic sets: what `srd data describe` and the tables of docs/synthetic.md show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.training.validation import Validation
from srd_gym.dtypes import AnyArray
from srd_gym.measures import default_normalizer, greedy_ideal
from srd_gym.topic import TopicSet

MEASURE = "alpha_nDCG@10"
"""The measure of the reference values."""
SHUFFLES = 10
"""Random orders that the value of a random order is the mean of."""

_ENOUGH_TOPICS, _LITTLE, _NEARLY_ALL, _SIGNIFICANT = 10, 0.02, 0.9, 2.58
"""An order is odd on 10 topics or more, if it has 90% of what the oracle has over chance, or less than chance by more
than 0.02 and 2.58 standard errors (p < 0.01)."""

Scores = NDArray[np.float64]


def statistics(topics: TopicSet) -> dict[str, Any]:
    """Statistics of a topic set.

    Label statistics are means over the judged topics, and None where there is none. A subtopic counts for a topic where
    a candidate covers it.

    Args:
        topics: the topic set.

    Returns:
        JSON-ready: `name`, `marks`, `topics`, `judged`, `without_relevant`, `vector_width`, `candidates` (min, median,
        max), `subtopics` (min, mean, max), `relevant_share`, `subtopics_per_relevant_document`,
        `largest_subtopic_share` (documents that cover the topic's most frequent subtopic), `redundancy` (mean over
        pairs of relevant documents of shared / united subtopics), `normalizer`, `values`: MEASURE of "random",
        "retrieval order" (None where there is none) and "oracle" (greedy, from the candidates), and `odd_order`: a
        sentence where the retrieval order is suspiciously good or bad against chance, else None.
    """
    sizes = [topic.n_candidates for topic in topics]
    tables = [topic.judgments >= 1 for topic in topics if topic.judgments is not None]
    counts = [int(table.any(axis=0).sum()) for table in tables]
    covering = np.concatenate([np.zeros(0, dtype=np.int64), *(table.sum(axis=1) for table in tables)])
    with_relevant = [table for table in tables if table.any()]
    return {
        "name": topics.name,
        "marks": list(topics.marks),
        "topics": len(topics),
        "judged": len(tables),
        "without_relevant": len(tables) - len(with_relevant),
        "vector_width": topics.vector_width,
        "candidates": _summary(sizes, min=np.min, median=np.median, max=np.max),
        "subtopics": _summary(counts, min=np.min, mean=np.mean, max=np.max),
        "relevant_share": _mean([table.any(axis=1).mean() for table in tables]),
        "subtopics_per_relevant_document": _mean(covering[covering > 0]),
        "largest_subtopic_share": _mean([table.mean(axis=0).max() for table in with_relevant]),
        "redundancy": _mean([value for table in tables if (value := _redundancy(table)) is not None]),
        "normalizer": default_normalizer(topics),
        **_reference_values(topics),
    }


def statistics_table(columns: Sequence[dict[str, Any]]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Statistics of several topic sets side by side, for people.

    Args:
        columns: one `statistics(...)` a set.

    Returns:
        The heads, and the rows as text; the first column names the statistic.
    """
    value = f"{MEASURE}, "
    rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("topics", lambda s: f"{s['topics']:,}"),
        ("judged topics", lambda s: f"{s['judged']:,}"),
        ("judged topics without a relevant candidate", lambda s: f"{s['without_relevant']:,}"),
        ("vectors", lambda s: ", ".join([f"width {s['vector_width']}", *s["marks"]]) if s["vector_width"] else "none"),
        ("candidates (min / median / max)", lambda s: _triple(s["candidates"], "g")),
        ("subtopics with a relevant candidate (min / mean / max)", lambda s: _triple(s["subtopics"], ".3g")),
        ("relevant candidates", lambda s: shown(s["relevant_share"], ".0%")),
        ("subtopics a relevant candidate", lambda s: shown(s["subtopics_per_relevant_document"], ".2f")),
        ("candidates of the largest subtopic", lambda s: shown(s["largest_subtopic_share"], ".0%")),
        ("redundancy", lambda s: shown(s["redundancy"], ".2f")),
        ("ideal from", lambda s: str(s["normalizer"])),
        (value + "random order", lambda s: shown(s["values"]["random"], ".3f")),
        (value + "retrieval order", lambda s: shown(s["values"]["retrieval order"], ".3f")),
        (value + "greedy oracle", lambda s: shown(s["values"]["oracle"], ".3f")),
    ]
    heads = ("", *(str(column["name"]) for column in columns))
    return heads, [[label, *(show(column) for column in columns)] for label, show in rows]


def _reference_values(topics: TopicSet) -> dict[str, object]:
    """MEASURE of a random order, of the retrieval order and of the greedy oracle; and what is odd about the order."""
    judged = topics.replace(topic for topic in topics if topic.labelled)
    if not len(judged):
        return {"values": {"random": None, "retrieval order": None, "oracle": None}, "odd_order": None}
    score, sizes, draw = Validation(judged, MEASURE).score, [t.n_candidates for t in judged], np.random.default_rng(0)
    chance: Scores = np.mean([score([draw.permutation(size) for size in sizes]) for _ in range(SHUFFLES)], axis=0)
    oracle = score([greedy_ideal(t.judgments, ids=t.doc_ids, depth=10) for t in judged if t.judgments is not None])
    order = score([np.arange(size) for size in sizes]) if judged.has_retrieval_order else None
    values = {"random": chance, "retrieval order": order, "oracle": oracle}
    return {
        "values": {name: None if own is None else float(own.mean()) for name, own in values.items()},
        "odd_order": None if order is None else _odd_order(chance, order, oracle),
    }


def _odd_order(chance: Scores, order: Scores, oracle: Scores) -> str | None:
    """A sentence on an odd retrieval order, from scores by topic; None where it is not odd."""
    if order.size < _ENOUGH_TOPICS:
        return None
    gain, room = order - chance, float((oracle - chance).mean())
    if room > _LITTLE and gain.mean() > _NEARLY_ALL * room:
        return (
            f"the retrieval order has {order.mean():.3f}, nearly the oracle's {oracle.mean():.3f}: does it come from "
            "the judgments? Then shuffle the candidates and leave the scores out, or retrieve anew"
        )
    if gain.mean() < -_LITTLE and gain.mean() < -_SIGNIFICANT * gain.std(ddof=1) / np.sqrt(gain.size):
        return (
            f"the retrieval order has {order.mean():.3f}, less than a random order's {chance.mean():.3f}: are scores "
            "or ranks the wrong way round, or is it no retrieval order at all?"
        )
    return None


def _redundancy(table: NDArray[np.bool_]) -> float | None:
    """Mean shared / united subtopics over pairs of relevant documents; None with fewer than two of them."""
    rows = table[table.any(axis=1)].astype(np.float64)
    if len(rows) < 2:
        return None
    shared = rows @ rows.T
    sizes = rows.sum(axis=1)
    overlap = shared / (sizes[:, None] + sizes - shared)
    pairs = len(rows) * (len(rows) - 1)
    return float((overlap.sum() - len(rows)) / pairs)


def _mean(values: Sequence[Any] | AnyArray) -> float | None:
    """The mean, or None of nothing."""
    return float(np.mean(values)) if len(values) else None


def _summary(values: Sequence[int], **statistic: Callable[[Sequence[int]], Any]) -> dict[str, float] | None:
    """Several statistics of the values by name, or None of nothing."""
    return {name: float(compute(values)) for name, compute in statistic.items()} if values else None


def shown(value: float | None, form: str) -> str:
    """A number as text; "-" where there is none."""
    return "-" if value is None else format(value, form)


def _triple(values: dict[str, float] | None, form: str) -> str:
    """Three numbers as text."""
    return "-" if values is None else " / ".join(format(value, form) for value in values.values())
