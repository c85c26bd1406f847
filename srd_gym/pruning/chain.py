"""Several strategies, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from srd_gym.core.pruner import checked_strategy
from srd_gym.protocols import BoolArray, BoundPruning, IntArray

if TYPE_CHECKING:
    from srd_gym.core.arrays import TopicArrays


@dataclass(frozen=True)
class Chain:
    """Applies strategies in turn: each sees what the one before it left.

    Args:
        strategies: at least one.

    Raises:
        TypeError: something that is no strategy.
        ValueError: no strategy.
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
        return BoundChain(tuple(strategy.bind(topics, horizon) for strategy in self.strategies))


@dataclass(eq=False)
class BoundChain:
    """`Chain` on known topics."""

    parts: tuple[BoundPruning, ...]

    def at_reset(self, topic_index: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        """What all strategies leave at the first rank: [B, N] bool."""
        for part in self.parts:
            allowed = allowed & part.at_reset(topic_index, allowed, needed)
        return allowed

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """What all strategies leave at the next rank: [B, N] bool."""
        for part in self.parts:
            allowed = allowed & part.after_step(topic_index, ranking, action, allowed, needed)
        return allowed
