"""Several strategies, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from srd_gym.core.pruner import checked_strategy
from srd_gym.protocols import BoolArray, BoundPruning, IntArray, Pruning

if TYPE_CHECKING:
    from srd_gym.core.arrays import TopicArrays


@dataclass(frozen=True)
class Chain:
    """Applies strategies in turn: each sees what the one before it left.

    Args:
        strategies: at least one.

    Raises:
        TypeError: something that is no strategy.
        ValueError: no strategy; when bound, one that re-admits, as it would bring back what the others dropped.
    """

    strategies: tuple[Any, ...]
    kind: str = field(default="chain", init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.strategies, tuple | list):
            raise TypeError(f"Chain takes a tuple of strategies, got {type(self.strategies).__name__}")
        if not self.strategies:
            raise ValueError("Chain needs at least one strategy; to drop nothing use no pruning")
        object.__setattr__(self, "strategies", tuple(checked_strategy(item) for item in self.strategies))

    def bind(self, topics: TopicArrays, horizon: int) -> BoundChain:
        """The strategies at work on these topics."""
        bound = tuple(strategy.bind(topics, horizon) for strategy in self.strategies)
        for strategy, one in zip(self.strategies, bound, strict=True):
            if one.readmits and len(bound) > 1:
                raise ValueError(
                    f"{type(strategy).__name__} re-admits candidates and so would bring back what the other strategies "
                    "of the chain dropped; use it alone, or without re-admission"
                )
        return BoundChain(bound, any(one.readmits for one in bound))

    def describe(self) -> str:
        """The notation that `parse_pruning` reads: "knn:0.1+ranker:0.5:reset:mmr"."""
        return "+".join(_described(strategy) for strategy in self.strategies)


@dataclass(eq=False)
class BoundChain:
    """`Chain` on known topics."""

    parts: tuple[BoundPruning, ...]
    readmits: bool

    def at_reset(self, topic_index: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        """What all strategies leave at the first rank: [B, N] bool."""
        for part in self.parts:
            allowed = self._joined(part, part.at_reset(topic_index, allowed, needed), allowed)
        return allowed

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """What all strategies leave at the next rank: [B, N] bool."""
        for part in self.parts:
            allowed = self._joined(part, part.after_step(topic_index, ranking, action, allowed, needed), allowed)
        return allowed

    def _joined(self, part: BoundPruning, kept: BoolArray, allowed: BoolArray) -> BoolArray:
        """What a strategy keeps of what it was shown; one that re-admits stands alone."""
        return kept if part.readmits else kept & allowed


def _described(strategy: Pruning) -> str:
    """A strategy's notation, or its name where it has none."""
    describe = getattr(strategy, "describe", None)
    return str(describe()) if callable(describe) else type(strategy).__name__
