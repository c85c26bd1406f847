"""Displays of objects: a line of bounded length, and a table for notebooks."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from srd_gym.reading import shown, shown_text

_LONGEST = 480
ROWS = 10
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


def repr_of(*paths: str) -> Callable[[object], str]:
    """A `__repr__` for other classes: the attributes at these paths by their last names; None where one is missing."""

    def short(self: object) -> str:
        values = (reduce(lambda owner, name: getattr(owner, name, None), path.split("."), self) for path in paths)
        parts = (f"{path.split('.')[-1]}={_in_short(value)}" for path, value in zip(paths, values, strict=True))
        return shown_text(f"{type(self).__name__}({', '.join(parts)})", _LONGEST)

    return short


def _in_short(value: object) -> str:
    """An array by its type and shape, anything else as errors show it."""
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else shown(value)


def _same(value: object, default: object) -> bool:
    """Whether a plain value is its field's default."""
    return isinstance(value, str | int | float | tuple | None) and type(value) is type(default) and value == default


def html_table(caption: str, columns: Mapping[str, Sequence[str]], count: int) -> str:
    """The first rows of a table in HTML; everything in it is escaped and cut to a length.

    Args:
        caption: what stands above it.
        columns: the cells by column, at least `ROWS` where there are as many.
        count: rows that there are in all.
    """
    heads = "".join(f"<th>{name}</th>" for name in columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in row)}</tr>"
        for row in zip(*(cells[:ROWS] for cells in columns.values()), strict=True)
    )
    rest = f"<tr><td></td><td>and {count - ROWS:,} more</td></tr>" if count > ROWS else ""
    return f"<table><caption>{_escaped(caption, _LONGEST)}</caption><tr>{heads}</tr>{rows}{rest}</table>"


def _escaped(text: str, length: int = _TEXT) -> str:
    """A text that is no markup."""
    return html.escape(shown_text(text, length))
