"""The seams at which everything meets: rankers, sequential scorers, rewards and pruning strategies.

Shapes: N candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from srd_gym.core.protocols import BoundPruning, BoundReward, Pruning, Reward, SelectionStep
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.topic import Topic

__all__ = ["BoundPruning", "BoundReward", "Pruning", "Ranker", "Reward", "SelectionStep", "SequentialScorer"]


@runtime_checkable
class Ranker(Protocol):
    """Anything that turns a topic into a ranking: a heuristic, a learned model, a third-party policy."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents of the topic, best first.

        Returns:
            [min(k, N)] int64, distinct candidate indices.
        """

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic, in their order; the same rankings as one by one."""


@runtime_checkable
class SequentialScorer(Protocol):
    """Scores candidates given those already ranked: what greedy rankers and pruning by a ranker ask for."""

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """Score of each candidate as the next document.

        Args:
            topic: the topic.
            selected: [r] int64, candidates ranked so far, in order.
            allowed: [N] bool, candidates that may come next.

        Returns:
            [N] float64; entries that are not allowed are ignored.
        """
