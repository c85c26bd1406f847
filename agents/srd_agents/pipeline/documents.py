"""Documents as callers have them: what some of them lack, and one that comes more than once.

Shapes: N documents of a topic.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from math import inf
from numbers import Real
from typing import Any

from srd_gym.checks import check_integer, is_missing

_PARTS = ("doc_ids", "doc_vectors", "scores", "subtopic_scores", "costs", "pinned", "doc_texts")
"""Parts of a topic with an entry for each document."""


Gaps = dict[str, int] | None
"""Documents that lack something, by what, and what that means; None: none may lack anything.

A missing score ranks last among scored documents, a missing group is a group of its own, and a missing cost is the
largest of the topic.
"""


def add_gaps(gaps: Gaps, what: str, count: int) -> None:
    """Count documents that lack something, if some do."""
    if gaps is not None and count:
        gaps[what] = gaps.get(what, 0) + count


def lacking(gaps: Gaps) -> list[str]:
    """A sentence on each thing that some documents lack."""
    return [f"documents without a {what}: {count}" for what, count in gaps.items()] if gaps else []


def warn_lacking(gaps: Gaps, stacklevel: int = 4) -> None:
    """Warn once of what documents of a call lack, at the line that called so many functions up."""
    if told := lacking(gaps):
        warnings.warn(f"{'; '.join(told)}; strict=True refuses them", stacklevel=stacklevel)


def each_once(given: Any) -> tuple[Any, list[int] | None]:
    """A topic in which each id is one document, where the first with it stood: the best score, and what else one has.

    Args:
        given: a `srd_agents.pipeline.given.Given` whose parts are lists, `already_shown` one of True and False,
            `pinned` one of places; an id that is None is of a document of its own.

    Returns:
        The topic, and for each of its documents the place, among those given, of the one of the best score (None: each
        came once).
    """
    scores, places = given.scores, dict[object, list[int]]()
    for place, name in enumerate(given.doc_ids):
        places.setdefault((place,) if name is None else name, []).append(place)
    if len(places) == len(given.doc_ids):
        return given, None

    def score(place: int) -> float:
        value: object = None if scores is None else scores[place]
        value = value.item() if hasattr(value, "item") else value
        return float(value) if isinstance(value, Real) and not is_missing(value) else -inf

    members = [sorted(of_one, key=score, reverse=True) for of_one in places.values()]
    parts: dict[str, object] = {name: part for name in _PARTS if (part := getattr(given, name)) is not None}
    for name, part in parts.items():
        parts[name] = _known(part, members)
    if given.similarity is not None:
        parts["similarity"] = [[given.similarity[i[0]][j[0]] for j in members] for i in members]
    if given.groups is not None:
        parts["groups"] = of_each_kind(given.groups, lambda row: _known(row, members))
    if given.already_shown is not None:
        parts["already_shown"] = [any(given.already_shown[i] for i in of_one) for of_one in members]
    return given._replace(**parts), [of_one[0] for of_one in members]


def _known(part: Any, members: list[list[int]]) -> list[object]:
    """The first entry of each document's members that is one."""
    return [next((part[i] for i in of_one if not is_missing(part[i])), None) for of_one in members]


def of_each_kind(groups: object, taken: Callable[[Any], Any]) -> Any:
    """A function of the row of each kind of groups, or of the only row."""
    return {name: taken(row) for name, row in groups.items()} if isinstance(groups, Mapping) else taken(groups)


def places_of(pinned: Sequence[Any] | None) -> list[int | None] | None:
    """The document in each of the first places, from the place (from 0) of each document; None: none.

    Raises:
        TypeError: a place that is no whole number.
        ValueError: one below 0, or two documents in one.
    """
    places: dict[int, int] = {}
    for document, place in enumerate(pinned or ()):
        if not is_missing(place):
            whole = int(place) if isinstance(place, float) and place.is_integer() else place  # of a column with gaps
            check_integer("the place of a pinned document", whole, 0)
            if places.setdefault(int(whole), document) != document:
                raise ValueError(f"two documents are pinned in place {whole}; give one of them another")
    return [places.get(place) for place in range(max(places) + 1)] if places else None
