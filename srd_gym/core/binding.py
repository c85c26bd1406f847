"""Measures bound to the topics of simulators, each once for all who share the arrays."""

from __future__ import annotations

from collections.abc import Iterable

from srd_gym.core.arrays import TopicArrays
from srd_gym.measures import BoundMeasure, Measure, Normalizer, default_normalizer, parse_measure, references
from srd_gym.measures.judgments import tell_irrelevant
from srd_gym.reading import shown


def bind_measure(arrays: TopicArrays, what: Measure, horizon: int) -> BoundMeasure:
    """The measure bound to the topics; a missing cutoff is the horizon."""
    normalizer = what.normalizer or default_normalizer(arrays.topics)

    def tell() -> None:
        grades = ((topic.query_id, topic.judgments) for topic in arrays.topics if topic.judgments is not None)
        tell_irrelevant(f"topic set {shown(arrays.topics.name)}", grades, [what.rel])

    def bind() -> BoundMeasure:
        arrays.cache(("told", what.rel), tell)
        judged = arrays.cache(("references", normalizer), lambda: references(arrays.topics, normalizer))
        return what.bind(judged, horizon, arrays.max_subtopics)

    made: BoundMeasure = arrays.cache(("bound", what, horizon, normalizer), bind)
    return made


def table_measures(
    arrays: TopicArrays, what: str | Measure | Iterable[str | Measure], horizon: int, normalizer: Normalizer | None
) -> dict[str, BoundMeasure]:
    """Measures as tables print them, by the names that they have there (a cutoff left out is the horizon).

    Args:
        arrays: the topics.
        what: names, or measures; one of them alone is one.
        horizon: K, ranks that will ever be filled.
        normalizer: what ideal rankings are made of; None: the pool where every topic has one, else the candidates.

    Raises:
        TypeError: neither a name nor a measure.
        ValueError: an unknown measure.
    """
    by_name: dict[str, BoundMeasure] = {}
    for item in [what] if isinstance(what, str | Measure) else what:
        asked = parse_measure(item)
        chosen = parse_measure(asked, normalizer=normalizer)
        # Tables print the normalizer that all measures share beside them, and only a measure's own in its name.
        named = asked if asked.normalizer is None else chosen
        by_name[str(named if named.whole_list else named.at(horizon))] = bind_measure(arrays, chosen, horizon)
    return by_name
