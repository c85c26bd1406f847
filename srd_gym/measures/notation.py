"""Reading measures: "alpha_nDCG(alpha=0.5)@10"; the notation follows ir_measures."""

from __future__ import annotations

import ast
import re
from dataclasses import fields, replace
from types import EllipsisType
from typing import Any

from srd_gym.measures.base import Measure
from srd_gym.measures.catalogue import MEASURES, Normalization
from srd_gym.measures.reference import Normalizer
from srd_gym.names import unknown

_PATTERN = re.compile(r"\s*(?P<name>[^\s(@]+)\s*(?:\((?P<parameters>[^)]*)\))?\s*(?:@\s*(?P<cutoff>\S+))?\s*")

_ALIASES = {
    "adcg": "alpha_DCG",
    "andcg": "alpha_nDCG",
    "strec": "StRecall",
    "srecall": "StRecall",
    "subtopicrecall": "StRecall",
    "irec": "StRecall",
    "d#ndcg": "Dsharp_nDCG",
}


def _key(name: str) -> str:
    """One spelling of a name."""
    return name.casefold().replace("-", "").replace("_", "")


_FOLDED = {_key(name): name for name in MEASURES} | _ALIASES


def measure(
    what: str | Measure,
    *,
    normalizer: Normalizer | None = None,
    normalization: Normalization | EllipsisType | None = ...,
) -> Measure:
    """A measure from its notation, NAME, NAME@k or NAME(parameter=value, ...)@k.

    Names ignore case, "-" and "_", and common spellings are understood (strec, S-recall, D#-nDCG).

    Args:
        what: the notation, or a measure, which is returned as it is (but for the arguments below).
        normalizer: "pool" or "candidates", if given in place of the measure's own.
        normalization: "ndeval", "chapelle" or None, if given in place of the measure's own ("ndeval" unless written
            out); ignored by measures that have no such parameter.

    Raises:
        TypeError: neither text nor a measure.
        ValueError: an unknown name or parameter (the nearest are suggested), or a value out of range.

    Examples:
        >>> str(measure("alpha-ndcg@10"))
        'alpha_nDCG@10'
        >>> measure("ERR_IA(normalization=None)@5").plain() == measure("ERR_IA@5").plain()
        True
    """
    if isinstance(what, str):
        found = _parsed(what)
    elif isinstance(what, Measure):
        found = what
    else:
        raise TypeError(f"expected a measure or its notation such as 'alpha_nDCG@10', got {what!r}")
    changes: dict[str, Any] = {} if normalizer is None else {"normalizer": normalizer}
    if normalization is not ... and any(field.name == "normalization" for field in fields(found)):
        changes["normalization"] = normalization
    return replace(found, **changes) if changes else found


def add_measure(name: str, kind: type[Measure]) -> None:
    """Know a measure of the user's own by this name, in this process."""
    kind.name, MEASURES[name], _FOLDED[_key(name)] = name, kind, name


def _parsed(text: str) -> Measure:
    """The measure that a text stands for."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read measure {text!r}; expected NAME@k or NAME(parameter=value, ...)@k")
    key = _key(match["name"])
    if key not in _FOLDED:
        own = "One of your own is known where its recipe, or --measures, comes with --trust."
        hint = own if ":" in match["name"] else "Write it as NAME@k, e.g. alpha_nDCG@10."
        raise unknown("measure", match["name"], MEASURES, hint)
    kind = MEASURES[_FOLDED[key]]
    given = _parameters(text, kind, match["parameters"] or "")
    if match["cutoff"] is not None:
        if not match["cutoff"].isdecimal():
            raise ValueError(f"measure {text!r}: the cutoff after '@' must be a whole number, got {match['cutoff']!r}")
        given["cutoff"] = int(match["cutoff"])
    return kind(**given)


def _parameters(text: str, kind: type[Measure], inside: str) -> dict[str, Any]:
    """The parameters between the brackets."""
    known = [field.name for field in fields(kind) if field.name != "cutoff"]
    given: dict[str, Any] = {}
    for part in filter(None, map(str.strip, inside.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"measure {text!r}: expected parameter=value, got {part!r}")
        if name not in known:
            raise unknown(f"parameter of {kind.name}:", name, known)
        if name in given:
            raise ValueError(f"measure {text!r}: {name} comes twice; keep one of them")
        given[name] = _value(value)
    return given


def _value(text: str) -> Any:
    """A number, None, or a word with or without quotes."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None if text.casefold() == "none" else text
