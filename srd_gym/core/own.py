"""Rewards and pruning strategies of the user's own as text: "module:NAME(argument=value, ...)".

Text is what model folders, recipes and command lines hold. It stands for an object where its class is known in this
process (`add_own`); nothing here imports one.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from srd_gym.measures import MEASURES, Measure

_OWN: dict[str, Callable[..., Any]] = {}
_TEXT = re.compile(r"(?P<path>[A-Za-z_][\w.]*:[A-Za-z_][\w.<>]*)(?:\((?P<arguments>.*)\))?", re.DOTALL)
_MOST_NUMBERS = 100
"""Largest size of an array that is written out."""


class UnknownClassError(ValueError):
    """A text names a class that this process does not know."""


def add_own(path: str, kind: Callable[..., Any]) -> None:
    """Know the class of a reward or of a pruning strategy by its "module:NAME", in this process."""
    _OWN[path] = kind


def is_own(path: str) -> bool:
    """Whether a class is known by this "module:NAME"."""
    return path in _OWN


def made_of(text: str) -> Any:
    """The object that a text stands for; None where the text is of another form, or names a measure.

    Raises:
        UnknownClassError: a class that is not known.
        ValueError: arguments that the class does not take.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None or match["path"] in MEASURES:
        return None
    if match["path"] not in _OWN:
        raise UnknownClassError(
            f"{text!r} names code that is not known here: in Python give the object itself in place of this text, "
            "to commands --trust"
        )
    return called(_OWN[match["path"]], match["path"], match["arguments"])


def called(kind: Callable[..., Any], name: str, arguments: str | None, **given: object) -> Any:
    """The object of a notation "NAME(argument=value, ...)".

    Args:
        kind: makes it.
        name: NAME, for the error.
        arguments: the text between the brackets; None: no brackets.
        given: more arguments.

    Raises:
        ValueError: arguments that cannot be read, or that `kind` does not take.
    """
    try:
        call = ast.parse(f"f({arguments or ''})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise TypeError("its arguments have no names")
        read = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        return kind(**read, **given)
    except (TypeError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        brackets = "" if arguments is None else f"({arguments})"
        raise ValueError(f"{name}{brackets}: {error}; write arguments as in {name}(name=value)") from error


def notation(value: object) -> str:
    """A measure, a reward or a pruning strategy as text: its class, and how this one differs from its defaults.

    That is told by the attributes, public or with an underscore, that have the names of the class's arguments.

    Args:
        value: the object.

    Returns:
        The notation of what belongs to this package ("alpha_nDCG@10", "knn:0.3"), else "module:NAME(argument=value)";
        equal texts for equal classes and arguments. An argument that is no plain value is told by its class.
    """
    if type(value).__module__.startswith("srd_gym."):
        return str(value)
    path = path_of(value)
    if isinstance(value, Measure):
        return path + re.sub(r"^[^(@]*", "", str(value))
    given = []
    for name, parameter in inspect.signature(type(value)).parameters.items():
        argument = getattr(value, name, getattr(value, f"_{name}", parameter.default))
        if _shown(argument) != _shown(parameter.default):
            given.append(f"{name}={_shown(argument)}")
    return f"{path}({', '.join(given)})" if given else path


def path_of(value: object) -> str:
    """The "module:NAME" of an object's class."""
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _shown(value: object) -> str:
    """A value as a Python literal; what has none is its class."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size <= _MOST_NUMBERS):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_shown(key)}: {_shown(entry)}' for key, entry in value.items())}}}"
    return repr(notation(value) if hasattr(value, "bind") else path_of(value))
