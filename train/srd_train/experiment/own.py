"""Rankers and measures of the user's own, "module:NAME": imported where trusted, then known by that name."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from srd_gym.measures import MEASURES, Measure
from srd_gym.measures.catalogue import add_measure
from srd_gym.protocols import Ranker

_OWN = re.compile(r"(?P<path>[A-Za-z_][\w.]*:[A-Za-z_]\w*)(?:[(@].*)?")
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
        # `srd evaluate` starts in half the time without the agents
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
