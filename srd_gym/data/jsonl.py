"""Texts in JSON lines, in BEIR's format: `{"_id": "d1", "title": "", "text": ""}`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from srd_gym.reading import json_value, numbered_lines, shown

_WHAT = "texts"


def entries(path: Path, *keys: str) -> Iterator[dict[str, Any]]:
    """The object of each line, its ids and texts checked to be text; blank lines are passed over.

    Args:
        path: plain or gzip.
        *keys: those that hold ids, which are not empty; "text" is expected beside them.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line that holds something else; file and line are named.
    """
    for number, line in numbered_lines(path, _WHAT):
        if not line.strip():
            continue
        place = f"{_WHAT}: {path}:{number}"
        try:
            entry = json_value(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place}: not JSON ({error}): {shown(line)}; expected one object a line") from error
        if not isinstance(entry, dict):
            raise ValueError(f"{place}: expected a JSON object {{...}}, got {shown(line)}")
        for key in (*keys, "text"):
            if not isinstance(entry.get(key), str) or (key in keys and not entry[key]):
                raise ValueError(f"{place}: expected text under {key!r}, got {shown(repr(entry.get(key)))}")
        yield entry


def text_of(entry: dict[str, Any]) -> str:
    """Title and text of a document; the text of anything else."""
    title = entry.get("title")
    return ". ".join(part.strip() for part in (title, entry["text"]) if isinstance(part, str) and part.strip())
