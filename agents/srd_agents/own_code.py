"""Code of the user's own, named "module:NAME" (rankers, measures, rewards, pruning strategies).

It is imported where trusted, then known by that name.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from collections.abc import Mapping

from srd_agents.registry import RANKERS
from srd_agents.training.files import OURS
from srd_gym.core.own import add_own, is_own
from srd_gym.measures import MEASURES, Measure, add_measure
from srd_gym.protocols import Ranker

_OWN = re.compile(r"(?!(?:knn|ranker|pretrained):)(?P<path>[A-Za-z_][\w.]*:[A-Za-z_][\w.]*)(?:[(@].*)?")
_NEXT = re.compile(r"\+\s*(?=[A-Za-z_][\w.]*:)")
"""Between the parts of a sum of measures, or of a chain of pruning strategies."""
_NO_CODE = ("name", "checkpoint", "path")
"""Options whose words mean something else."""


class UntrustedError(ValueError):
    """Something names code that the caller does not trust."""


def import_own(value: object, *, trust: bool, where: str = "") -> None:
    """Import what a value names as "module:NAME", installed or else in the working directory; nothing is duplicated.

    Args:
        value: a word, or lists and tables of them.
        trust: whether code may run.
        where: the file that the value stands in, for the error.

    Raises:
        UntrustedError: it is not trusted.
        ValueError: there is no such class in the module.
        TypeError: no class of a measure, a ranker, a reward or a pruning strategy.
        ImportError: there is no such module.
    """
    for path in _own_paths(value):
        if path in RANKERS or path in MEASURES or is_own(path):
            continue
        if not trust and not path.startswith(OURS):
            place = f"{where}: " if where else ""
            raise UntrustedError(
                f"{place}{path} is code, which would run: give the command --trust if you trust who wrote it"
            )
        if os.getcwd() not in sys.path:
            # A console script's path does not have it. Last: a file of a library's name is not taken for the library.
            sys.path.append(os.getcwd())
        module, _, name = path.partition(":")
        try:
            imported: object = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # something that the module itself imports
            raise ImportError(f"{path}: no module {error.name!r} in {os.getcwd()}, nor installed") from error
        kind: object = functools.reduce(lambda owner, part: getattr(owner, part, None), name.split("."), imported)
        if kind is None:
            file = getattr(imported, "__file__", None) or "part of Python"
            raise ValueError(f"{path}: the module has no {name!r} ({file})")
        _add(path, kind)


def _add(path: str, kind: object) -> None:
    """Know a class by its "module:Class"."""
    if not isinstance(kind, type) or not (issubclass(kind, Ranker) or hasattr(kind, "bind")):
        raise TypeError(
            f"{path}: expected the class of a Measure, of a ranker (rank and rank_batch), of a reward (name and bind) "
            f"or of a pruning strategy (bind), got {kind!r}"
        )
    if issubclass(kind, Measure):
        add_measure(path, kind)
    elif issubclass(kind, Ranker):
        RANKERS.add(path, kind)
    else:
        add_own(path, kind)


def _own_paths(value: object) -> list[str]:
    """Every "module:NAME" in a value, throughout lists and tables."""
    paths, left = list[str](), [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            matches = map(_OWN.fullmatch, map(str.rstrip, _NEXT.split(item)))
            paths += [match["path"] for match in matches if match is not None]
        elif isinstance(item, Mapping):
            left += reversed([inner for key, inner in item.items() if key not in _NO_CODE])
        elif isinstance(item, list | tuple):
            left += reversed(item)
    return paths
