"""The seams at which everything meets: rankers, sequential scorers, rewards and pruning strategies.

Shapes: B batch, N candidates (padded to the largest topic), S subtopics, K horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from srd_gym.showing import short_repr
from srd_gym.topic import Topic

if TYPE_CHECKING:
    from srd_gym.core.arrays import TopicArrays

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ScoreArray = NDArray[np.float64]


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


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionStep:
    """What one step of B episodes did: all that a reward may look at."""

    __repr__ = short_repr

    topic_index: IntArray
    """[B] index of each episode's topic in the topic set."""
    rank: IntArray
    """[B] the rank just filled, counted from 0."""
    action: IntArray
    """[B] the candidate chosen, or -1 where the rank was wasted on a masked document."""
    ranking: IntArray
    """[B, K] candidates ranked so far, this step's included; -1 where empty or wasted."""
    coverage: NDArray[np.int64]
    """[B, S] how often each subtopic was covered before this step."""
    done: BoolArray
    """[B] whether this step ended the episode."""


@runtime_checkable
class Reward(Protocol):
    """A reward of the user's own; measures need none, they are rewards already."""

    name: str
    """How `info["measures"]` calls the return."""

    def bind(self, topics: TopicArrays, horizon: int) -> BoundReward:
        """Prepare for these topics (once) and return what pays each step."""


class BoundReward(Protocol):
    """A reward that knows its topics.

    It must depend on nothing but the step: snapshots, batches and single episodes then pay alike.
    """

    def __call__(self, step: SelectionStep) -> ScoreArray:
        """[B] float64, the reward of each episode's step.

        Asked only for episodes that were running, on labelled topics; unlabelled topics pay 0 unasked.
        """


@runtime_checkable
class Pruning(Protocol):
    """Decides which candidates stay on offer; the simulator owns the mask and applies what this returns."""

    def bind(self, topics: TopicArrays, horizon: int) -> BoundPruning:
        """Prepare for these topics (lazily where costly) and return the strategy at work."""


class BoundPruning(Protocol):
    """A pruning strategy that knows its topics.

    It must depend on nothing but its arguments (all read-only): snapshots, batches and single episodes are then pruned
    alike. Both methods return `[B, N] bool`, the candidates that stay; what is not allowed already stays forbidden.
    `after_step` is asked only for episodes that go on. At least `needed` candidates of each episode must stay: fewer is
    an error of the strategy.
    """

    def at_reset(self, topic_index: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        """The candidates on offer at the first rank.

        Args:
            topic_index: [B] index of each episode's topic.
            allowed: [B, N] bool, the real candidates.
            needed: [B] ranks to fill.
        """

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """The candidates on offer at the next rank.

        Args:
            topic_index: [B] index of each episode's topic.
            ranking: [B, K] candidates ranked so far, -1 where empty or wasted.
            action: [B] the candidate just ranked, -1 where the rank was wasted.
            allowed: [B, N] bool, candidates not ranked and not dropped.
            needed: [B] ranks still to fill.
        """
