"""How topics and results show themselves: a line of bounded length, and a table for notebooks."""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING, Any

import numpy as np

from srd_gym.reading import few, shown, shown_text

if TYPE_CHECKING:
    from srd_gym.topic import Topic

_LONGEST = 480
_ROWS = 10
_TEXT = 160


def short_repr(self: Any) -> str:
    """A `__repr__` for dataclasses with many fields or large ones: those that differ from their defaults, each cut."""
    values = {
        field.name: value
        for field in dataclasses.fields(self)
        if field.repr and not _same(value := getattr(self, field.name), field.default)
    }
    room = max(8, (_LONGEST - len(type(self).__name__) - sum(map(len, values))) // max(1, len(values)) - 6)
    parts = (f"{name}={shown_text(_in_short(value), room)}" for name, value in values.items())
    return shown_text(f"{type(self).__name__}({', '.join(parts)})", _LONGEST)


def _in_short(value: Any) -> str:
    """An array by its type and shape, anything else as errors show it."""
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else shown(value)


def _same(value: Any, default: Any) -> bool:
    """Whether a plain value is its field's default."""
    return isinstance(value, str | int | float | tuple | None) and type(value) is type(default) and value == default


def topic_table(topic: Topic) -> str:
    """The first candidates of a topic as an HTML table; everything in it is escaped and cut to a length."""
    n, scores, texts, judgments = topic.n_candidates, topic.retrieval_scores, topic.doc_texts, topic.judgments
    columns = {"": [str(i) for i in range(min(n, _ROWS))], "document": topic.doc_ids[:_ROWS]}
    if scores is not None:
        columns["score"] = [f"{score:.4g}" for score in scores[:_ROWS].tolist()]
    if texts is not None:
        columns["text"] = texts[:_ROWS]
    if judgments is not None:
        subtopics = topic.subtopic_texts or topic.subtopic_ids
        columns["covers"] = [few([subtopics[s] for s in np.flatnonzero(row >= 1)], 3) for row in judgments[:_ROWS]]
    heads = "".join(f"<th>{name}</th>" for name in columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in row)}</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    rest = f"<tr><td></td><td>and {n - _ROWS:,} more</td></tr>" if n > _ROWS else ""
    return f"<table><caption>{_escaped(repr(topic), _LONGEST)}</caption><tr>{heads}</tr>{rows}{rest}</table>"


def _escaped(text: str, length: int = _TEXT) -> str:
    """A text that is no markup."""
    return html.escape(shown_text(text, length))
