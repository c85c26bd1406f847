"""What loaders have to say without stopping, and the folders that they read."""

from __future__ import annotations

import warnings
from pathlib import Path

from srd_gym.files import PathLike


class DataNotice(UserWarning):
    """Something about the data that the user should read but that stops nothing: documents dropped, columns ignored.

    Raised as a warning, so that a library user may silence it or turn it into an error, and a command can print it.
    """


def notice(text: str) -> None:
    """Tell the user; the warning points at the caller of the loader, not at this file."""
    warnings.warn(text, DataNotice, stacklevel=3)


def with_optional_gz(folder: PathLike, name: str) -> Path | None:
    """`folder/name` or `folder/name.gz`, whichever exists; the plain file where both do."""
    for candidate in (Path(folder) / name, Path(folder) / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    return None


def needed_file(folder: PathLike, name: str, what: str) -> Path:
    """As `with_optional_gz`, of a file that must be there.

    Raises:
        FileNotFoundError: it is not.
    """
    found = with_optional_gz(folder, name)
    if found is None:
        raise FileNotFoundError(f"{what}: no {name} or {name}.gz in {folder}; expected the published files")
    return found


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
