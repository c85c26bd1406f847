"""What pays a step: a measure bound to topics, or a reward of the user's own; and how tables call it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from srd_gym.core.arrays import TopicArrays
from srd_gym.measures import BoundMeasure, Measure, default_normalizer, measure, references
from srd_gym.measures.reference import Normalizer
from srd_gym.protocols import BoundReward, Reward

RENAMED = {"measure": "reward=...", "report": "measures=(...)"}
_WHEN = {"gain": "step", "return_only": "end"}  # what `reward` was before it named the measure, and `pay` now


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardBinding:
    """One of a bound measure (the plain sum that rewards are) and a bound reward."""

    name: str
    """The reward's own name; a measure's in full, with its cutoff and what it leaves out."""
    measure: BoundMeasure | None
    custom: BoundReward | None


def bind_reward(
    arrays: TopicArrays, what: str | Measure | Reward, horizon: int, normalizer: Normalizer | None
) -> RewardBinding:
    """Bind a measure (as the plain sum that rewards are) or a reward to topics.

    Args:
        arrays: the topics.
        what: a measure's name, a measure, or a `Reward`.
        horizon: K, ranks that will ever be filled; the measure's cutoff where it has none.
        normalizer: what ideal rankings are made of; None: the pool where every topic has one, else the candidates.

    Raises:
        TypeError: something else.
        ValueError: an unknown measure, or a word that says when to pay.
    """
    if isinstance(what, str | Measure):
        if what in _WHEN:
            raise ValueError(f"reward={what!r} says when to pay: write pay={_WHEN[what]!r} instead; reward= says what")
        bound = bound_measure(arrays, measure(what, normalizer=normalizer).plain(), horizon)
        return RewardBinding(name=str(bound.measure), measure=bound, custom=None)
    if isinstance(what, Reward):
        return RewardBinding(name=what.name, measure=None, custom=what.bind(arrays, horizon))
    raise TypeError(
        f"reward must be a measure's name such as 'alpha_DCG', a Measure, or a Reward (with `name` and `bind`), "
        f"got {type(what).__name__}"
    )


def table_measures(
    arrays: TopicArrays, what: str | Measure | Iterable[str | Measure], horizon: int, normalizer: Normalizer | None
) -> dict[str, BoundMeasure]:
    """Measures as tables print them, by the names that they have there (a cutoff left out is the horizon).

    Args:
        arrays: the topics.
        what: names, or measures; one of them alone is one.
        horizon: K, ranks that will ever be filled.
        normalizer: as for `bind_reward`.

    Raises:
        TypeError: neither a name nor a measure.
        ValueError: an unknown measure.
    """
    found: dict[str, BoundMeasure] = {}
    for item in [what] if isinstance(what, str | Measure) else what:
        asked = measure(item)
        chosen = measure(asked, normalizer=normalizer)
        # Tables print the normalizer that all measures share beside them, and only a measure's own in its name.
        named = asked if asked.normalizer is None else chosen
        found[str(named if named.whole_list else named.at(horizon))] = bound_measure(arrays, chosen, horizon)
    return found


def bound_measure(arrays: TopicArrays, what: Measure, horizon: int) -> BoundMeasure:
    """The measure bound to the topics and made once for all who share the arrays; a missing cutoff is the horizon."""
    normalizer = what.normalizer or default_normalizer(arrays.topics)

    def bind() -> BoundMeasure:
        judged = arrays.cache(("references", normalizer), lambda: references(arrays.topics, normalizer))
        return what.bind(judged, horizon, arrays.max_subtopics)

    bound: BoundMeasure = arrays.cache(("bound", what, horizon, normalizer), bind)
    return bound
