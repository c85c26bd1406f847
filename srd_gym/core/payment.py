"""What pays a step: a measure bound to topics, or a reward of the user's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from srd_gym.core.arrays import TopicArrays
from srd_gym.measures import BoundMeasure, Measure, Reference, default_normalizer, measure
from srd_gym.measures.reference import Normalizer
from srd_gym.protocols import BoundReward, Reward


@dataclass(frozen=True, kw_only=True, slots=True)
class Payment:
    """One of a bound measure and a bound reward, with the name that tables call the return by."""

    name: str
    measure: BoundMeasure | None
    reward: BoundReward | None


def payment(arrays: TopicArrays, what: str | Measure | Reward, horizon: int, normalizer: Normalizer | None) -> Payment:
    """Bind a measure (as the plain sum that rewards are) or a reward to topics.

    Args:
        arrays: the topics.
        what: a measure's name, a measure, or a `Reward`.
        horizon: K, ranks that will ever be filled; the measure's cutoff where it has none.
        normalizer: what ideal rankings are made of; None: the pool where every topic has one, else the candidates.

    Raises:
        TypeError: something else.
        ValueError: an unknown measure.
    """
    if isinstance(what, str | Measure):
        bound = bound_measure(arrays, measure(what, normalizer=normalizer).plain(), horizon)
        return Payment(name=str(bound.measure), measure=bound, reward=None)
    if isinstance(what, Reward):
        return Payment(name=what.name, measure=None, reward=what.bind(arrays, horizon))
    raise TypeError(
        f"measure must be a name such as 'alpha_DCG', a Measure, or a Reward (with `name` and `bind`), "
        f"got {type(what).__name__}"
    )


def bound_measure(arrays: TopicArrays, what: Measure, horizon: int) -> BoundMeasure:
    """The measure bound to the topics and made once for all who share the arrays; a missing cutoff is the horizon."""
    normalizer = what.normalizer or default_normalizer(arrays.topics)
    bound: BoundMeasure = arrays.derived(
        ("bound", what, horizon, normalizer),
        lambda: what.bind(_references(arrays, normalizer), horizon, arrays.max_subtopics),
    )
    return bound


def _references(arrays: TopicArrays, normalizer: Normalizer) -> list[Reference]:
    """The judged documents of each topic; none for an unlabelled one, where every measure is then 0."""

    def make() -> list[Reference]:
        return [
            Reference.of(topic, normalizer)
            if topic.labelled
            else Reference(np.zeros((0, topic.n_subtopics), np.int8), None, topic.subtopic_weights)
            for topic in arrays.topics
        ]

    references: list[Reference] = arrays.derived(("references", normalizer), make)
    return references
