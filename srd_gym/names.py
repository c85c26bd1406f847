"""Checks of arguments: names, with an answer for a slip of the pen, and numbers. All raise the same kind of error."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., None])
_FEW = 5
"""Names that are listed even where near ones are suggested."""


def unknown(kind: str, given: str, known: Iterable[str], hint: str = "") -> ValueError:
    """The error for a name that is not in a registry; it suggests the nearest names, or lists all.

    Args:
        kind: what the name stands for, as the user calls it ("measure", "ranker").
        given: the name that came.
        known: the names that exist.
        hint: a last sentence saying what to do.

    Returns:
        A `ValueError` to raise.
    """
    names = sorted(known)
    folded = {name.casefold(): name for name in names}
    near = [folded[match] for match in difflib.get_close_matches(given.casefold(), folded, n=3, cutoff=0.5)]
    advice = [f"Did you mean {' or '.join(near)}?"] if near else []
    if not near or len(names) <= _FEW:
        advice.append(f"Known: {', '.join(names)}.")
    return ValueError(" ".join(filter(None, [f"unknown {kind} {given!r}.", *advice, hint])))


def check_option(name: str, given: object, known: Iterable[str]) -> None:
    """Refuse a word that is none of those known; the error is that of `unknown`.

    Raises:
        ValueError: another word.
    """
    if given not in (words := tuple(known)):
        raise unknown(name, str(given), words)


def check_integer(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse what is no integer from `least` to `most`.

    Raises:
        TypeError: no integer.
        ValueError: one out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r} ({type(value).__name__})")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most:,}, got {value}")


def check_number(name: str, value: object, least: float, most: float) -> None:
    """Refuse what is no number in a range.

    Raises:
        TypeError: no number.
        ValueError: one out of range, or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__})")
    if not least <= value <= most:
        raise ValueError(f"{name} must be between {least:g} and {most:g}, got {value}")


def refuse_arguments(call: Callable[..., Any], given: Mapping[str, object], renamed: Mapping[str, str]) -> None:
    """Refuse keyword arguments that a call does not take, by its signature.

    Args:
        call: the function or class; its signature says what it takes.
        given: the arguments that came.
        renamed: old name -> what to write instead.

    Raises:
        TypeError: there is one; the message gives its new name, else near ones.
    """
    parameters = inspect.signature(call).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    for name in given:
        if name in renamed:
            raise TypeError(f"{call.__name__} has no argument {name!r} any more: write {renamed[name]} instead")
        if name not in known:
            raise TypeError(str(unknown(f"argument of {call.__name__}:", name, known)))


def hands_on(to: Callable[..., Any], *, but: Iterable[str] = ()) -> Callable[[F], F]:
    """Shows a function's `**options` as what they are: the keyword arguments of the call that they are handed on to.

    Args:
        to: that call.
        but: arguments of it that the function does not take.
    """

    def shown(function: F) -> F:
        own = inspect.signature(function)
        parameters = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        hidden = {*own.parameters, *but}
        parameters += [each for name, each in inspect.signature(to).parameters.items() if name not in hidden]
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return shown
