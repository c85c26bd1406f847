"""Ranking as a stream: one JSON object a line in, one out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from srd_agents.pipeline.limits import row_of
from srd_gym.checks import falling, unknown
from srd_gym.reading import json_value
from srd_gym.topic import Topic
from srd_train.serving.models import Model
from srd_train.serving.ranking import rank_stream

REQUIRED = ("query_id", "doc_ids")
OPTIONAL = ("doc_vectors", "query_vector", "retrieval_scores", "query_text", "doc_texts")


def rank_lines(model: Model, lines: Iterable[str | bytes], answer: Callable[[str], None], k: int) -> None:
    """Answer each line before the next is read, so that a service can talk through a pipe.

    Args:
        model: what ranks.
        lines: JSON objects with `REQUIRED` and some of `OPTIONAL` keys, bytes in UTF-8; blank lines are passed over.
        answer: takes `{"query_id": ..., "ranking": [document ids, best first]}`.
        k: documents per ranking.

    Raises:
        ValueError: a line that cannot be ranked; the message gives its number. Lines before it are answered.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            topic = topic_of(line.decode("utf-8-sig") if isinstance(line, bytes) else line)
            ((query_id, ranking),) = rank_stream(model, [topic], k)
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number}: {error}") from error
        answer(json.dumps({"query_id": query_id, "ranking": ranking}))


def topic_of(line: str) -> Topic:
    """The topic in one line; candidates with retrieval scores are put into retrieval order.

    Raises:
        TypeError: retrieval scores that are no numbers.
        ValueError: not a JSON object, a missing or unknown key, or values that do not make a topic.
    """
    try:
        content = json_value(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from error
    if not isinstance(content, dict):
        raise ValueError(f"expected a JSON object with {', '.join(REQUIRED)}, got {type(content).__name__}")
    missing = [key for key in REQUIRED if content.get(key) is None]
    if missing:
        raise ValueError(
            f"no {' and no '.join(missing)}; expected {', '.join(REQUIRED)} and optional {', '.join(OPTIONAL)}"
        )
    for key in content:
        if key not in (*REQUIRED, *OPTIONAL):
            raise unknown("key", key, (*REQUIRED, *OPTIONAL))
    for key in ("doc_ids", "doc_texts"):
        if content.get(key) is not None and not isinstance(content[key], list):
            raise ValueError(f"{key}: expected a list of texts, got {type(content[key]).__name__}")
    values: dict[str, Any] = {key: value for key, value in content.items() if value is not None}
    for key in ("doc_vectors", "query_vector"):
        if key in values:
            values[key] = _array(key, values[key])
    scores = values.pop("retrieval_scores", None)
    topic = Topic(**values)
    return topic if scores is None else _in_retrieval_order(topic, scores)


def _in_retrieval_order(topic: Topic, scores: Any) -> Topic:
    """The topic with its candidates sorted by falling score; equal ones keep their order."""
    row = row_of(topic.query_id, "retrieval_scores", scores, topic.n_candidates)
    if (order := falling(row)) is not None:
        topic, row = topic.take(order), row[order]
    return dataclasses.replace(topic, retrieval_scores=row)


def _array(key: str, value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers as an array."""
    try:
        return np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        shape = "a list of vectors of one width" if key == "doc_vectors" else "a list of numbers"
        raise ValueError(f"{key}: expected {shape} ({error})") from error
