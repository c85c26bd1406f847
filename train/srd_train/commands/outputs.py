"""Outputs of commands: never over what is read, over another output, or over a file of another kind."""

from __future__ import annotations

import dataclasses
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_OURS = rb"topics,|table,|%|<|\*\*|#"
"""Beginnings of the tables and pages that commands write; of other files a command's OURS tells it."""
WRITTEN = {"csv": (".csv",), "latex": (".tex",), "markdown": (".md",), "out": (), "scores": (), "figure": ()}
"""Options that name what is written, and how such files end (none: in any way); a command's ENDINGS go before."""


def check_outputs(options: Any, reads: Sequence[str]) -> None:
    """Refuse to write over what is read, over another output, or over a file of another kind.

    Files, folders and patterns that all other words name are read; links are followed. In a folder that is read, only
    files that begin as the command's own are replaced.

    Raises:
        ValueError: the option and the file.
    """
    endings = WRITTEN | getattr(options, "ENDINGS", {})
    values = {entry.name: getattr(options, entry.name) for entry in dataclasses.fields(options)}
    written = {name: values.pop(name) for name in endings if isinstance(values.get(name), Path)}
    given = [value if isinstance(value, tuple | list) else [value] for value in values.values()]
    words = [*reads, *(str(one) for several in given for one in several)]
    parts = {part for word in words for part in (word, *re.split("[=,:()]", word)) if part}
    read = [Path(path) for part in parts for path in (glob.glob(part) if glob.has_magic(part) else [part])]
    seen, ours = dict[str, str](), getattr(options, "OURS", _OURS)
    for name, target in written.items():
        other = seen.setdefault(os.path.realpath(target), name)
        if other != name:
            raise ValueError(f"--{other} and --{name} are both {target}; give each a file of its own")
        if target.is_file():
            _check_replaced(f"--{name} {target}", target.resolve(), read, endings[name], ours)


def _check_replaced(what: str, target: Path, read: Sequence[Path], endings: Sequence[str], ours: bytes) -> None:
    """Refuse to replace a file that is read, or of another kind, as where a run follows --csv."""
    if any(map(target.samefile, filter(os.path.isfile, read))):
        raise ValueError(f"{what} is also read; give the name of another file to write")
    with target.open("rb") as stream:
        start = stream.read(500)
    if not start or re.match(ours, start):
        return
    for folder in filter(os.path.isdir, read):
        files = filter(os.path.isfile, folder.iterdir())
        if folder.resolve() in target.parents or any(map(target.samefile, files)):
            raise ValueError(f"{what} exists in {folder}, which is read; give the name of another file to write")
    if endings and target.suffix not in endings:
        raise ValueError(f"{what} exists and does not end in {endings[0]}: was it to be read? Give another name")
