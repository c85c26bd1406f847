"""Protocols of the selection core: rewards, pruning strategies, and the step that they look at.

Shapes: B batch, N candidates (padded to the largest topic), S subtopics, K horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from srd_gym.core.arrays import TopicArrays
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.showing import short_repr


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionStep:
    """One step of B episodes: all that a reward may look at."""

    __repr__ = short_repr

    topic_index: IntArray
    """[B] index of each episode's topic in the topic set."""
    rank: IntArray
    """[B] the rank just filled, counted from 0."""
    action: IntArray
    """[B] the candidate chosen, or -1 where the rank was wasted on a masked document."""
    ranking: IntArray
    """[B, K] candidates ranked so far, this step's included; -1 where empty or wasted."""
    coverage: IntArray
    """[B, S] how often each subtopic was covered before this step."""
    terminated: BoolArray
    """[B] whether this step ended the episode."""
    user: IntArray
    """[B] each episode's user, where the reward is what users do; else 0."""


@runtime_checkable
class Reward(Protocol):
    """A reward of the user's own; measures need none, they are rewards already."""

    @property
    def name(self) -> str:
        """Name of the return in `info["measures"]`."""

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
class BoundUsers(BoundReward, Protocol):
    """A reward that pays what simulated users do, such as `srd_gym.core.users.BoundClicks`.

    Each episode has a user, an integer that seeds all that the user does.
    """

    expected: bool
    """Whether it pays the expectation over users: episodes then need none."""
    reveal_intent: bool
    """Whether infos tell the user's intent."""
    depth: int
    """L, ranks that users look at."""

    def pay(self, topics: IntArray, rankings: IntArray, users: IntArray) -> ScoreArray:
        """[B, L] float64, what each rank of rankings [B, L] of these topics [B] pays."""

    def intents(self, topics: IntArray, users: IntArray) -> IntArray:
        """[B] int64, the subtopic that each user wants; -1 where there is none."""

    def clicks(self, topics: IntArray, rankings: IntArray, users: IntArray) -> BoolArray:
        """[B, L] bool, the ranks that users click."""


@runtime_checkable
class Pruning(Protocol):
    """Decides which candidates stay allowed; the simulator owns the mask and applies what this returns."""

    def bind(self, topics: TopicArrays, horizon: int) -> BoundPruning:
        """Prepare for these topics (lazily where costly) and return the strategy at work."""


@runtime_checkable
class BoundPruning(Protocol):
    """A pruning strategy that knows its topics.

    It must depend on nothing but its arguments (all read-only): snapshots, batches and single episodes are then pruned
    alike. Both methods return `[B, N] bool`, the candidates that stay; what is not allowed already stays forbidden.
    `after_step` is asked only for episodes that go on. At least `needed` candidates of each episode must stay: fewer is
    an error of the strategy.
    """

    def at_reset(self, topic_index: IntArray, allowed: BoolArray, needed: IntArray) -> BoolArray:
        """The allowed candidates at the first rank.

        Args:
            topic_index: [B] index of each episode's topic.
            allowed: [B, N] bool, the real candidates.
            needed: [B] ranks to fill.
        """

    def after_step(
        self, topic_index: IntArray, ranking: IntArray, action: IntArray, allowed: BoolArray, needed: IntArray
    ) -> BoolArray:
        """The allowed candidates at the next rank.

        Args:
            topic_index: [B] index of each episode's topic.
            ranking: [B, K] candidates ranked so far, -1 where empty or wasted.
            action: [B] the candidate just ranked, -1 where the rank was wasted.
            allowed: [B, N] bool, candidates not ranked and not dropped.
            needed: [B] ranks still to fill.
        """
