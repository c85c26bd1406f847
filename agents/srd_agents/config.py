"""Configurations: frozen keyword-only dataclasses, built from plain values with errors that help."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from srd_gym.names import unknown

C = TypeVar("C")


def config_from(config_class: type[C], values: Mapping[str, Any], owner: str) -> C:
    """A configuration from field values.

    Args:
        config_class: a dataclass; its `__post_init__` checks the values.
        values: field name -> value; what is left out keeps its default.
        owner: whose configuration it is, for the error ("ranker 'mmr'").

    Raises:
        ValueError: a name that is no field (the message suggests the nearest), or a value out of range.
    """
    names = [field.name for field in dataclasses.fields(config_class)]  # type: ignore[arg-type]
    for name in values:
        if name not in names:
            raise unknown(f"option of {owner}:", name, names)
    return config_class(**values)


def as_values(config: Any) -> dict[str, Any]:
    """A configuration as a dict of what JSON gives back (lists, no tuples); `config_from` reads it."""
    values = dataclasses.asdict(config)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def check_between(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Refuse a number outside [low, high].

    Raises:
        TypeError: not a number.
        ValueError: not finite, or outside.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__})")
    if not math.isfinite(value) or not low <= value <= high:
        wanted = f"at least {low}" if high == math.inf else f"from {low} to {high}"
        raise ValueError(f"{name} must be a finite number {wanted}, got {value}")


def check_positive(name: str, value: float) -> None:
    """Refuse a number that is not above 0.

    Raises:
        TypeError: not a number.
        ValueError: not finite, zero or negative.
    """
    check_between(name, value, 0.0)
    if value == 0:
        raise ValueError(f"{name} must be above 0, got {value}")


def check_count(name: str, value: int, low: int = 1) -> None:
    """Refuse what is not a whole number of at least `low`.

    Raises:
        TypeError: not a whole number.
        ValueError: below `low`.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, got {value!r} ({type(value).__name__})")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")


def check_words(config: Any) -> None:
    """Refuse a configuration in which a field annotated `Literal[...]` holds none of its words.

    Raises:
        ValueError: the message suggests the nearest.
    """
    for name, hint in get_type_hints(type(config)).items():
        if get_origin(hint) is Literal:
            check_one_of(name, getattr(config, name), get_args(hint))


def check_one_of(name: str, value: str, known: Collection[str]) -> None:
    """Refuse a word that is not among the known ones.

    Raises:
        ValueError: the message suggests the nearest.
    """
    if value not in known:
        raise unknown(f"{name}:", str(value), known)
