"""Metadata of a run at the top of its file, in the form of ir_metadata (Breuer, Keller & Schaer, SIGIR 2022).

Lines that begin with "#", between two marks, hold a YAML mapping: tag, actor, method, data, and so on. The readers of
this package skip them; trec_eval, ndeval, ir_measures, ranx and PyTerrier do not, and refuse such a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from srd_gym.files import PathLike
from srd_gym.reading import numbered_lines, shown

START, END = "# ir_metadata.start", "# ir_metadata.end"


def metadata_lines(metadata: Mapping[str, object]) -> Iterator[str]:
    """The lines of a header, without their ends: a key each, its value as JSON, which is YAML, too.

    Raises:
        ValueError: a key that would be read as something else.
    """
    yield START
    for key, value in metadata.items():
        if not (
            isinstance(key, str) and re.fullmatch(r"[^\s:#-][^:]*", key) and key.isprintable() and key == key.strip()
        ):
            raise ValueError(
                f"metadata: key {shown(key)} cannot be read again; expected text without ':' and line ends that does "
                "not begin with '#' or '-'"
            )
        text = json.dumps(value, ensure_ascii=False)
        # YAML takes no control characters as they are, and no pairs of surrogates as JSON writes others.
        yield f"# {key}: {''.join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)}"
    yield END


def read_run_metadata(path: PathLike) -> dict[str, object]:
    """The header of a run: key -> value, as `write_run` wrote it; other YAML stays text. Empty where there is none.

    Args:
        path: a run, plain or packed.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no text.
    """
    parts: dict[str, list[str]] = {}
    lines = (line.rstrip() for _, line in numbered_lines(path, "run"))
    if next(lines) != START:
        return {}
    key = ""
    for line in lines:
        if line == END or not line.startswith("#"):
            break
        text = line[1:].removeprefix(" ")
        if text[:1].strip() and not text.startswith(("-", "#")):  # not a line of the key before it
            key, _, text = text.partition(":")
        parts.setdefault(key.strip(), []).append(text)
    return {key: _value("\n".join(texts).strip()) for key, texts in parts.items() if key}


def _value(text: str) -> Any:
    """JSON as what it is, other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text
