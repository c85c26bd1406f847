"""What loaders have in common: notices, JSON files, folders, with errors that name the file."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from srd_gym.files import PathLike, open_binary

_SHOWN = 80


class DataNotice(UserWarning):
    """Something about the data that the user should read but that stops nothing: documents dropped, columns ignored.

    Raised as a warning, so that a library user may silence it or turn it into an error, and a command can print it.
    """


def notice(text: str) -> None:
    """Tell the user; the warning points at the caller of the loader, not at this file."""
    warnings.warn(text, DataNotice, stacklevel=3)


def shown(value: str) -> str:
    """The value as a Python literal (control characters escaped), cut to a length that fits an error message."""
    return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}...")


def read_json_object(path: PathLike, what: str) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not JSON, not an object at the top, or a key that comes twice in one object.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"{what}: {path}: key {shown(twice)} comes twice in one object; keep one of them")
        return result

    with open_binary(path, what) as stream:
        try:
            value = json.loads(stream.read(), object_pairs_hook=once)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{what}: {path}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError(f"{what}: {path}: expected a JSON object {{...}}, got a {type(value).__name__}")
    return value


def with_optional_gz(folder: PathLike, name: str) -> Path | None:
    """`folder/name` or `folder/name.gz`, whichever exists; the plain file where both do."""
    for candidate in (Path(folder) / name, Path(folder) / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    return None


def existing_folder(path: PathLike, what: str) -> Path:
    """The path, if it is a folder.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: a file.
    """
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(f"{what}: no folder at {found}; check the path")
    if not found.is_dir():
        raise ValueError(f"{what}: {found} is a file; expected the folder that holds the data set's files")
    return found
