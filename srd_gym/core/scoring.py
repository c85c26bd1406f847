"""The scoring task on arrays: every candidate scores itself and the list is sorted once; `scoring_v0` is a thin skin.

Shapes: B episodes, N candidates, A scores, L ranks that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from srd_gym.checks import check_integer, check_option
from srd_gym.core.arrays import ENOUGH, TopicArrays, Topics
from srd_gym.core.binding import table_measures
from srd_gym.core.protocols import BoundUsers, Reward
from srd_gym.core.users import Clicks, Users, required_users, seated_users, users_from
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.measures import BoundMeasure, Measure, Normalizer, parse_measure
from srd_gym.reading import kind_of, shown, with_type
from srd_gym.showing import repr_of

Ties = Literal["retrieval", "random"]


class ScoringCore:
    """Batched simulator of search result diversification as joint scoring (MA4DIV's task, Chen et al. 2025).

    An episode is one step: each candidate of a topic gets an integer score from 0 to A - 1, candidates are sorted by
    score, best first, and all are paid alike with a measure of the list. Scores of padding are ignored.

    Args:
        topics: a topic set, topics in a list, or the arrays of topics.
        reward: the measure of the list that is paid: a name, a `Measure`, or several whose values are added up (the
            published code pays alpha_nDCG at two cutoffs). A measure without a cutoff is of the whole list. Users
            (`Clicks`, or their notation) stand alone: the list is paid what one of them does.
        measures: more of them for `measures()`, beside the reward's.
        n_scores: A, at least 2.
        ties: "retrieval" breaks ties by candidate order (the retrieval order where one exists, else the set's fixed
            shuffle); "random" by the generator passed to each call.
        max_candidates: N; None takes the largest topic's.
        normalizer: what ideal rankings are made of: "pool", "candidates", or None: the pool where all topics have one.

    Raises:
        TypeError: a measure of the wrong kind.
        ValueError: unknown names, no measure, fewer than 2 scores, or an empty topic set.
    """

    __repr__ = repr_of("arrays.topics", "reward_name", "n_scores")

    def __init__(
        self,
        topics: Topics,
        *,
        reward: str | Measure | Reward | Sequence[str | Measure] = "alpha_nDCG@10",
        measures: Sequence[str | Measure] = (),
        normalizer: Normalizer | None = None,
        n_scores: int = 30,
        ties: Ties = "retrieval",
        max_candidates: int | None = None,
    ) -> None:
        self.arrays = TopicArrays.of(topics, max_candidates)
        check_integer("n_scores", n_scores, 2, ENOUGH)
        self.n_scores = int(n_scores)
        check_option("ties", ties, ("retrieval", "random"))
        self.ties = ties
        n = self.arrays.max_candidates
        items: list[Any] = [reward] if isinstance(reward, str | Measure | Reward) else list(reward)
        self.users: BoundUsers | None = None
        """The users who pay, where the reward is what they do."""
        self.bound_measures: dict[str, BoundMeasure] = {}
        if len(items) == 1 and (users := _users_of(items[0])) is not None:
            self.users, self.reward_name = users.bind(self.arrays, n), users.name
            self.depth = self.users.depth
        else:
            self._pay_measures(items, normalizer)
        self.bound_measures |= table_measures(self.arrays, measures, n, normalizer)
        users_first = [] if self.users is None else [self.reward_name]
        self.measure_names: tuple[str, ...] = (*users_first, *self.bound_measures)
        """Names of what is told of a list at its end: where users pay first what one of them did, then `measures`."""

    def _pay_measures(self, items: Sequence[str | Measure], normalizer: Normalizer | None) -> None:
        """Pay the sum of these measures."""
        n = self.arrays.max_candidates
        paid = table_measures(self.arrays, [parse_measure(item).plain() for item in items], n, normalizer)
        if not items or len(paid) < len(items):
            raise ValueError(f"expected at least one measure to pay, none of which is duplicated, got {shown(items)}")
        self.paid_measures = tuple(paid.values())
        self.bound_measures = table_measures(self.arrays, items, n, normalizer) | paid
        self.reward_name = " + ".join(paid)
        """The measure that is paid, by the name that tables give it; of several, their sum."""
        self.depth = max(bound.ranks for bound in self.paid_measures)
        """L: ranks below it earn nothing."""

    def rank(
        self,
        topic_index: ArrayLike,
        scores: ArrayLike,
        generator: np.random.Generator | Sequence[np.random.Generator] | None = None,
    ) -> IntArray:
        """Candidates sorted by score, best first.

        Args:
            topic_index: [B] int, the topic of each list.
            scores: [B, N] int, 0 to A - 1; entries of padding are ignored.
            generator: breaks ties where `ties="random"`: one, or one of each list.

        Returns:
            [B, N] int64 candidate indices; -1 from the topic's number of candidates on.

        Raises:
            TypeError: scores that are not integers.
            ValueError: a wrong shape, a score out of range, or no generator where one is needed.
        """
        topics, keys, present = self._checked(topic_index, scores)
        if self.ties == "retrieval":
            order = np.argsort(np.where(present, -keys, 1), axis=1, kind="stable")
        elif generator is None:
            raise ValueError("ties='random' needs a generator: pass one (np.random.default_rng(seed))")
        else:
            if isinstance(generator, np.random.Generator):
                draws = generator.random(keys.shape)
            else:
                draws = np.stack([each.random(keys.shape[1]) for each in generator])
            # Scores are whole numbers: a uniform draw below 1 orders ties and nothing else.
            order = np.argsort(np.where(present, -keys - draws, 1.0), axis=1)
        return np.where(np.arange(keys.shape[1]) < self.arrays.n_candidates[topics][:, None], order, -1)

    def step(
        self,
        topic_index: ArrayLike,
        scores: ArrayLike,
        generator: np.random.Generator | None = None,
        users: Users | None = None,
    ) -> ScoreArray:
        """The reward of each episode: the (sum of the) measure of its sorted list; 0 on an unlabelled topic.

        Args:
            topic_index: [B] int, the topic of each list.
            scores: [B, N] int, 0 to A - 1; entries of padding are ignored.
            generator: breaks ties where `ties="random"`, and draws users where none are given.
            users: as for `rewards`.

        Returns:
            [B] float64.

        Raises:
            TypeError: scores that are not integers.
            ValueError: as `rank` and `rewards`.
        """
        rankings = self.rank(topic_index, scores, generator)
        return self.rewards(topic_index, rankings, generator if users is None else users)

    def rewards(self, topic_index: ArrayLike, rankings: IntArray, users: Users | None = None) -> ScoreArray:
        """Rewards of lists.

        Args:
            topic_index: [B] int, the topic of each list.
            rankings: [B, L'] candidate indices, -1 where empty.
            users: where users pay, one for each list, or a generator to draw them from; else ignored.

        Returns:
            [B] float64; 0 on an unlabelled topic.

        Raises:
            TypeError, ValueError: users that are none, or no users where they pay.
        """
        cut = rankings[:, : self.depth]
        if self.users is not None:
            topics = np.asarray(topic_index, dtype=np.int64)
            seated = seated_users(self.users, self.reward_name, users, len(topics))
            paid: ScoreArray = self.users.pay(topics, cut, seated).sum(axis=1) * self.arrays.labelled[topics]
            return paid
        values = (bound.score_rankings(cut, self.arrays.judgments, topic_index) for bound in self.paid_measures)
        return sum(values, np.zeros(len(rankings)))

    def measures(self, topic_index: ArrayLike, rankings: IntArray) -> dict[str, ScoreArray]:
        """The measures of lists, by the names and with the values that tables print.

        The reward's come first, then the plain sums that are paid where tables print something else (alpha_DCG,
        ERR_IA), then the others asked for.

        Args:
            topic_index: [B] int, the topic of each list.
            rankings: [B, L'] candidate indices, -1 where empty.

        Returns:
            Name -> [B] float64; 0 on an unlabelled topic.
        """
        return {
            name: bound.score_rankings(rankings[:, : bound.ranks], self.arrays.judgments, topic_index)
            for name, bound in self.bound_measures.items()
        }

    def clicks(self, topic_index: ArrayLike, rankings: IntArray, users: IntArray) -> BoolArray:
        """The ranks that users click: [B, L'] bool.

        Args:
            topic_index: [B] int, the topic of each list.
            rankings: [B, L'] candidate indices, -1 where empty.
            users: [B].

        Raises:
            ValueError: the reward has no users.
        """
        topics = np.asarray(topic_index, dtype=np.int64)
        clicks = np.zeros(rankings.shape, np.bool_)
        told = required_users(self.users, self.reward_name).clicks(topics, rankings[:, : self.depth], users)
        clicks[:, : self.depth] = told & self.arrays.labelled[topics, None]
        return clicks

    def _checked(self, topic_index: ArrayLike, scores: ArrayLike) -> tuple[IntArray, IntArray, BoolArray]:
        """Topics [B], scores [B, N] and which of them are of real candidates [B, N]."""
        topics = np.atleast_1d(np.asarray(topic_index, dtype=np.int64))
        given = np.asarray(scores)
        expected = (len(topics), self.arrays.max_candidates)
        if not np.issubdtype(given.dtype, np.integer):
            raise TypeError(f"scores must be integers from 0 to {self.n_scores - 1}, got {with_type(given)}")
        if given.shape != expected:
            raise ValueError(f"expected scores of shape {expected} (episodes, candidates), got {given.shape}")
        present = self.arrays.present[topics]
        wrong = present & ((given < 0) | (given >= self.n_scores))
        if wrong.any():
            episode, document = np.argwhere(wrong)[0].tolist()
            raise ValueError(
                f"score {int(given[episode, document])} of candidate {document} in episode {episode} is out of range; "
                f"expected 0 to {self.n_scores - 1}"
            )
        return topics, given.astype(np.int64, copy=False), present


def _users_of(reward: object) -> Clicks | None:
    """The users that a reward is, or stands for; None where it is a measure.

    Raises:
        TypeError: another reward.
    """
    if isinstance(reward, str):
        return users_from(reward)
    if isinstance(reward, Measure) or not isinstance(reward, Reward):
        return None
    if not isinstance(reward, Clicks):
        raise TypeError(f"the scoring task takes measures or users (Clicks) as reward, got {kind_of(reward)}")
    return reward
