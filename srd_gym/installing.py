"""The command that installs an extra, true in the way in which the package itself was installed."""

from __future__ import annotations

from typing import Literal

NAME = "srd-gym"


def installed_from() -> Literal["clone", "index"]:
    """Where the package came from: a folder (a clone), or anything else, such as an index or a wheel."""
    from importlib import metadata  # here, as it is slow to import

    try:
        direct = metadata.distribution(NAME).read_text("direct_url.json") or ""
    except metadata.PackageNotFoundError:  # read from the checkout, not installed
        return "clone"
    return "clone" if '"dir_info"' in direct else "index"


def how_to_install(extra: str) -> str:
    """The command that installs an extra, for errors."""
    return f"pip install '.[{extra}]' in the clone" if installed_from() == "clone" else f"pip install '{NAME}[{extra}]'"
