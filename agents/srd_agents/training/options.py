"""Options of rankers: frozen keyword-only dataclasses, built from plain values with errors that help."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from srd_gym.checks import check_integer, check_number, check_option, check_positive, unknown
from srd_gym.core.own import notation
from srd_gym.measures import Measure
from srd_gym.protocols import Pruning, Reward
from srd_gym.reading import plain, shown, with_type
from srd_gym.showing import short_repr

C = TypeVar("C")
Check = Callable[[str, Any], None]
"""Refuses a value of an option: called with its name and the value."""

_EXPECTED: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    tuple: "a list",
    list: "a list",
    dict: "a table",
    Mapping: "a table",
    Measure: "a measure",
    Reward: "a reward (an object with `name` and `bind`)",
    Pruning: "a pruning strategy (an object with `bind`)",
}
"""Names of types in errors."""
_PASSING: Mapping[Any, Any] = {float: (int, float), tuple: (tuple, list), Literal: str}
"""Values that pass for a type beside its own instances: whole numbers, lists, and text for a word."""

Count = Annotated[int, partial(check_integer, least=1)]
"""A whole number of at least 1."""
CountFromZero = Annotated[int, partial(check_integer, least=0)]
"""A whole number of at least 0."""
Positive = Annotated[float, check_positive]
"""A number above 0."""
NotNegative = Annotated[float, partial(check_number, least=0.0)]
"""A number of at least 0."""
Share = Annotated[float, partial(check_number, least=0.0, most=1.0)]
"""A number from 0 to 1."""
MeasureOption = str | Measure
"""A measure, or its notation."""
RewardOption = str | Measure | Reward
"""Reward: a measure, its notation, or a reward of the user's own (in text "module:NAME(argument=value)")."""
PruningOption = str | Pruning | None
"""A pruning strategy, or its notation; None: none."""


def at_least(low: int) -> Check:
    """The check of a field of whole numbers, one or several, if any; each of several comes once."""

    def check(name: str, value: object) -> None:
        numbers = value if isinstance(value, tuple) else (value,)
        for number in numbers:
            if number is not None:
                check_integer(name, number, low)
            if numbers.count(number) > 1:
                raise ValueError(f"{name} holds {number} twice; keep one of them")

    return check


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """The options of a ranker; as it is, of one that takes none.

    Lists are kept as tuples where a field's annotation says tuple, and numbers of numpy as Python's.

    Raises:
        TypeError: a value of another type than its field's annotation says.
        ValueError: a value out of the range of its annotation, or none of the words of a `Literal` (the message
            suggests the nearest).
    """

    def __init_subclass__(cls) -> None:
        cls.__repr__ = short_repr  # type: ignore[method-assign]  # before the dataclass makes one of all fields

    def __post_init__(self) -> None:
        check_fields(self)


def check_fields(made: object) -> None:
    """Refuse values of a dataclass that are not of the types and in the ranges of its fields' annotations.

    Values that are the fields' defaults are not looked at.

    Raises:
        TypeError, ValueError: as `Config`.
    """
    kind: object = type(made)
    for name, default, hint, ranges in _fields(kind):
        if (value := getattr(made, name)) is default:
            continue
        check_type(name, value := plain(value), hint)
        if isinstance(value, (list, tuple)) and get_origin(hint) is tuple:
            value = tuple(map(plain, value))
        if value is not getattr(made, name):
            object.__setattr__(made, name, value)
        for check in ranges:
            check(name, value)


@cache
def _fields(kind: Any) -> list[tuple[str, Any, object, tuple[Check, ...]]]:
    """Name, default, type and checks of a dataclass's fields; kept, as reading them takes longer than building it."""
    hints, whole = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    ranges = {name: hint.__metadata__ if get_origin(hint) is Annotated else () for name, hint in whole.items()}
    return [(one.name, one.default, hints[one.name], ranges[one.name]) for one in dataclasses.fields(kind)]


def config_from(config_class: type[C], values: Mapping[str, object], owner: str) -> C:
    """A configuration from field values.

    Args:
        config_class: a dataclass; one that is no `Config` is checked as if it were.
        values: field name -> value; what is left out keeps its default.
        owner: whose configuration it is, for the error ("ranker 'mmr'").

    Raises:
        TypeError, ValueError: as `Config`, or a name that is no field (the message suggests the nearest).
    """
    kind: Any = config_class
    all_fields = dataclasses.fields(kind)
    names = [field.name for field in all_fields]
    needed = [field.name for field in all_fields if field.default is field.default_factory is dataclasses.MISSING]
    for name in values:
        if name not in names:
            raise unknown(f"option of {owner}:", name, names)
    if missing := [name for name in needed if name not in values]:
        raise ValueError(f"no {' and no '.join(missing)}; expected {', '.join(needed)}")
    try:
        made = config_class(**values)
        if not isinstance(made, Config):
            check_fields(made)
    except TypeError as error:
        raise TypeError(f"{owner}: {error}") from None
    return made


def as_values(config: Any) -> dict[str, object]:
    """A configuration as a dict of what JSON gives back; `config_from` reads it.

    Tuples become lists, and measures, rewards and pruning strategies their text (`srd_gym.core.own.notation`).
    """
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return {
        name: notation(value) if hasattr(value, "bind") else list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
    }


def check_type(name: str, value: object, hint: object) -> None:
    """Refuse a value that is not of the type that a field is annotated with.

    Args:
        name: of the field, for the error.
        value: what came.
        hint: bool, int, float (whole numbers are numbers too), str, None, a `Literal`, a tuple of any length (of which
            files make lists), a list, a mapping with text for keys, another class, `Any`, or a union of these.

    Raises:
        TypeError: of another type; True and False are no numbers, and a class is no object of it.
        ValueError: none of a `Literal`'s words (the message suggests the nearest), or no finite number.
    """
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for kind in kinds:
        origin = get_origin(kind) or kind
        is_odd = isinstance(value, type) or (isinstance(value, bool) and origin in (int, float))
        if origin in (Any, object) or (not is_odd and isinstance(value, _PASSING.get(origin, origin))):
            break
    else:
        expected = " or ".join(_called(kind, value) for kind in kinds if kind is not NoneType)
        advice = f"; make one: {value.__name__}(...)" if isinstance(value, type) else ""
        raise TypeError(f"{name} must be {expected}, got {with_type(value)}{advice}")
    inner = get_args(kind)
    if isinstance(value, (int, float)) and not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name} must be a finite number, got {value}")
    if origin is Literal:
        check_option(f"{name}:", value, inner)
    elif inner and isinstance(value, Mapping):
        for key, entry in value.items():
            check_type(f"{shown(key)} in {name}", entry, inner[1])
    elif inner and isinstance(value, (tuple, list)):
        for number, entry in enumerate(value, start=1):
            check_type(f"entry {number} of {name}", plain(entry), inner[0])


def _called(hint: Any, value: object) -> str:
    """Name in an error of the type that a value should have."""
    kind = get_origin(hint) or hint
    if kind is Literal:
        return f"one of {', '.join(map(repr, get_args(hint)))}"
    example = f", as [{shown(value)}]" if kind is tuple and isinstance(value, str) else ""
    return f"{_EXPECTED.get(kind, kind.__name__)}{example}"
