"""What a run meets outside of itself: code of the user's own, the folder that it writes to, and what it runs on.

Rankers and measures of the user's own, "module:NAME", are imported where trusted, then known by that name.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from srd_gym.measures import MEASURES, Measure
from srd_gym.measures.catalogue import add_measure
from srd_gym.protocols import Ranker

_OWN = re.compile(r"(?P<path>[A-Za-z_][\w.]*:[A-Za-z_]\w*)(?:[(@].*)?")
_LOCK = ".lock"
_DISTRIBUTIONS = ("srd-gym", "numpy", "torch", "scikit-learn", "scipy", "gymnasium", "pyarrow")
_NO_CODE = ("name", "pruning", "checkpoint", "path")
"""Options whose words mean something else."""


def own_paths(value: Any) -> list[str]:
    """Every "module:NAME" in a value, throughout lists and tables."""
    if isinstance(value, str):
        found = _OWN.fullmatch(value)
        return [] if found is None else [found["path"]]
    inner = value if isinstance(value, list | tuple) else ()
    if isinstance(value, Mapping):
        inner = [item for key, item in value.items() if key not in _NO_CODE]
    return [path for item in inner for path in own_paths(item)]


def import_own(value: Any, *, trust: bool, where: str = "") -> None:
    """Import what a value names as "module:NAME", from the working directory too; nothing is imported twice.

    Args:
        value: a word, or lists and tables of them.
        trust: whether code may run.
        where: the file that the value stands in, for the error.

    Raises:
        ValueError: it is not trusted, or there is no such class in the module.
        TypeError: neither a measure's class nor a ranker's.
        ImportError: there is no such module.
    """
    for path in own_paths(value):
        # Imported here, as those below: `srd evaluate` starts in half the time without them.
        from srd_agents.registry import RANKERS

        if path in RANKERS or path in MEASURES:
            continue
        if not trust:
            place = f"{where}: " if where else ""
            raise ValueError(
                f"{place}{path} is code, which would run: give the command --trust if you trust who wrote it"
            )
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())  # a console script's path does not have it
        module, _, name = path.partition(":")
        try:
            kind = getattr(importlib.import_module(module), name, None)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # something that the module itself imports
            raise ImportError(f"{path}: no module {error.name!r} in {os.getcwd()}, nor installed") from error
        if kind is None:
            raise ValueError(f"{path}: the module has no {name!r}")
        if isinstance(kind, type) and issubclass(kind, Measure):
            add_measure(path, kind)
        elif isinstance(kind, type) and issubclass(kind, Ranker):
            RANKERS.add(path, kind)
        else:
            raise TypeError(
                f"{path}: expected the class of a Measure, or of a ranker (rank and rank_batch), got {kind!r}"
            )


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder while the block runs; the system lets go of it however the process ends.

    Args:
        folder: created where missing; what was made for this goes again where the block itself makes nothing in it.

    Raises:
        ValueError: another run holds it.
    """
    from filelock import FileLock, Timeout

    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in folder.iterdir()}
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ValueError(
            f"another run is writing to {folder}; wait for its end, or give this one another folder with --out"
        ) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # of a folder that holds something
            if {path.name for path in folder.iterdir()} - before == {_LOCK}:
                (folder / _LOCK).unlink()
            for path in made:
                path.rmdir()
        lock.release()


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


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
