"""Policies that rank: whatever answers observations of `SRD-v0` with actions is a ranker.

Shapes: B topics side by side, N candidates, K horizon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from srd_gym.checks import check_integer, check_option, name_of, refuse_class
from srd_gym.core import SelectionCore
from srd_gym.dtypes import IntArray
from srd_gym.envs.observations import ObservationOptions, Observer
from srd_gym.reading import shown
from srd_gym.topic import Topic, TopicSet, one_topic

_AT_ONCE = 1 << 24
"""Numbers of observations that are made at once."""


@runtime_checkable
class Predicts(Protocol):
    """A policy in the contract of Stable-Baselines3 (its models, and `srd_agents.acting.RankerPolicy`)."""

    def predict(self, observation: Any, **options: Any) -> tuple[Any, Any]:
        """Actions [B] for stacked observations, and a state."""


class PolicyRanker:
    """Ranks with a policy, which acts greedily in `SRD-v0` on the topics to rank; recipes name a subclass of yours.

    Documents beyond rank K follow in candidate order.

    Args:
        policy: `predict(observation, state=, episode_start=, deterministic=True, action_masks=)` takes observations,
            stacked, and gives `(actions, state)`.
        observation: "full" or "features", as it was trained on; None: by its `observation_space`, else "full".
        horizon: K of the observations it knows; None: of its `observation_space`, else 10.
        max_candidates: N; None: of its `observation_space`, else each topic's own.
        mask_dtype: of its `action_mask`.
        masks: whether `predict` takes `action_masks`. Without them, or where an action is masked, the first allowed
            candidate takes its place.
        name: in tables.

    Raises:
        TypeError: no `predict`.
        ValueError: a policy of compact observations, which name topics by their index alone, or an unknown observation.
    """

    def __init__(
        self,
        policy: Predicts,
        *,
        observation: Literal["full", "features"] | None = None,
        horizon: int | None = None,
        max_candidates: int | None = None,
        mask_dtype: Literal["int8", "bool"] = "int8",
        masks: bool = True,
        name: str = "policy",
    ) -> None:
        refuse_class("policy", policy)
        if not isinstance(policy, Predicts):
            raise TypeError(f"policy must have predict(observation, ...), got {shown(policy)}")
        check_option("mask_dtype", mask_dtype, ("int8", "bool"))
        check_option("observation", observation or "full", ("full", "features"))
        space: Mapping[str, Any] = getattr(getattr(policy, "observation_space", None), "spaces", {})
        if "topic" in space:
            raise ValueError(
                "this policy observes topics by their index alone (compact observations), so it cannot rank others; "
                "train it on full observations, or on observation='features'"
            )
        self.name, self.policy = name, policy
        self.observation: Literal["full", "features"] = observation or ("features" if "features" in space else "full")
        self.horizon = horizon or (space["ranking"].shape[0] if "ranking" in space else 10)
        check_integer("horizon", self.horizon, 1)
        self.max_candidates = max_candidates or (space["action_mask"].shape[0] if "action_mask" in space else None)
        self._mask_dtype, self._masks = mask_dtype, masks

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents of the topic, best first: [min(k, N)] int64."""
        return self.rank_batch([one_topic(topic)], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic, in their order.

        Raises:
            ValueError: k below 1, topics without vectors, or with more candidates than the policy knows.
            TypeError: the policy answers with something else than one action per topic.
        """
        check_integer("k", k, 1)
        rankings: list[IntArray] = []
        for start in range(0, len(topics), step := self._room(topics)):
            rankings += self._side_by_side(topics[start : start + step], k)
        return rankings

    def _room(self, topics: Sequence[Topic]) -> int:
        """The number of topics that are ranked side by side."""
        most = max((topic.n_candidates * (topic.vector_width or 1) for topic in topics), default=1)
        return max(1, _AT_ONCE // most)

    def _side_by_side(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """Rankings of some topics, an episode each."""
        several = TopicSet([_renamed(topic, place) for place, topic in enumerate(topics)], name="topics to rank")
        core = SelectionCore(
            several,
            horizon=self.horizon,
            max_candidates=self.max_candidates,
            on_invalid="next",
            episodes=len(topics),
        )
        observer = Observer(core, ObservationOptions(self.observation, self._mask_dtype))
        core.reset(np.arange(len(topics)))
        state, start = None, np.ones(len(topics), np.bool_)
        while not core.done.all():
            options: dict[str, Any] = {"action_masks": core.allowed.copy()} if self._masks else {}
            actions, state = self.policy.predict(
                observer.observe_all(), state=state, episode_start=start, deterministic=True, **options
            )
            core.step(self._actions(actions, len(topics)))
            start = np.zeros(len(topics), np.bool_)
        return [
            _completed(ranking[ranking >= 0], topic, k) for ranking, topic in zip(core.ranking, topics, strict=True)
        ]

    def _actions(self, given: Any, count: int) -> IntArray:
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
