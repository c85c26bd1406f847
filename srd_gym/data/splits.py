"""Published folds: files of test sets."""

from __future__ import annotations

import re

from srd_gym.files import PathLike
from srd_gym.reading import json_value, numbered_lines, reading, shown

_WHAT = "folds"
_LINE = re.compile(r"\s*(?P<name>[\w-]+)\s*:\s*\[(?P<ids>[^\[\]]*)\]\s*(#.*)?")


def read_folds(path: PathLike) -> list[list[str]]:
    """Test sets of published folds, as query ids; `TopicSet.folds_from` makes folds of them.

    Two forms are read, plain or gzip: M2Div's, one line a fold, `fold1: [2, 7, "x"]` (lines beginning with # are
    comments); and JSON, a list of lists or an object of lists. Ids are text: 7 and "7" are the same, 07 is another.

    Args:
        path: the file.

    Returns:
        One list of query ids a fold, in the file's order.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another form, an empty fold, a fold named twice, or an id in two folds; the message gives the line
            or the fold.
    """
    lines = [(number, line) for number, line in numbered_lines(path, _WHAT) if line.strip()]
    is_json = bool(lines) and lines[0][1].lstrip()[0] in "[{"
    if is_json:
        with reading(path, _WHAT, "JSON", "write lists of query ids, or lines like fold1: [2, 7, 10]"):
            named = _from_json(path, "\n".join(line for _, line in lines))
    else:
        named = _from_lines(path, lines)
    if not named:
        raise ValueError(f"{_WHAT}: {path} holds no fold; expected lines like fold1: [2, 7, 10]")
    owner: dict[str, str] = {}
    for name, ids in named.items():
        if not ids:
            raise ValueError(f"{_WHAT}: {path}: {name} is empty; expected at least one query id")
        for query_id in ids:
            if query_id in owner:
                raise ValueError(
                    f"{_WHAT}: {path}: query id {shown(query_id)} is in {owner[query_id]} and in {name}; a query is "
                    "tested once"
                )
            owner[query_id] = name
    return list(named.values())


def _from_lines(path: PathLike, lines: list[tuple[int, str]]) -> dict[str, list[str]]:
    """Lines "name: [ids]"."""
    named: dict[str, list[str]] = {}
    for number, line in lines:
        if line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"{_WHAT}: {path}:{number}: expected a line like fold1: [2, 7, 10], got {shown(line)}")
        ids = [part.strip().strip("'\"") for part in match["ids"].split(",")] if match["ids"].strip() else []
        if match["name"] in named or "" in ids:
            fault = "comes twice; each fold has one line" if match["name"] in named else "misses an id between commas"
            raise ValueError(f"{_WHAT}: {path}:{number}: {match['name']} {fault}: {shown(line)}")
        named[match["name"]] = ids
    return named


def _from_json(path: PathLike, text: str) -> dict[str, list[str]]:
    """A JSON list or object of lists of ids."""
    value = json_value(text)
    parts = value if isinstance(value, dict) else {f"fold {i}": ids for i, ids in enumerate(value, start=1)}
    for name, ids in parts.items():
        if not isinstance(ids, list) or not all(isinstance(i, str | int) and not isinstance(i, bool) for i in ids):
            raise ValueError(f"{_WHAT}: {path}: {name}: expected a list of query ids (text or integers)")
    return {name: [str(query_id) for query_id in ids] for name, ids in parts.items()}
