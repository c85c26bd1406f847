"""The selection task on arrays: B episodes at once, one document a step; what `SRD-v0` is a thin skin of.

Shapes: B episodes, N candidates, S subtopics, K horizon, T topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Never

import numpy as np
from numpy.typing import ArrayLike

from srd_gym.core.arrays import ENOUGH, TopicArrays, TopicSource
from srd_gym.core.episodes import Episodes, Where
from srd_gym.core.pruner import Pruner
from srd_gym.core.reward import RENAMED, bind_reward, table_measures
from srd_gym.measures import BoundMeasure, Measure
from srd_gym.measures.bound import PlainMeasure, covered_subtopics
from srd_gym.measures.reference import Normalizer
from srd_gym.names import check_integer, check_option, refuse_arguments
from srd_gym.protocols import BoolArray, IntArray, Pruning, Reward, ScoreArray, SelectionStep

OnInvalid = Literal["waste", "raise"]
Pay = Literal["step", "end"]


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step of B episodes gave."""

    reward: ScoreArray
    """[B] float64, what the step pays; 0 for episodes that had ended before."""
    gain: ScoreArray
    """[B] float64, what the chosen document adds; the reward, unless rewards are paid only at the end."""
    invalid: BoolArray
    """[B] whether the document was not on offer, so that the rank was wasted."""
    done: BoolArray
    """[B] whether the episode has ended."""


class SelectionCore(Episodes):
    """Batched simulator of search result diversification as selection (MDP-DIV's and M2Div's task).

    An episode ranks one topic: each step fills the next rank with a candidate, until min(horizon, candidates) ranks are
    filled. The step pays the candidate's gain in an additive measure, so that the undiscounted return is the measure
    of the ranking. Choosing a candidate that is not on offer (ranked, padding, pruned) wastes the rank: it counts as a
    non-relevant document. Ended episodes stay as they are: they pay 0 and their actions are ignored.

    State arrays (see `Episodes`) belong to the core, change in place, and are read-only to callers.

    Args:
        topics: a topic set, its path or name, or its arrays.
        reward: whose gains are paid: a measure's name such as "alpha_DCG" (cutoff: the horizon), a `Measure`, or a
            `Reward`.
        pay: at every "step", or the whole return at the "end" (MDP-DIV's ReturnOnly).
        measures: more of them for `measures()`, beside the reward's.
        horizon: K, ranks to fill; None ranks everything.
        max_candidates: N; None takes the largest topic's.
        pruning: a strategy that takes candidates off offer; None keeps all.
        on_invalid: "waste" the rank, or "raise" a ValueError and change nothing.
        normalizer: what ideal rankings are made of: "pool", "candidates", or None: the pool where all topics have one.
        episodes: B to have state arrays for before the first `reset`; such episodes count as ended.

    Raises:
        TypeError: a measure, reward or strategy of the wrong kind.
        ValueError: unknown names, an impossible horizon, or an empty topic set.
    """

    def __init__(
        self,
        topics: TopicSource,
        *,
        reward: str | Measure | Reward = "alpha_DCG",
        pay: Pay = "step",
        measures: Sequence[str | Measure] = (),
        horizon: int | None = 10,
        max_candidates: int | None = None,
        pruning: Pruning | None = None,
        on_invalid: OnInvalid = "waste",
        normalizer: Normalizer | None = None,
        episodes: int = 0,
        **others: Never,
    ) -> None:
        if others:
            refuse_arguments(SelectionCore, others, RENAMED)
        arrays = TopicArrays.of(topics, max_candidates)
        super().__init__(arrays, _checked_horizon(horizon, arrays.max_candidates), episodes)
        check_option("on_invalid", on_invalid, ("waste", "raise"))
        check_option("pay", pay, ("step", "end"))
        self._lengths = np.minimum(self.horizon, arrays.n_candidates)
        self.on_invalid = on_invalid
        self.pay = pay
        self.reward = bind_reward(self.arrays, reward, self.horizon, normalizer)
        self._paid, self._normalizer = reward, normalizer
        self._more_measures = table_measures(self.arrays, measures, self.horizon, normalizer)
        bound = self.reward.measure
        self.covers = self.arrays.covers(1 if bound is None else bound.rel)
        self._plain = None if bound is None else self._in_numbers(bound)
        self.pruning: Pruning | None = None
        self._pruner: Pruner | None = None
        if pruning is not None:
            self.prune_by(pruning)

    def prune_by(self, strategy: Pruning) -> None:
        """Take candidates off offer by this strategy from now on, in place of the one that is there.

        Raises:
            TypeError: no strategy.
            ValueError: one that cannot work on these topics.
        """
        self._pruner = Pruner(strategy, self.arrays, self.horizon)
        self.pruning = strategy

    def reset(self, topic_index: ArrayLike, episodes: ArrayLike | None = None) -> None:
        """Begin episodes.

        Args:
            topic_index: [B] int, the topic of each.
            episodes: which episodes to begin anew, one a topic (each once); None: all, and B is how many topics came.

        Raises:
            ValueError: an index out of range, or shapes that do not match.
        """
        topics = np.atleast_1d(np.asarray(topic_index))
        if topics.ndim != 1 or not np.issubdtype(topics.dtype, np.integer):
            raise ValueError(f"topic_index must be [B] integers, got shape {topics.shape} of {topics.dtype}")
        if len(topics) and not (topics.min() >= 0 and topics.max() < len(self.arrays)):
            raise ValueError(f"topic_index must be 0 to {len(self.arrays) - 1}, got {topics.min()} to {topics.max()}")
        if episodes is None:
            if len(topics) != self.n_episodes:
                self._allocate(len(topics))
            self._begin(slice(None), topics)
            return
        where = np.asarray(episodes, dtype=np.int64)
        if where.shape != topics.shape:
            raise ValueError(f"expected one topic for each of {where.size} episodes, got {topics.size}")
        self._begin(where, topics)

    def reset_episode(self, episode: int, topic_index: int) -> None:
        """`reset` of one episode alone, faster than a batch of one; the indices must be in range."""
        if self._pruner is None:
            self._begin(episode, topic_index)
        else:
            self._begin(np.array([episode]), np.array([topic_index]))

    def step(self, actions: ArrayLike) -> StepResult:
        """Fill the next rank of every episode that has not ended.

        Args:
            actions: [B] int, the candidate that each episode chooses; ignored where it has ended.

        Raises:
            TypeError: actions that are not integers.
            ValueError: a wrong shape; a candidate index outside 0 to N - 1; with `on_invalid="raise"`, a candidate that
                is not on offer. Nothing has changed then.
        """
        chosen = np.asarray(actions)
        if chosen.dtype.kind not in "iu":
            raise TypeError(f"actions must be integers (candidate indices), got {chosen.dtype}")
        if chosen.shape != (self.n_episodes,):
            raise ValueError(f"expected one action for each of {self.n_episodes} episodes, got shape {chosen.shape}")
        return self._advance(slice(None), chosen)

    def step_episode(self, episode: int, action: int) -> tuple[float, bool, bool]:
        """`step` of one episode alone, faster than a batch of one.

        Args:
            episode: which episode.
            action: the candidate, a Python int.

        Returns:
            (reward, invalid, done).

        Raises:
            ValueError: as `step`.
        """
        if self._plain is None:
            result = self._advance(slice(episode, episode + 1), np.array([action]))
            return result.reward.item(), result.invalid.item(), result.done.item()
        if self._done.item(episode):
            return 0.0, False, True
        if not 0 <= action < self.arrays.max_candidates:
            raise self._no_such_candidate(action)
        topic_index, rank = self._topic_index.item(episode), self._rank.item(episode)
        invalid = not self._allowed.item(episode, action)
        gain = 0.0
        if not invalid:
            gain = self._choose(self._plain, episode, topic_index, rank, action)
        elif self.on_invalid == "raise":
            raise self._not_on_offer(episode, action)
        rank += 1
        self._rank[episode] = rank
        done = rank >= self._length.item(episode)
        self._done[episode] = done
        if self._pruner is not None and not done:
            one = slice(episode, episode + 1)
            self._prune(self._pruner, one, np.array([0]), np.array([-1 if invalid else action]))
        if self.pay == "step":
            return gain, invalid, done
        return (self.episode_return(episode) if done else 0.0), invalid, done

    def measures(self, episodes: ArrayLike | None = None) -> dict[str, ScoreArray]:
        """The measures of the rankings so far, by the names and with the values that tables print.

        The reward's comes first (of a user's own reward the return, by its name), then the others asked for. A wasted
        rank counts as a non-relevant document. Unlabelled topics have no measures: NaN.

        Args:
            episodes: [B'] which episodes; None: all.

        Returns:
            Name -> [B'] float64.
        """
        where = np.arange(self.n_episodes) if episodes is None else np.asarray(episodes, dtype=np.int64)
        topic_index = self._topic_index[where]
        values = {} if self.reward.measure is not None else {self.reward.name: self.returns(where)}
        for name, bound in self._table_measures.items():
            if name not in values:
                values[name] = bound.score_rankings(self._ranking[where], self.arrays.judgments, topic_index)
        unlabelled = ~self.arrays.labelled[topic_index]
        for scores in values.values():
            scores[unlabelled] = np.nan
        return values

    def episode_measures(self, episode: int) -> dict[str, float]:
        """`measures` of one episode alone, as Python floats."""
        topic_index = self._topic_index.item(episode)
        if not self.arrays.labelled[topic_index]:
            return {name: value.item() for name, value in self.measures([episode]).items()}
        values = {} if self.reward.measure is not None else {self.reward.name: self.episode_return(episode)}
        ranking = self._ranking[episode].tolist()
        for name, measure in self._plain_measures.items():
            values.setdefault(name, measure.value(topic_index, ranking))
        return values

    def candidate_gains(self) -> ScoreArray:
        """What each candidate would add at the next rank of each episode: what a greedy oracle maximises.

        Returns:
            [B, N] float64; candidates not on offer have values too (mask with `allowed`), ended episodes 0.

        Raises:
            ValueError: the reward is the user's own, which has no such table.
        """
        bound = self.reward.measure
        if bound is None:
            raise ValueError(f"reward {self.reward.name!r} is not a measure: gains of all candidates are not defined")
        rank = np.minimum(self._rank, self.horizon - 1)
        gains = bound.candidate_gains(self.arrays.judgments[self._topic_index], self._coverage, rank, self._topic_index)
        gains[self._done] = 0.0
        return gains

    @cached_property
    def _table_measures(self) -> dict[str, BoundMeasure]:
        """The measures by name, the reward's first; bound when first asked for, as training rarely does."""
        own = [self._paid] if isinstance(self._paid, str | Measure) else []
        return table_measures(self.arrays, own, self.horizon, self._normalizer) | self._more_measures

    @cached_property
    def _plain_measures(self) -> dict[str, PlainMeasure]:
        """The same in Python numbers."""
        return {name: self._in_numbers(bound) for name, bound in self._table_measures.items()}

    def _in_numbers(self, bound: BoundMeasure) -> PlainMeasure:
        """A measure in Python numbers; what candidates cover is shared by all that share the arrays."""
        covers = self.arrays.covers(bound.rel)
        return PlainMeasure(bound, self.arrays.cache(("covered", bound.rel), lambda: covered_subtopics(covers)))

    def _begin(self, episodes: Where, topics: int | IntArray) -> None:
        """Empty rankings for these topics in these episodes."""
        self._topic_index[episodes] = topics
        self._rank[episodes] = 0
        self._length[episodes] = length = self._lengths[topics]
        self._done[episodes] = False
        self._ranking[episodes] = -1
        self._coverage[episodes] = 0
        self._gains[episodes] = 0.0
        if self._pruner is None:
            self._allowed[episodes] = self.arrays.present[topics]
        else:
            self._allowed[episodes] = self._pruner.at_reset(np.asarray(topics), np.asarray(length))

    def _advance(self, episodes: slice, actions: IntArray) -> StepResult:
        """One step of some episodes; the batched truth."""
        done, rank, topic_index = self._done[episodes], self._rank[episodes], self._topic_index[episodes]
        active = ~done
        n, going = self.arrays.max_candidates, bool(active.all())
        if not going:
            actions = np.where(active, actions, 0)
        if actions.size and not (actions.min() >= 0 and actions.max() < n):
            raise self._no_such_candidate(next(a for a in actions.tolist() if not 0 <= a < n))
        every = np.arange(len(actions))
        offered, place = self._allowed[episodes].reshape(-1), every * n + actions
        valid = offered.take(place) & active
        invalid = active & ~valid
        if self.on_invalid == "raise" and invalid.any():
            episode = int(invalid.argmax())
            raise self._not_on_offer(episodes.indices(self.n_episodes)[0] + episode, int(actions[episode]))

        covered = self.covers.reshape(len(self.arrays) * n, -1).take(topic_index * n + actions, axis=0)
        covered &= valid[:, None]
        action = np.where(valid, actions, -1)
        at = np.minimum(rank, self.horizon - 1)
        ended = rank + active >= self._length[episodes]
        on = slice(None) if going else active.nonzero()[0]
        slot = (every * self.horizon + at)[on]
        self._ranking[episodes].reshape(-1)[slot] = action[on]
        gain = self._batch_gains(episodes, at, action, covered, active, ended)
        offered[place[valid]] = False
        self._coverage[episodes] += covered
        self._gains[episodes].reshape(-1)[slot] = gain[on]
        rank += active
        done |= ended
        if self._pruner is not None and (on := np.flatnonzero(active & ~ended)).size:
            self._prune(self._pruner, episodes, on, action[on])
        paid = gain if self.pay == "step" else np.where(active & ended, self.returns(episodes), 0.0)
        return StepResult(reward=paid, gain=gain, invalid=invalid, done=done.copy())

    def _batch_gains(
        self, episodes: slice, at: IntArray, action: IntArray, covered: BoolArray, active: BoolArray, ended: BoolArray
    ) -> ScoreArray:
        """[B] what the documents just ranked add; coverage is still that before them."""
        topic_index, coverage = self._topic_index[episodes], self._coverage[episodes]
        gain = np.zeros(len(topic_index))
        if (bound := self.reward.measure) is not None:
            gain = bound.step_gains(covered, coverage, at, topic_index)
        if self.reward.custom is None:
            return gain
        paid = np.flatnonzero(active & self.arrays.labelled[topic_index])
        if len(paid):
            step = SelectionStep(
                topic_index=topic_index[paid],
                rank=at[paid],
                action=action[paid],
                ranking=self._ranking[episodes][paid],
                coverage=coverage[paid],
                done=ended[paid],
            )
            gain[paid] = self.reward.custom(step)
        return gain

    def _choose(self, measure: PlainMeasure, episode: int, topic_index: int, rank: int, action: int) -> float:
        """Rank a candidate on offer and give its gain: the fast path of one episode."""
        covered = measure.covered[topic_index][action]
        self._ranking[episode, rank] = action
        self._allowed[episode, action] = False
        if not covered:
            return 0.0
        coverage = self._coverage[episode]
        gain = measure.gain(topic_index, covered, coverage, rank)
        self._gains[episode, rank] = gain
        for subtopic in covered:
            coverage[subtopic] = coverage.item(subtopic) + 1
        return gain

    def _prune(self, pruner: Pruner, episodes: slice, on: IntArray, action: IntArray) -> None:
        """Apply the strategy to those of some episodes that go on, after their `action`."""
        left = self._length[episodes] - self._rank[episodes]
        self._allowed[episodes][on] = pruner.after_step(
            self._topic_index[episodes][on], self._ranking[episodes][on], action, self._allowed[episodes][on], left[on]
        )

    def _no_such_candidate(self, action: int) -> ValueError:
        """The error for an index that no candidate can have."""
        return ValueError(f"no candidate {action}: actions are 0 to {self.arrays.max_candidates - 1}")

    def _not_on_offer(self, episode: int, action: int) -> ValueError:
        """The error for a masked document under on_invalid="raise"."""
        topic_index = self.arrays.topics[int(self._topic_index[episode])]
        if action >= topic_index.n_candidates:
            why = f"topic {topic_index.query_id!r} has {topic_index.n_candidates} candidates, the rest is padding"
        elif action in self._ranking[episode]:
            why = f"document {topic_index.doc_ids[action]!r} is ranked already"
        else:
            why = f"document {topic_index.doc_ids[action]!r} was pruned"
        return ValueError(
            f"candidate {action} is not on offer: {why}; choose where the action mask is 1, or use on_invalid='waste'"
        )


def _checked_horizon(horizon: int | None, max_candidates: int) -> int:
    """K: the horizon as given (a topic with fewer candidates ends earlier), or room for every candidate."""
    if horizon is None:
        return max_candidates
    check_integer("horizon", horizon, 1, max(max_candidates, ENOUGH))
    return int(horizon)
