"""Notices of loaders, which do not stop them."""

from __future__ import annotations

import warnings
from collections.abc import Collection

from srd_gym.reading import few, shown


class DataNotice(UserWarning):
    """Something about the data that the user should read but that stops nothing: documents dropped, columns ignored.

    Raised as a warning, so that a library user may silence it or turn it into an error, and a command can print it.
    """


def notice(text: str) -> None:
    """Tell the user; the warning points at the caller of the loader, not at this file."""
    warnings.warn(text, DataNotice, stacklevel=3)


def tell(where: object, what: str, names: Collection[str]) -> None:
    """A notice that counts and names, where there is anything to name."""
    if names:
        notice(f"{where}: {len(names)} {what}: {few([shown(name) for name in names])}")
