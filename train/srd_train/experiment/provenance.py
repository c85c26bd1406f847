"""Provenance of results: the commit of the code that made them."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path


@functools.cache
def commit() -> str | None:
    """The commit of the checkout this package runs from, "+changes" where files differ; None outside a checkout."""
    folder = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=20
        )
        return done.stdout.strip()

    try:
        # An installed copy may lie inside some other project's checkout: only a checkout that tracks this file counts.
        git("ls-files", "--error-unmatch", Path(__file__).name)
        return git("describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+changes")
    except (OSError, subprocess.SubprocessError):
        return None
