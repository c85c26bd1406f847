"""Several strategies, one after the other; strategies from text (options) and from mappings (specifications)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from srd_gym.checks import unknown
from srd_gym.core.arrays import TopicArrays
from srd_gym.core.own import made_of, notation
from srd_gym.core.protocols import BoundPruning, Pruning
from srd_gym.core.pruner import checked_strategy
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.pruning.by_ranker import ByRanker
from srd_gym.pruning.knn import KNN
from srd_gym.reading import kind_of, shown, with_type
from srd_gym.showing import short_repr


@dataclass(frozen=True)
class Chain:
    """Applies strategies in turn: each sees what the one before it left.

    Args:
        strategies: at least one.

    Raises:
        TypeError: something that is no strategy.
        ValueError: no strategy.
    """

    __repr__ = short_repr

    strategies: tuple[Any, ...]
    kind: str = field(default="chain", init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.strategies, tuple | list):
            raise TypeError(f"Chain takes a tuple of strategies, got {kind_of(self.strategies)}")
        if not self.strategies:
            raise ValueError("Chain needs at least one strategy; to drop nothing use no pruning")
        object.__setattr__(self, "strategies", tuple(checked_strategy(item) for item in self.strategies))

    def __str__(self) -> str:
        return "+".join(map(notation, self.strategies))

    def bind(self, topics: TopicArrays, horizon: int) -> BoundChain:
        """The strategies at work on these topics."""
        return BoundChain(tuple(strategy.bind(topics, horizon) for strategy in self.strategies))


@dataclass(eq=False)
class BoundChain:
    """`Chain` on known topics."""

    parts: tuple[BoundPruning, ...]

    def at_reset(self, topic_index: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        """Candidates that all strategies leave at the first rank: [B, N] bool."""
        for part in self.parts:
            allowed = allowed & part.at_reset(topic_index, allowed, needed)
        return allowed

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """Candidates that all strategies leave at the next rank: [B, N] bool."""
        for part in self.parts:
            allowed = allowed & part.after_step(topic_index, ranking, action, allowed, needed)
        return allowed


_HOW = (
    'Write "knn:FRACTION[:METRIC]" or "knn:K[:METRIC]" (K a whole number), "ranker:KEEP:WHEN:NAME_OR_FOLDER" '
    '(WHEN: reset or step), or several joined by "+".'
)

_NEXT = re.compile(r"\+(?=\s*(?:(?:knn|ranker):|[A-Za-z_][\w.]*:[A-Za-z_]))")
"""A plus sign before a further strategy; one in a folder's name is none."""


def parse_pruning(text: str) -> Pruning:
    """The strategy that a text stands for: "knn:0.3", "knn:20:cosine", "ranker:0.5:step:models/ntn-div".

    "module:NAME(argument=value)" is one of the user's own, where a command has imported its class with --trust.

    Raises:
        TypeError: no text.
        ValueError: a text that stands for none, or values out of range.
    """
    if not isinstance(text, str):
        raise TypeError(f"a pruning description is text, got {with_type(text)}. {_HOW}")
    parts = [_one(part.strip(), text) for part in _NEXT.split(text)]
    return parts[0] if len(parts) == 1 else Chain(tuple(parts))


def pruning_from(value: object) -> Pruning:
    """A strategy as it is, or the one that a text or a mapping describes (`dataclasses.asdict` of it, as in a spec).

    Raises:
        TypeError: none of these, or an unknown field.
        ValueError: an unknown kind; near names are suggested.
    """
    if isinstance(value, str):
        return parse_pruning(value)
    if not isinstance(value, Mapping):
        return checked_strategy(value)
    kinds: dict[str, Any] = {"knn": KNN, "by_ranker": ByRanker, "chain": Chain}
    fields = dict(value)
    kind = str(fields.pop("kind", None))
    if kind not in kinds:
        raise unknown("kind of pruning", kind, kinds)
    chosen = kinds[kind]
    if chosen is Chain and isinstance(fields.get("strategies"), tuple | list):
        fields["strategies"] = tuple(pruning_from(item) for item in fields["strategies"])
    made: Pruning = chosen(**fields)
    return made


def _one(part: str, text: str) -> Pruning:
    """One strategy of a description."""
    kind, *rest = part.split(":", 3 if part.startswith("ranker:") else -1)
    if kind == "knn" and 1 <= len(rest) <= 2:
        size = _number(rest[0], text)
        metric: Any = rest[1] if len(rest) == 2 else "euclidean"
        return KNN(k=size, metric=metric) if isinstance(size, int) else KNN(size, metric=metric)
    if kind == "ranker" and len(rest) == 3 and rest[1] in ("reset", "step") and rest[2]:
        when: Any = rest[1]
        return ByRanker(rest[2], _number(rest[0], text), when=when)
    if kind not in ("knn", "ranker") and (own := made_of(part)) is not None:
        return checked_strategy(own)
    raise ValueError(f"cannot read the pruning description {shown(text)}. {_HOW}")


def _number(word: str, text: str) -> int | float:
    """A whole number where it is written as one, else a float."""
    try:
        return int(word) if word.isdecimal() else float(word)
    except ValueError:
        raise ValueError(
            f"cannot read the number {shown(word)} in the pruning description {shown(text)}. {_HOW}"
        ) from None
