"""Where a result comes from: the commit, the versions, and a hash of the topics."""

from __future__ import annotations

import functools
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_DISTRIBUTIONS = ("srd-gym", "numpy", "torch", "scikit-learn", "scipy", "gymnasium", "pyarrow")


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
        git("ls-files", "--error-unmatch", "provenance.py")
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
