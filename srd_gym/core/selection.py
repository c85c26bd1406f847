"""The selection task on arrays: B episodes at once, one document a step; what `SRD-v0` is a thin skin of.

Shapes: B episodes, N candidates, S subtopics, K horizon, T topics.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from srd_gym.checks import array_from, check_integer, check_option, finite_numbers, holds_truth, refuse_class
from srd_gym.core.arrays import ENOUGH, TopicArrays, Topics
from srd_gym.core.binding import table_measures
from srd_gym.core.episodes import Snapshot, Where, episode_indices
from srd_gym.core.own import made_of, notation
from srd_gym.core.protocols import BoundUsers, Pruning, Reward, SelectionStep
from srd_gym.core.pruner import Pruner
from srd_gym.core.single import SingleEpisodes
from srd_gym.core.users import Draws, Users, redrawn_user, required_users, seated_users, users_from
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.measures import BoundMeasure, Measure, Normalizer, parse_measure
from srd_gym.reading import kind_of, with_type
from srd_gym.reading import shown as as_text
from srd_gym.showing import repr_of, short_repr

OnInvalid = Literal["skip", "next", "raise"]
RewardType = Literal["dense", "sparse"]


@dataclass(frozen=True, slots=True)
class StepResult:
    """Outcome of one step of B episodes."""

    __repr__ = short_repr

    reward: ScoreArray
    """[B] float64, what the step pays; 0 for episodes that had ended before."""
    gain: ScoreArray
    """[B] float64, what the chosen document adds; the reward, unless rewards are paid only at the end."""
    invalid: BoolArray
    """[B] whether the document was masked, so that the rank stays empty."""
    terminated: BoolArray
    """[B] whether the episode has ended."""


class SelectionCore(SingleEpisodes):
    """Batched simulator of search result diversification as selection (MDP-DIV's and M2Div's task).

    An episode ranks one topic: each step fills the next rank with a candidate, until min(horizon, candidates) ranks are
    filled. The step pays the candidate's gain in an additive measure, so that the undiscounted return is the measure
    of the ranking. Choosing a candidate that is masked (ranked, padding, pruned) leaves the rank empty: it counts as a
    non-relevant document. Ended episodes stay as they are: they pay 0 and their actions are ignored.

    State arrays (see `Episodes`) belong to the core, change in place, and are read-only to callers.

    Args:
        topics: a topic set, topics in a list, or the arrays of topics.
        reward: whose gains are paid: a measure's name such as "alpha_DCG" (cutoff: the horizon), a `Measure`, users
            (`Clicks`, or their notation), or a `Reward` ("module:NAME": one whose class a command has imported with
            --trust).
        reward_type: "dense" (each gain at its step) or "sparse" (the return at the last step: MDP-DIV's ReturnOnly).
        measures: more of them for `measures()`, beside the reward's.
        horizon: K, ranks to fill; None ranks everything.
        max_candidates: N; None takes the largest topic's.
        pruning: a strategy that masks candidates; None keeps all.
        on_invalid: "skip" the rank, which stays empty (said once), take the "next" allowed candidate in candidate order
            (the retrieval order where one exists), or "raise" a ValueError and change nothing.
        normalizer: what ideal rankings are made of: "pool", "candidates", or None: the pool where all topics have one.
        episodes: B to have state arrays for before the first `reset`; such episodes count as ended.

    Raises:
        TypeError: a measure, reward or strategy of the wrong kind.
        ValueError: unknown names, an impossible horizon, or an empty topic set.
    """

    __repr__ = repr_of("arrays.topics", "reward_name", "horizon", "n_episodes")

    def __init__(
        self,
        topics: Topics,
        *,
        reward: str | Measure | Reward = "alpha_DCG",
        reward_type: RewardType = "dense",
        measures: Sequence[str | Measure] = (),
        horizon: int | None = 10,
        max_candidates: int | None = None,
        pruning: Pruning | None = None,
        on_invalid: OnInvalid = "skip",
        normalizer: Normalizer | None = None,
        episodes: int = 0,
    ) -> None:
        arrays = TopicArrays.of(topics, max_candidates)
        if horizon is None:
            horizon = arrays.max_candidates
        check_integer("horizon", horizon, 1, max(arrays.max_candidates, ENOUGH))
        super().__init__(arrays, int(horizon), episodes)
        check_option("on_invalid", on_invalid, ("skip", "next", "raise"))
        check_option("reward_type", reward_type, ("dense", "sparse"))
        self._lengths = np.minimum(self.horizon, arrays.n_candidates)
        self.on_invalid = on_invalid
        self._told_wasted = False
        self.reward_type, self.normalizer = reward_type, normalizer
        self.bound, self.users = None, None
        self.bound_measures: dict[str, BoundMeasure] = {}
        """Measures of `measures()`, by name."""
        self._paid_by = self._bind(reward, normalizer)
        self.bound_measures |= table_measures(arrays, measures, self.horizon, normalizer)
        self.covers = arrays.covers(1 if self.bound is None else self.bound.rel)
        self.pruning: Pruning | None = None
        self._pruner: Pruner | None = None
        if pruning is not None:
            self.prune_by(pruning)

    def prune_by(self, strategy: Pruning) -> None:
        """Mask candidates by this strategy from now on, in place of the present one.

        Raises:
            TypeError: no strategy.
            ValueError: one that cannot work on these topics.
        """
        self._pruner = Pruner(strategy, self.arrays, self.horizon)
        self.pruning = strategy

    def reset(self, topic_index: ArrayLike, episodes: ArrayLike | None = None, users: Users | None = None) -> None:
        """Begin episodes.

        Args:
            topic_index: [B] int, the topic of each.
            episodes: which episodes to begin anew, one per topic (each once); None: all, and B is how many topics came.
            users: where users pay (`Clicks`), one for each of these episodes, [B] int, or a generator to draw them
                from (of an expectation they may be left out); else they are ignored, and none is drawn.

        Raises:
            TypeError: users that are not integers.
            ValueError: an index out of range, shapes that do not match, or no users where they pay.
        """
        topics = np.atleast_1d(np.asarray(topic_index))
        if topics.ndim != 1 or topics.dtype.kind not in "iu":
            raise ValueError(f"topic_index must be [B] integers, got {with_type(topics)}")
        # As unsigned numbers, negative ones are huge.
        if np.count_nonzero(topics.astype(np.int64, copy=False).view(np.uint64) >= len(self.arrays)):
            raise ValueError(f"topic_index must be 0 to {len(self.arrays) - 1}, got {topics.min()} to {topics.max()}")
        if episodes is None:
            if len(topics) != self.n_episodes:
                self._allocate(len(topics))
            self._begin(slice(None), topics)
            self._seat(slice(None), users, len(topics))
            return
        where = np.asarray(episodes, dtype=np.int64)
        if where.shape != topics.shape:
            raise ValueError(f"expected one topic for each of {where.size} episodes, got {topics.size}")
        self._begin(where, topics)
        self._seat(where, users, len(topics))

    def reset_episode(self, episode: int, topic_index: int, users: Users | None = None) -> None:
        """`reset` of one episode alone, faster than a batch of one; the indices must be in range."""
        if self.users is not None:
            self._seat(slice(episode, episode + 1), users, 1)
        if self._pruner is None:
            self._begin(episode, topic_index)
        else:
            self._begin(np.array([episode]), np.array([topic_index]))

    def restore(
        self, snapshot: Snapshot, episodes: ArrayLike | None = None, users: Draws = None, *, same_future: bool = False
    ) -> None:
        """Put episodes where a snapshot says. Where users pay, each running episode gets another user.

        That user is drawn among all who would have done the same so far (clicks, rewards, an intent that is revealed),
        so that intent and future follow their exact distribution given what was observed: a search that tries actions
        and restores cannot read what a user will do.

        Args:
            snapshot: from this core, or from one with the same arguments.
            episodes: into which ones, as for `snapshot`: as many as it holds, or any number if it holds one; None:
                those it was taken of.
            users: where users pay, the generator to draw them from; else ignored.
            same_future: keep the users, so that the same actions bring the same rewards again; for tests.

        Raises:
            TypeError: episodes that are neither integers nor a mask.
            ValueError: a snapshot of another shape, other topics or another reward, episodes that do not fit, or no
                generator where users pay; or a user so unlikely that no other was found (`redrawn_user`).
        """
        who = None if same_future or self.users is None or self.users.expected else self.users
        if who is not None:
            seated_users(who, self.reward_name, users, 0)  # refuses to go without
        super().restore(snapshot, episodes)
        if who is None or users is None:
            return
        where = episode_indices(snapshot.episodes if episodes is None else episodes, self.n_episodes)
        where = where[~self._done[where] & self.arrays.labelled[self._topic_index[where]]]
        self._done[where] = True  # those in whose place nobody is found have no future
        for episode in where.tolist():
            topic, user = self._topic_index[[episode]], self._user[[episode]]
            ranking = self._ranking[[episode], : self._rank[episode]]
            self._user[episode] = redrawn_user(who, topic, ranking, user, users, rewards=self.reward_type == "dense")
            # The same where each was paid; else the new user's.
            self._gains[episode, : ranking.shape[1]] = who.pay(topic, ranking, self._user[[episode]])[0]
            self._done[episode] = False

    def step(self, actions: ArrayLike) -> StepResult:
        """Fill the next rank of every episode that has not ended.

        Args:
            actions: [B] int, the candidate that each episode chooses; ignored where it has ended.

        Raises:
            TypeError: actions that are not integers.
            ValueError: a wrong shape; a candidate index outside 0 to N - 1; with `on_invalid="raise"`, a candidate that
                is masked. Nothing has changed then.
        """
        chosen = array_from(actions)
        if chosen.dtype.kind not in "iu" or (isinstance(actions, list | tuple) and holds_truth(actions)):
            raise TypeError(f"actions must be integers (candidate indices), got {with_type(actions)}")
        if chosen.shape != (self.n_episodes,):
            raise ValueError(f"expected one action for each of {self.n_episodes} episodes, got shape {chosen.shape}")
        if not np.count_nonzero(self._done):
            paid, gain, invalid = self._advance(self._every, chosen)
            return StepResult(paid, gain, invalid, self._done.copy())
        paid, gain, invalid = np.zeros(len(chosen)), np.zeros(len(chosen)), np.zeros(len(chosen), np.bool_)
        on = (~self._done).nonzero()[0]
        if len(on):
            paid[on], gain[on], invalid[on] = self._advance(on, chosen[on])
        return StepResult(paid, gain, invalid, self._done.copy())

    def measures(self, episodes: ArrayLike | None = None) -> dict[str, ScoreArray]:
        """The measures of the rankings so far, by the names and with the values that tables print.

        The reward's comes first, then the plain sum that is paid where tables print something else (alpha_DCG, ERR_IA),
        then the others asked for; of a user's own reward the return comes first, by its name. A wasted rank counts as a
        non-relevant document. Unlabelled topics have no measures: NaN.

        Args:
            episodes: [B'] which episodes; None: all.

        Returns:
            Name -> [B'] float64.
        """
        where = np.arange(self.n_episodes) if episodes is None else np.asarray(episodes, dtype=np.int64)
        topic_index = self._topic_index[where]
        values = {} if self.bound is not None else {self.reward_name: self.returns(where)}
        rankings = self._ranking.take(where, axis=0)
        for name, bound in self.bound_measures.items():
            if name not in values:
                values[name] = bound.score_rankings(rankings, self.arrays.covers(bound.rel), topic_index)
        unlabelled = ~self.arrays.labelled[topic_index]
        for scores in values.values():
            scores[unlabelled] = np.nan
        return values

    def clicks(self, episodes: IntArray) -> BoolArray:
        """The ranks that users have clicked so far: [B', K] bool, for these episodes [B'].

        Raises:
            ValueError: no users.
        """
        who = required_users(self.users, self.reward_name)
        topics, users = self._topic_index[episodes], self._user[episodes]
        return who.clicks(topics, self._ranking[episodes], users) & self.arrays.labelled[topics, None]

    def intents(self, episodes: IntArray) -> IntArray:
        """The subtopic that each user wants: [B'] int64, -1 for none, for these episodes [B'].

        Raises:
            ValueError: no users.
        """
        who = required_users(self.users, self.reward_name)
        return who.intents(self._topic_index[episodes], self._user[episodes])

    def paid(self, episodes: IntArray) -> ScoreArray:
        """Sums of the rewards of episodes so far: [B'] float64, their returns, or 0 before they are paid at the end."""
        return self.returns(episodes) * (self._done[episodes] | (self.reward_type == "dense"))

    def candidate_gains(self) -> ScoreArray:
        """Gain of each candidate at the next rank of each episode, which a greedy oracle maximises.

        Returns:
            [B, N] float64; masked candidates have values too (mask with `allowed`), ended episodes 0.

        Raises:
            ValueError: the reward is the user's own, which has no such table.
        """
        bound = self.bound
        if bound is None:
            raise ValueError(
                f"reward {self.reward_name!r} is not a measure: gains of all candidates are not defined; give a "
                "measure as reward"
            )
        rank = np.minimum(self._rank, self.horizon - 1)
        gains = bound.candidate_gains(self.arrays.judgments[self._topic_index], self._coverage, rank, self._topic_index)
        gains[self._done] = 0.0
        return gains

    def _bind(self, reward: str | Measure | Reward, normalizer: Normalizer | None) -> str:
        """Bind what pays to the topics: a measure or a reward."""
        refuse_class("reward", reward)
        if isinstance(reward, str):
            users = users_from(reward)
            own = made_of(reward) if users is None else users
            reward = reward if own is None else own
        if isinstance(reward, str | Measure):
            paid = table_measures(self.arrays, parse_measure(reward).plain(), self.horizon, normalizer)
            ((self.reward_name, self.bound),) = paid.items()
            self.bound_measures = table_measures(self.arrays, reward, self.horizon, normalizer) | paid
        elif isinstance(reward, Reward):
            who, bound = f"reward {reward.name!r} ({type(reward).__qualname__})", reward.bind(self.arrays, self.horizon)
            if not callable(bound):
                raise TypeError(f"{who}: bind returned {as_text(bound)}; expected a function of a SelectionStep")
            self.reward_name, self._custom = reward.name, bound
            self.users = self._custom if isinstance(self._custom, BoundUsers) else None
            self._custom_name = f"{who}, one number per running episode"
        else:
            raise TypeError(
                "reward must be a measure's name such as 'alpha_DCG', a Measure, or a Reward (with `name` and `bind`), "
                f"got {kind_of(reward)}"
            )
        # The name, and a digest of what it leaves open.
        paid_by = notation(
            parse_measure(reward, normalizer=normalizer).plain() if isinstance(reward, str | Measure) else reward
        )
        digest = hashlib.blake2b(paid_by.encode(errors="surrogatepass"), digest_size=4).hexdigest()
        return f"{self.reward_name} (reward_type={self.reward_type!r}, {digest})"

    def _begin(self, episodes: Where, topics: int | IntArray) -> None:
        """Empty rankings for these topics in these episodes."""
        self._topic_index[episodes] = topics
        self._rank[episodes] = 0
        self._length[episodes] = length = self._lengths[topics]
        self._done[episodes] = False
        self._wasted[episodes] = 0
        if self.only is not None and isinstance(episodes, int):  # faster than looking for its row
            self._ranking.fill(-1)
            self._coverage.fill(0)
            self._gains.fill(0.0)
        else:
            self._ranking[episodes] = -1
            self._coverage[episodes] = 0
            self._gains[episodes] = 0.0
        if self._pruner is None:
            self._allowed[episodes] = self.arrays.present[topics]
        else:
            self._allowed[episodes] = self._pruner.at_reset(np.asarray(topics), np.asarray(length))

    def _seat(self, episodes: Where, users: Users | None, count: int) -> None:
        """Give episodes their users, where users pay."""
        if self.users is None:
            return
        self._user[episodes] = seated_users(self.users, self.reward_name, users, count)

    def _advance(self, on: IntArray, actions: IntArray) -> tuple[ScoreArray, ScoreArray, BoolArray]:
        """One step of episodes that have not ended, all or some: their (paid, gain, invalid); the batched truth."""
        n, here = self.arrays.max_candidates, slice(None) if len(on) == self.n_episodes else on
        # As unsigned numbers, negative ones are huge.
        if np.count_nonzero(actions.astype(np.int64, copy=False).view(np.uint64) >= n):
            raise self._no_such_candidate(next(a for a in actions.tolist() if not 0 <= a < n))
        topics, at, coverage = self._topic_index[here], self._rank[here], self._coverage[here]
        offered, place = self._allowed.reshape(-1), on * n + actions
        valid = offered.take(place)
        masked = np.count_nonzero(valid) < len(valid)
        if masked and self.on_invalid == "next":
            actions = np.where(valid, actions, self._allowed[here].argmax(axis=1))
            place = on * n + actions
        covered = self.covers.reshape(len(self.arrays) * n, -1).take(topics * n + actions, axis=0)
        if masked and self.on_invalid != "next":
            if not self._told_wasted:
                self._tell_masked(on, actions, int(valid.argmin()))
            covered &= valid[:, None]
            actions = np.where(valid, actions, -1)

        slot, after = on * self.horizon + at, at + 1
        ended = after >= self._length[here]
        if self.bound is not None:
            gain = self.bound.step_gains(covered, coverage, at, topics)
        else:
            gain = self._custom_gains(on, at, actions, ended)
        self._ranking.reshape(-1)[slot] = actions
        offered[place] = False
        self._gains.reshape(-1)[slot] = gain
        if masked:
            self._wasted[here] += actions < 0
        self._coverage[here] += covered
        self._rank[here], self._done[here] = after, ended
        if self._pruner is not None:
            self._prune(self._pruner, on[~ended], actions[~ended])
        if self.reward_type == "dense":
            return gain, gain, ~valid
        paid = np.zeros(len(on))
        paid[ended] = self.returns(on[ended])
        return paid, gain, ~valid

    def _custom_gains(self, on: IntArray, at: IntArray, actions: IntArray, ended: BoolArray) -> ScoreArray:
        """[A] what a user's own reward pays these episodes, checked at every step; nothing has changed yet."""
        gain = np.zeros(len(on))
        paid = self.arrays.labelled[self._topic_index[on]].nonzero()[0]
        if len(paid):
            which = on[paid]
            ranking = self._ranking[which]
            ranking[np.arange(len(paid)), at[paid]] = actions[paid]
            step = SelectionStep(
                topic_index=self._topic_index[which],
                rank=at[paid],
                action=actions[paid],
                ranking=ranking,
                coverage=self._coverage[which],
                terminated=ended[paid],
                user=self._user[which],
            )
            gain[paid] = finite_numbers(self._custom_name, self._custom(step), paid.shape)
        return gain

    def _prune(self, pruner: Pruner, on: IntArray, actions: IntArray) -> None:
        """Apply the strategy to episodes that go on, after their actions."""
        if len(on):
            left = self._length[on] - self._rank[on]
            self._allowed[on] = pruner.after_step(
                self._topic_index[on], self._ranking[on], actions, self._allowed[on], left
            )

    def _tell_masked(self, on: IntArray, actions: IntArray, first: int) -> None:
        """Refuse a masked candidate, or warn once that its rank stays empty; `first` is its place among the actions."""
        episode, action = on.item(first), actions.item(first)
        topic = self.arrays.topics[self._topic_index.item(episode)]
        if action >= topic.n_candidates:
            why = f"topic {as_text(topic.query_id)} has {topic.n_candidates} candidates, the rest is padding"
        elif action in self._ranking[episode]:
            why = f"document {as_text(topic.doc_ids[action])} is ranked already"
        else:
            why = f"document {as_text(topic.doc_ids[action])} was pruned"
        masked = f"candidate {action} is masked: {why}"
        if self.on_invalid == "raise":
            raise ValueError(f"{masked}; choose where the action mask is 1, or use on_invalid='skip'")
        self._told_wasted = True
        warnings.warn(
            f"{masked}, so its rank stays empty (said once; info['wasted'] counts): choose where info['action_mask'] "
            "is 1, as MaskablePPO does; without masks on_invalid='next' takes the next allowed candidate instead",
            stacklevel=5,
        )
