"""Published folds: files of test sets."""

from __future__ import annotations

import re

from srd_gym.files import PathLike
from srd_gym.reading import numbered_lines, shown, twice_in

_WHAT = "folds"
_LINE = re.compile(r"\s*(?P<name>[\w-]+)\s*:\s*\[(?P<ids>[^\[\]]*)\]\s*(#.*)?")


def read_folds(path: PathLike) -> list[list[str]]:
    """Test sets of published folds, as query ids; `TopicSet.folds_from` makes folds of them.

    The form is M2Div's: one line a fold, `fold1: [2, 7, "x"]`; lines beginning with # are comments. Ids are text: 7 and
    "7" are the same, 07 is another.

    Args:
        path: the file, plain or gzip.

    Returns:
        One list of query ids a fold, in the file's order.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another form, an empty fold, a fold named twice, or a query id twice; the message gives the line.
    """
    named: dict[str, list[str]] = {}
    for number, line in numbered_lines(path, _WHAT):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{_WHAT}: {path}:{number}"
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"{place}: expected a line like fold1: [2, 7, 10], got {shown(line)}")
        ids = [part.strip().strip("'\"") for part in match["ids"].split(",")]
        if match["name"] in named:
            raise ValueError(f"{place}: {match['name']} is duplicated; each fold has one line: {shown(line)}")
        if "" in ids:
            raise ValueError(f"{place}: {match['name']} is empty, or lacks an id between two commas: {shown(line)}")
        named[match["name"]] = ids
        every = [query_id for several in named.values() for query_id in several]
        if (twice := twice_in(every)) is not None:
            raise ValueError(f"{place}: query id {shown(twice)} is duplicated; folds must not share a query")
    if not named:
        raise ValueError(f"{_WHAT}: {path} holds no fold; expected lines like fold1: [2, 7, 10]")
    return list(named.values())
