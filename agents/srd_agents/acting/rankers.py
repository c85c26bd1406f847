"""Policies that rank: what answers observations of `SRD-v0` with actions, or of `scoring_v0` with scores, is a ranker.

Shapes: B topics side by side, N candidates, F vector width, K horizon, A scores.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from srd_gym.checks import check_integer, check_option, name_of, refuse_class
from srd_gym.core import SelectionCore
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.envs.observations import KINDS, PARTS, Observer
from srd_gym.envs.scoring_vector import ScoringVectorEnv
from srd_gym.reading import shown
from srd_gym.topic import Topic, TopicSet, one_topic

_AT_ONCE = 1 << 24
"""Numbers of observations that are made at once."""


@runtime_checkable
class Predicts(Protocol):
    """A policy in the contract of Stable-Baselines3 (its models, and `srd_agents.acting.RankerPolicy`)."""

    def predict(self, observation: Any, **options: Any) -> tuple[Any, Any]:
        """Actions [B] for stacked observations, and a state."""


class _Batches:
    """Ranks topics of one shape side by side, as many as memory has room for.

    Args:
        max_candidates: N of the observations; None: each topic's own.
    """

    def __init__(self, max_candidates: int | None) -> None:
        if max_candidates is not None:
            check_integer("max_candidates", max_candidates, 1)
        self.max_candidates = max_candidates

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents of the topic, best first: [min(k, N)] int64."""
        return self.rank_batch([one_topic(topic)], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic, in their order.

        Raises:
            ValueError: k below 1, topics without vectors, of another width, or with more candidates than the policy
                knows; an action that no candidate has.
            TypeError: the policy answers with something else than one action per topic, or one score per document.
        """
        check_integer("k", k, 1)
        groups: dict[tuple[int, int | None], list[int]] = {}
        for place, topic in enumerate(topics):
            groups.setdefault((self.max_candidates or topic.n_candidates, topic.vector_width), []).append(place)
        rankings: dict[int, IntArray] = {}
        for (n, width), places in groups.items():
            step = max(1, _AT_ONCE // (n * (width or 1)))
            for start in range(0, len(places), step):
                part = places[start : start + step]
                rankings |= zip(part, self._side_by_side([topics[place] for place in part], k), strict=True)
        return [rankings[place] for place in range(len(topics))]

    @abstractmethod
    def _side_by_side(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """Rankings of some topics."""


class PolicyRanker(_Batches):
    """Ranks with a policy, which acts greedily in `SRD-v0` on the topics to rank; recipes name a subclass of yours.

    Documents beyond rank K follow in candidate order. Where an action is masked, the first allowed candidate takes its
    place.

    Args:
        policy: a function of stacked observations that gives actions [B]; or
            `predict(observation, state=, episode_start=, deterministic=True)`, which gives `(actions, state)` and gets
            `action_masks=` too, where it takes them.
        observation: "full" or "features", as it was trained on; None: by its `observation_space`, else "full". Or a
            function that makes the policy's observations of full ones, stacked, such as a wrapper's `observation`.
            Further keys of its `observation_space` are added.
        horizon: K of the observations it knows; None: of its `observation_space`, else 10.
        max_candidates: N; None: of its `observation_space`, else each topic's own.
        mask_dtype: of its `action_mask`.
        name: in tables.

    Raises:
        TypeError: neither a function nor an object with `predict`.
        ValueError: a policy of compact observations, which name topics by their index alone, or an unknown observation.
    """

    def __init__(
        self,
        policy: Predicts | Callable[[Any], Any],
        *,
        observation: Literal["full", "features"] | Callable[[Any], Any] | None = None,
        horizon: int | None = None,
        max_candidates: int | None = None,
        mask_dtype: Literal["int8", "bool"] = "int8",
        name: str = "policy",
    ) -> None:
        refuse_class("policy", policy)
        if not isinstance(policy, Predicts) and not callable(policy):
            raise TypeError(f"policy must have predict(observation, ...) or be a function, got {shown(policy)}")
        check_option("mask_dtype", mask_dtype, ("int8", "bool"))
        kind = "full" if callable(observation) else observation
        check_option("observation", kind or "full", ("full", "features"))
        space: Mapping[str, Any] = getattr(getattr(policy, "observation_space", None), "spaces", {})
        if "topic" in space:
            raise ValueError(
                "this policy observes topics by their index alone (compact observations), so it cannot rank others; "
                "train it on full observations, or on observation='features'"
            )
        normalized = getattr(policy, "get_vec_normalize_env", lambda: None)()
        if normalized is not None and normalized.norm_obs and not callable(observation):
            raise ValueError(
                "VecNormalize scales the observations of this policy: give a function that does so as observation=, "
                "or train it with norm_obs=False"
            )
        self.name, self.policy = name, policy
        self.observation: Literal["full", "features"] = kind or ("features" if "features" in space else "full")
        further = [key for key in PARTS if key in space and key not in KINDS[self.observation]]
        self._seen = [self.observation, *further], mask_dtype
        if horizon is None:
            horizon = space["ranking"].shape[0] if "ranking" in space else 10
        if max_candidates is None and "action_mask" in space:
            max_candidates = space["action_mask"].shape[0]
        check_integer("horizon", horizon, 1)
        super().__init__(max_candidates)
        self.horizon: int = horizon
        self._width = space["documents"].shape[1] if "documents" in space else None
        self._form = observation if callable(observation) else None
        self._masks = isinstance(policy, Predicts) and _takes_masks(policy.predict)

    def _side_by_side(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """Rankings of some topics, an episode each."""
        if self._width not in (None, width := topics[0].vector_width):
            raise ValueError(
                f"the policy {name_of(self.policy)} was trained on vectors of width {self._width}, got {width}"
            )
        several = TopicSet([_renamed(topic, place) for place, topic in enumerate(topics)], name="topics to rank")
        core = SelectionCore(
            several,
            horizon=self.horizon,
            max_candidates=self.max_candidates,
            on_invalid="next",
            episodes=len(topics),
        )
        observer = Observer(core, *self._seen)
        core.reset(np.arange(len(topics)))
        state, start = None, np.ones(len(topics), np.bool_)
        while not core.done.all():
            actions, state = self._answer(observer.observe_all(), state, start, core.allowed.copy())
            core.step(self._actions(actions, len(topics)))
            start = np.zeros(len(topics), np.bool_)
        return [
            _completed(ranking[ranking >= 0], topic, k) for ranking, topic in zip(core.ranking, topics, strict=True)
        ]

    def _answer(self, seen: object, state: object, start: BoolArray, allowed: BoolArray) -> tuple[object, object]:
        """The policy's actions, and its state."""
        if self._form is not None:
            seen = self._form(seen)
        if not isinstance(self.policy, Predicts):
            return self.policy(seen), None
        masks = {"action_masks": allowed} if self._masks else {}
        return self.policy.predict(seen, state=state, episode_start=start, deterministic=True, **masks)

    def _actions(self, given: object, count: int) -> IntArray:
        """One candidate for each topic."""
        actions = np.asarray(given)
        if actions.dtype.kind not in "iu" or actions.size != count:
            raise TypeError(
                f"the policy {name_of(self.policy)} must answer with {count} actions (candidate indices), one for each "
                f"stacked observation, got {shown(given)}"
            )
        return actions.reshape(count).astype(np.int64)


as_ranker = PolicyRanker
"""The policy as a ranker, the counterpart of `srd_agents.acting.as_policy`."""


class ScoringRanker(_Batches):
    """Sorts documents by the scores of a policy for `scoring_v0`.

    Args:
        policy: a function of the observations of B topics, as `scoring_v0.vector_env` has them, that gives scores
            [B, N], higher is better; those of padding are ignored, ties go by candidate order.
        observation: "full" or "flat".
        n_scores: A, of the `action_mask` in full observations.
        max_candidates: N; None: each topic's own.
        name: in tables.

    Raises:
        TypeError: no function.
        ValueError: an unknown observation.
    """

    def __init__(
        self,
        policy: Callable[[Any], Any],
        *,
        observation: Literal["full", "flat"] = "full",
        n_scores: int = 30,
        max_candidates: int | None = None,
        name: str = "policy",
    ) -> None:
        refuse_class("policy", policy)
        if not callable(policy):
            raise TypeError(f"policy must be a function of observations, got {shown(policy)}")
        check_option("observation", observation, ("full", "flat"))
        super().__init__(max_candidates)
        self.name, self.policy = name, policy
        self._how: dict[str, Any] = {"observation": observation, "n_scores": n_scores, "max_candidates": max_candidates}

    def _side_by_side(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """Rankings of some topics."""
        several = TopicSet([_renamed(topic, place) for place, topic in enumerate(topics)], name="topics to rank")
        vector = ScoringVectorEnv(several, num_envs=len(topics), **self._how)
        seen, _ = vector.reset(options={"query_ids": several.query_ids})
        given, expected = self.policy(seen), vector.ranking.shape
        scores = np.asarray(given)
        if scores.shape != expected or scores.dtype.kind not in "iuf" or np.isnan(scores).any():
            raise TypeError(
                f"the policy {name_of(self.policy)} must answer with scores of shape {expected} (topics, candidates), "
                f"numbers all of them, got {shown(given)}"
            )
        pairs = zip(-scores.astype(np.float64), topics, strict=True)
        return [row[: topic.n_candidates].argsort(kind="stable")[:k] for row, topic in pairs]


def _takes_masks(predict: Callable[..., Any]) -> bool:
    """Whether a method takes `action_masks`."""
    parameters = inspect.signature(predict).parameters.values()
    return any(each.name == "action_masks" or each.kind is each.VAR_KEYWORD for each in parameters)


def _renamed(topic: Topic, place: int) -> Topic:
    """The topic by its place: several may have one query id."""
    return Topic(
        query_id=str(place),
        doc_ids=topic.doc_ids,
        query_vector=topic.query_vector,
        doc_vectors=topic.require_vectors("a policy"),
        retrieval_scores=topic.retrieval_scores,
    )


def _completed(ranking: IntArray, topic: Topic, k: int) -> IntArray:
    """The first k: the ranking, then all others in candidate order."""
    rest = np.setdiff1d(np.arange(topic.n_candidates), ranking)
    return np.concatenate([ranking, rest])[:k].astype(np.int64)
