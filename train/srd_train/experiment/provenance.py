"""Provenance of results: the commit of the code that made them."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

CODE = ("srd_gym", "agents", "train", "pyproject.toml", "constraints.txt")
"""Paths that decide a result, from the top of the checkout."""


@functools.cache
def commit() -> str | None:
    """The commit of the checkout this package runs from; None outside a checkout.

    "+changes" follows it where code, recipes or what they need differ: pages and tests change no result.
    """
    folder = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        done = subprocess.run(
            # Without optional locks: a commit of the user's may be under way.
            ["git", "--no-optional-locks", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
        return done.stdout.strip()

    try:
        # An installed copy may lie inside some other project's checkout: only a checkout that tracks this file counts.
        git("ls-files", "--error-unmatch", Path(__file__).name)
        top = git("rev-parse", "--show-toplevel")
        changed = git("-C", top, "status", "--porcelain", "--", *CODE)
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None
