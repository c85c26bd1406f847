"""Folders of data sets: the files in them, and their JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class JsonLine:
    """The object of a line of JSON, and where the line is, for errors."""

    place: str
    values: dict[str, Any]

    @classmethod
    def of(cls, line: str, place: str) -> JsonLine:
        """Parse a line.

        Raises:
            ValueError: it is not JSON, or not an object.
        """
        values = json_line(line, place)
        if not isinstance(values, dict):
            raise ValueError(f"{place}: expected a JSON object {{...}}, got {shown(line)}")
        return cls(place, values)

    def fault(self, expected: str, came: object) -> ValueError:
        """The error for something else than was expected."""
        return ValueError(f"{self.place}: expected {expected}, got {shown(came)}")

    def text(self, *keys: str) -> str:
        """The text, or the whole number, under the first of these keys that is there; it is not empty."""
        key = next((key for key in keys if key in self.values), None)
        if key is None:
            there = ", ".join(self.values) or "none"
            raise ValueError(f"{self.place}: expected one of the keys {', '.join(keys)}; got {there}")
        value = self.values[key]
        value = str(value) if type(value) is int else value
        if not isinstance(value, str) or not value.strip():
            raise self.fault(f"text under {shown(key)}", value)
        return value


def json_lines(path: PathLike, what: str) -> Iterator[JsonLine]:
    """The objects of a file, one per line; blank lines are passed over.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line that holds something else; file and line are named.
    """
    for number, line in numbered_lines(path, what):
        if line.strip():
            yield JsonLine.of(line, f"{what}: {path}:{number}")


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
    for line in json_lines(path, _WHAT):
        place, entry = line.place, line.values
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
