"""Folders of data sets: the files in them, and their JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from srd_gym.files import PathLike
from srd_gym.reading import few, json_line, numbered_lines, shown, shown_text


def with_optional_gz(folder: PathLike, name: str) -> Path | None:
    """`folder/name` or `folder/name.gz`, whichever exists; the plain file where both do."""
    for candidate in (Path(folder) / name, Path(folder) / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    return None


def needed_file(folder: PathLike, name: str, what: str) -> Path:
    """Find a file as `with_optional_gz`, one that must be there.

    Raises:
        FileNotFoundError: it is not.
    """
    file = with_optional_gz(folder, name)
    if file is None:
        raise FileNotFoundError(f"{what}: no {name} or {name}.gz in {folder}; expected the published files")
    return file


def existing_folder(path: PathLike, what: str) -> Path:
    """The path, if it is a folder.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: a file.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"{what}: no folder at {shown_text(str(path))}; check the path")
    if not os.path.isdir(path):
        raise ValueError(f"{what}: {path} is a file; expected the folder that holds the data set's files")
    return Path(path)


_WHAT = "texts"


def entries(path: Path, *keys: str) -> Iterator[dict[str, Any]]:
    """The object of each line, its ids and texts checked to be text; blank lines are passed over.

    Args:
        path: plain or gzip.
        *keys: those that hold ids, which are not empty; "text" is expected beside them, and "title" may be there.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line that holds something else; file and line are named.
    """
    for number, line in numbered_lines(path, _WHAT):
        if not line.strip():
            continue
        place = f"{_WHAT}: {path}:{number}"
        entry = json_line(line, place)
        if not isinstance(entry, dict):
            raise ValueError(f"{place}: expected a JSON object {{...}}, got {shown(line)}")
        for key, kind in {**dict.fromkeys(keys, str), "text": str, "title": str | None}.items():
            if key not in entry and kind is str:
                raise ValueError(f"{place}: no {shown(key)}, which holds text; the keys are {few(list(entry))}")
            if not isinstance(entry.get(key), kind) or (key in keys and not entry[key]):
                raise ValueError(f"{place}: expected text under {shown(key)}, got {shown(repr(entry.get(key)))}")
        yield entry


def text_of(entry: dict[str, Any]) -> str:
    """Title and text of a document; the text of anything else."""
    title = entry.get("title")
    return ". ".join(part.strip() for part in (title, entry["text"]) if isinstance(part, str) and part.strip())
