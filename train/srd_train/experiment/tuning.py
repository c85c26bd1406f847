"""Choosing among configurations on the validation topics; the test topics play no part."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One configuration and how it did on the validation topics."""

    values: Values
    """Option -> value."""
    score: float | None
    """The measure of the choice, higher is better; None where nothing was measured, as there was no choice."""


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[Values]:
    """All combinations of a grid's values, the last option varying fastest; one empty combination for no grid.

    Raises:
        ValueError: an option without values.
    """
    for name, values in grid.items():
        if not values:
            raise ValueError(f"option {name!r} has no values to try; give at least one")
    return [dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*grid.values())]


def choose(
    candidates: Sequence[Values], score: Callable[[Values], float], tried: Callable[[Trial], None] | None = None
) -> tuple[Trial, list[Trial]]:
    """The configuration with the highest score; the first of equals.

    Args:
        candidates: at least one configuration.
        score: its measure on the validation topics.
        tried: called after each.

    Returns:
        The best, and all in the order tried.
    """
    trials: list[Trial] = []
    for values in candidates:
        trials.append(Trial(values=values, score=score(values)))
        if tried is not None:
            tried(trials[-1])
    return max(trials, key=lambda trial: -math.inf if trial.score is None else trial.score), trials
