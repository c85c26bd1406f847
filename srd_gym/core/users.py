"""Users who click: a simulated user with one intent reads a ranking from the top, and is the reward.

A user is a number. It seeds all that the user does, so what happens is a function of user and ranking alone: snapshots,
batches and single episodes agree, and one user can read two rankings.

Shapes: B episodes, L ranks, K horizon, N candidates, S subtopics, T topics.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_integer, check_number, check_option
from srd_gym.core.arrays import TopicArrays
from srd_gym.core.own import called
from srd_gym.core.protocols import BoundUsers, SelectionStep
from srd_gym.dtypes import AnyArray, BoolArray, IntArray, ScoreArray
from srd_gym.reading import plain, shown

Model = Literal["cascade", "dbn", "pbm"]
Pays = Literal["click", "satisfaction", "reciprocal_rank"]
Users = NDArray[np.integer[Any]] | Sequence[int] | np.random.Generator
"""Users of B episodes: [B] integers from 0, or a generator to draw them from."""
Draws = np.random.Generator | None
"""Draws users where they pay; else it may be left out."""

_TEXT = re.compile(r"Clicks\s*(?:\((?P<arguments>.*)\)\s*)?(?:@\s*(?P<cutoff>[0-9]+))?", re.DOTALL)
SPLITMIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Constants of SplitMix64 (Steele et al. 2014), from which users draw."""
DRAWS = 3
"""Random numbers of a user at each rank: whether attracted, whether satisfied, whether to go on."""
_MOST_DRAWN, _MOST_NUMBERS = 1_000_000, 200_000
"""Users drawn in place of one at most; and ranks that they are shown at a time, in all."""


@dataclass(frozen=True, kw_only=True)
class Clicks:
    """Reward: a user with one intent, drawn from the topic's subtopic weights, clicks (or not) on what is shown.

    The document at a rank is judged g on the user's intent. A user who examines it clicks with probability
    `attraction`, and is then satisfied with probability `satisfaction`, both by the grade g. The models say who
    examines the next rank:

    - "cascade" (Craswell et al. 2008): users read from the top, and stop at their first click;
    - "dbn" (Chapelle & Zhang 2009): they stop once satisfied; a click alone does not stop them;
    - "pbm": rank r (from 1) is examined with probability r ** -decay, whatever was clicked.

    Cascade and DBN users who do not stop go on with probability `patience`; `boredom` lowers it to
    patience * (1 - boredom) after a document that covers no subtopic which those above leave uncovered (a wasted rank
    covers none).

    The expectation is exact and an additive measure where grades are binary (alpha = attraction * satisfaction, p the
    normalised weights): with the cascade, the expected reciprocal rank is alpha * sum_s p_s j_s (1-alpha)^c_s / r, the
    plain ERR_IA times alpha over the sum of the weights; P(satisfied) of the DBN with patience beta is
    alpha / (1 - (1-alpha) beta) times NRBP (its weights normalised over all subtopics). PBM users never stop: what they
    pay is linear in the documents shown, so **PBM cannot reward novelty**.

    Users with an intent that no document covers leave without a click (but for noise). All ranks of an episode are
    played, also after the user has left: a page of results is shown at once.

    Args:
        model: "cascade", "dbn" or "pbm".
        pays: 1 for each "click" or each "satisfaction", or the "reciprocal_rank" of each satisfaction (cascade and DBN
            users are satisfied at most once).
        attraction: probability of a click on a relevant document that is examined (grade 1 or more); a sequence gives
            it by grade, 0 and below first, the last for all higher ones.
        satisfaction: probability that a click on a relevant document satisfies; a sequence gives it by grade.
        noise: probability of a click on a document that is not relevant; with a sequence in `attraction` its first.
        patience: probability to go on ("cascade", "dbn"), 0 to 1.
        boredom: how much of the patience a document without anything new takes ("cascade", "dbn"), 0 to 1.
        decay: of examination by rank ("pbm"), at least 0.
        expected: pay the exact expectation over users in place of what one user does.
        reveal_intent: tell the user's intent in `info["intent"]`; only for teaching, as it is a label.
        cutoff: ranks that users look at; None: all that are shown.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: an unknown word, a probability outside 0 to 1, or an option that the model does not have.

    Examples:
        >>> str(Clicks(model="dbn", patience=0.8, cutoff=10))
        "Clicks(model='dbn', patience=0.8)@10"
    """

    model: Model = "cascade"
    pays: Pays = "click"
    attraction: float | Sequence[float] = 0.5
    satisfaction: float | Sequence[float] = 1.0
    noise: float = 0.0
    patience: float = 1.0
    boredom: float = 0.0
    decay: float = 1.0
    expected: bool = False
    reveal_intent: bool = False
    cutoff: int | None = None

    def __post_init__(self) -> None:
        check_option("model", self.model, ("cascade", "dbn", "pbm"))
        check_option("pays", self.pays, ("click", "satisfaction", "reciprocal_rank"))
        for name in ("attraction", "satisfaction"):
            given = getattr(self, name)
            by_grade = tuple(map(plain, given)) if isinstance(given, Sequence | np.ndarray) else (plain(given),)
            if not by_grade:
                raise ValueError(f"{name} is empty; expected a probability, or one for each grade from 0")
            for value in by_grade:
                check_number(name, value, 0, 1)
            object.__setattr__(self, name, by_grade if isinstance(given, Sequence | np.ndarray) else by_grade[0])
        for name in ("noise", "patience", "boredom"):
            check_number(name, getattr(self, name), 0, 1)
        check_number("decay", self.decay, 0)
        if self.cutoff is not None:
            check_integer("cutoff", self.cutoff, 1)
        self._refuse_idle()

    def __str__(self) -> str:
        values = [(each, getattr(self, each.name)) for each in fields(self) if each.name != "cutoff"]
        given = ", ".join(f"{each.name}={plain(value)!r}" for each, value in values if value != each.default)
        return "Clicks" + (f"({given})" if given else "") + ("" if self.cutoff is None else f"@{self.cutoff}")

    @property
    def name(self) -> str:
        """The notation, by which `info["measures"]` calls the return."""
        return str(self)

    def bind(self, topics: TopicArrays, horizon: int) -> BoundClicks:
        """The users of these topics."""
        return BoundClicks(self, topics, horizon)

    def _refuse_idle(self) -> None:
        """Refuse options that would change nothing."""
        idle = ("patience", "boredom") if self.model == "pbm" else ("decay",)
        for name in idle:
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                others = "users of 'cascade' and 'dbn'" if self.model == "pbm" else "users of 'pbm'"
                raise ValueError(f"{name} is an option of {others}, and model is {self.model!r}; leave it out")
        if self.noise and not isinstance(self.attraction, int | float):
            raise ValueError("noise is the first entry of attraction by grade; leave noise out")


class Reactions(NamedTuple):
    """Clicks and satisfaction of users at each rank."""

    clicked: BoolArray
    """[B, L] whether the user clicked."""
    satisfied: BoolArray
    """[B, L] whether the click satisfied."""


class BoundClicks:
    """The users of known topics.

    Args:
        clicks: what they do.
        arrays: the topics.
        horizon: K.
    """

    def __init__(self, clicks: Clicks, arrays: TopicArrays, horizon: int) -> None:
        self.expected, self.reveal_intent = clicks.expected, clicks.reveal_intent
        self.depth = min(clicks.cutoff or horizon, horizon)
        self.model, self.pays = clicks.model, clicks.pays
        self.patience, self.boredom = clicks.patience, clicks.boredom
        self._arrays = arrays
        attract = _by_grade(clicks.attraction, clicks.noise)
        satisfy = _by_grade(clicks.satisfaction, 0.0)
        grades = max(len(attract), len(satisfy))
        # By level: 0 is an empty rank, level g + 1 a document of grade g.
        self.attract, self.satisfy = (
            np.concatenate(([0.0], each, np.full(grades - len(each), each[-1]))) for each in (attract, satisfy)
        )
        ranks = np.arange(1, horizon + 1)
        self.looked_at = (ranks <= self.depth) * (ranks**-clicks.decay if clicks.model == "pbm" else 1.0)
        self.worth = 1.0 / ranks if clicks.pays == "reciprocal_rank" else np.ones(horizon)
        self.intent_probabilities: ScoreArray = arrays.cache("intents", lambda: _intent_probabilities(arrays))
        """[T, S] float64, normalised subtopic weights; 0 in padding and where a topic is not judged."""
        self.cumulated = self.intent_probabilities.cumsum(axis=1)

    def __call__(self, step: SelectionStep) -> ScoreArray:
        """[B] float64, what the rank just filled pays."""
        shown_so_far = step.ranking[:, : int(step.rank.max()) + 1]
        return self.pay(step.topic_index, shown_so_far, step.user)[np.arange(len(step.rank)), step.rank]

    def pay(self, topics: IntArray, rankings: IntArray, users: IntArray) -> ScoreArray:
        """Pay of each rank.

        Args:
            topics: [B] topic indices.
            rankings: [B, L] candidate indices, best first; -1 where a rank is empty or wasted.
            users: [B] int64 users; they do not matter where the expectation is paid.

        Returns:
            [B, L] float64.
        """
        length = rankings.shape[1]
        if self.expected:
            clicked, satisfied = self.probabilities(topics, rankings)
            return (clicked if self.pays == "click" else satisfied) * self.worth[:length]
        reactions = self.reactions(topics, rankings, users)
        return (reactions.clicked if self.pays == "click" else reactions.satisfied) * self.worth[:length]

    def intents(self, topics: IntArray, users: IntArray) -> IntArray:
        """[B] int64, the subtopic that each user wants; -1 where the topic is not judged or has none."""
        cumulated = self.cumulated[topics]
        if not cumulated.shape[1]:
            return np.full(len(topics), -1)
        total = cumulated[:, -1]
        intent = (cumulated <= (_uniform(users, np.zeros(1)) * total[:, None])).sum(axis=1)
        return np.where(total > 0, intent, -1)

    def clicks(self, topics: IntArray, rankings: IntArray, users: IntArray) -> BoolArray:
        """[B, L] bool, the ranks that these users click. Arguments as `pay`."""
        return self.reactions(topics, rankings, users).clicked

    def reactions(self, topics: IntArray, rankings: IntArray, users: IntArray) -> Reactions:
        """Actions of these users on rankings. Arguments as `pay`."""
        intents, length = self.intents(topics, users), rankings.shape[1]
        levels = self._levels(topics, rankings, np.maximum(intents, 0)[:, None]) * (intents >= 0)[:, None]
        draws = _uniform(users, np.arange(1, 1 + DRAWS * length)).reshape(len(users), length, DRAWS)
        clicked = draws[:, :, 0] < self.attract[levels]
        satisfied = clicked & (draws[:, :, 1] < self.satisfy[levels])
        if self.model == "pbm":
            examined: BoolArray = draws[:, :, 2] < self.looked_at[:length]
        else:
            stops = (clicked if self.model == "cascade" else satisfied) | (
                draws[:, :, 2] >= self._goes_on(topics, rankings)
            )
            examined = _above(np.logical_or.accumulate(stops, axis=1), False) ^ True
            examined &= self.looked_at[:length] > 0
        return Reactions(clicked & examined, satisfied & examined)

    def probabilities(self, topics: IntArray, rankings: IntArray) -> tuple[ScoreArray, ScoreArray]:
        """Exact probabilities, over all users, of a click and of a satisfying click at each rank.

        Args:
            topics: [B] topic indices.
            rankings: [B, L] as for `pay`.

        Returns:
            Two [B, L] float64.
        """
        length = rankings.shape[1]
        levels = self._levels(topics, rankings[:, :, None], np.arange(self._arrays.max_subtopics))
        click = self.attract[levels]
        satisfied = click * self.satisfy[levels]
        reach = self.intent_probabilities[topics][:, None, :] * self.looked_at[:length, None]
        if self.model != "pbm":
            stays = 1.0 - (click if self.model == "cascade" else satisfied)
            stays *= self._goes_on(topics, rankings)[:, :, None]
            reach = reach * _above(stays.cumprod(axis=1), 1.0)
        return (click * reach).sum(axis=2), (satisfied * reach).sum(axis=2)

    def _levels(self, topics: IntArray, rankings: IntArray, subtopics: IntArray) -> IntArray:
        """Worth of documents to intents: 0 where a rank is empty, else 1 + grade; shaped as what is given."""
        if not self._arrays.max_subtopics:
            return np.zeros(np.broadcast_shapes(rankings.shape, subtopics.shape), np.int64)
        where = topics.reshape(-1, *(1,) * (rankings.ndim - 1))
        grades = self._arrays.judgments[where, np.maximum(rankings, 0), subtopics]
        return np.where(rankings < 0, 0, 1 + np.clip(grades, 0, len(self.attract) - 2))

    def _goes_on(self, topics: IntArray, rankings: IntArray) -> ScoreArray:
        """[B, L] probability of going on after each rank, for users who do not stop there."""
        if not self.boredom:
            return np.full(rankings.shape, self.patience)
        covers = self._arrays.covers(1)[topics[:, None], np.maximum(rankings, 0)] & (rankings >= 0)[:, :, None]
        before = _above(np.logical_or.accumulate(covers, axis=1), False)
        stale = ~(covers & ~before).any(axis=2)
        goes_on: ScoreArray = self.patience * (1.0 - self.boredom * stale)
        return goes_on


def users_from(text: str) -> Clicks | None:
    """The users that a text such as "Clicks(model='dbn')@10" stands for; None where it is of another form.

    Raises:
        ValueError: options that users do not have, or values out of range.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        return None
    given = {} if match["cutoff"] is None else {"cutoff": int(match["cutoff"])}
    return cast(Clicks, called(Clicks, "Clicks", match["arguments"], **given))


def drawn_users(users: Users, count: int) -> IntArray:
    """[count] users as given, or drawn from a generator.

    Raises:
        TypeError: users that are not integers.
        ValueError: another number of them, or negative ones.
    """
    if isinstance(users, np.random.Generator):
        return users.integers(2**63, size=count, dtype=np.int64)
    given: AnyArray = np.asarray(users)
    if given.dtype.kind not in "iu":
        raise TypeError(f"users must be integers from 0, or a generator to draw them from, got {shown(users)}")
    if given.shape != (count,) or (count and not 0 <= given.min() <= given.max() < 2**63):
        raise ValueError(f"expected one user for each of {count} episodes, 0 to 2**63 - 1 each, got {shown(users)}")
    return given.astype(np.int64)


def seated_users(users: BoundUsers, reward_name: str, given: Users | None, count: int) -> IntArray:
    """[count] users of episodes, as `drawn_users`; 0 where none are given and the expectation is paid.

    Raises:
        TypeError, ValueError: as `drawn_users`, or none where they pay.
    """
    if given is not None:
        return drawn_users(given, count)
    if not users.expected:
        raise ValueError(
            f"reward {reward_name} needs users: pass users=, one per episode or a generator to draw them, or "
            "take the expected reward, Clicks(expected=True)"
        )
    return np.zeros(count, np.int64)


def redrawn_user(
    users: BoundUsers, topic: IntArray, ranking: IntArray, user: IntArray, draws: np.random.Generator, *, rewards: bool
) -> int:
    """Another user, drawn among those who would have done the same on a ranking.

    Users are drawn until one shows the same, which is exact for every model: intent, patience and all that is to come
    have their probabilities given what was observed. As many are drawn, on average, as there are things that users
    could have done.

    Args:
        users: who they are.
        topic: [1] index of the topic.
        ranking: [1, L] candidate indices shown so far, -1 where a rank is empty.
        user: [1] who has seen them.
        draws: draws users.
        rewards: whether the reward of each rank was observed too, beside the clicks (and an intent that is revealed).

    Raises:
        ValueError: none of a million does the same.
    """

    def observed(who: IntArray) -> AnyArray:
        topics, rankings = topic.repeat(len(who)), ranking.repeat(len(who), axis=0)
        parts: list[AnyArray] = [users.clicks(topics, rankings, who)]
        parts += [users.pay(topics, rankings, who)] if rewards else []
        parts += [users.intents(topics, who)[:, None]] if users.reveal_intent else []
        return np.concatenate(parts, axis=1)

    seen, drawn, size = observed(user), 0, 16
    while drawn < _MOST_DRAWN:
        who = draws.integers(2**63, size=size, dtype=np.int64)
        if len(alike := (observed(who) == seen).all(axis=1).nonzero()[0]):
            return int(who[alike[0]])
        drawn, size = drawn + size, min(4 * size, max(16, _MOST_NUMBERS // max(1, ranking.size)))
    raise ValueError(
        f"none of {drawn:,} users would have done on {ranking.size} ranks what the user of this episode has, so nobody "
        "can take their place; restore with same_future=True, or take shorter episodes or Clicks(expected=True)"
    )


def required_users(users: BoundUsers | None, reward_name: str) -> BoundUsers:
    """The users, who must be there.

    Raises:
        ValueError: no users.
    """
    if users is None:
        raise ValueError(f"nobody clicks: reward {reward_name!r} has no users; pass reward=Clicks(...)")
    return users


def _by_grade(given: float | Sequence[float], otherwise: float) -> ScoreArray:
    """[G] probabilities by grade, 0 first; one number is that of all relevant grades."""
    return np.array([otherwise, given] if isinstance(given, int | float) else given, np.float64)


def _intent_probabilities(arrays: TopicArrays) -> ScoreArray:
    """[T, S] float64, the subtopic weights of judged topics, normalised."""
    weights = np.zeros((len(arrays), arrays.max_subtopics))
    for row, topic in zip(weights, arrays.topics, strict=True):
        if topic.labelled and len(topic.subtopic_ids):
            given = np.ones(len(topic.subtopic_ids)) if topic.subtopic_weights is None else topic.subtopic_weights
            row[: len(given)] = given / np.sum(given, dtype=np.float64)
    return weights


def _above(values: AnyArray, first: float | bool) -> Any:
    """Values one rank above, along axis 1; `first` at the first rank."""
    out = np.full_like(values, first)
    out[:, 1:] = values[:, :-1]
    return out


def _uniform(users: IntArray, draws: AnyArray) -> ScoreArray:
    """[B, D] float64 in [0, 1): the random numbers of users by their number (SplitMix64, Steele et al. 2014)."""
    golden, first, second = map(np.uint64, SPLITMIX)
    z = users.astype(np.uint64)[:, None] + (draws.astype(np.uint64) + np.uint64(1)) * golden
    z = (z ^ (z >> np.uint64(30))) * first
    z = (z ^ (z >> np.uint64(27))) * second
    bits: ScoreArray = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64)
    return bits * 2.0**-53
