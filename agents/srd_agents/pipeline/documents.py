"""Documents as callers have them: what some of them lack, and one that comes more than once.

Shapes: N documents of a topic.
"""

from __future__ import annotations

import warnings
from math import inf
from numbers import Real
from typing import Any

from srd_gym.checks import is_missing

_PARTS = ("doc_ids", "doc_vectors", "scores", "subtopic_scores", "groups", "costs", "doc_texts")
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


def warn_lacking(gaps: Gaps) -> None:
    """Warn once of what documents of a call lack."""
    if told := lacking(gaps):
        warnings.warn(f"{'; '.join(told)}; strict=True refuses them", stacklevel=5)


def each_once(given: Any) -> tuple[Any, list[int] | None]:
    """A topic in which each id is one document, where the first with it stood: the best score, and what else one has.

    Args:
        given: a `srd_agents.pipeline.given.Given` whose parts are lists, `already_shown` one of True and False; an
            id that is None is of a document of its own.

    Returns:
        The topic, and for each of its documents the place, among those given, of the one of the best score (None: each
        came once).
    """
    scores, places = given.scores, dict[Any, list[int]]()
    for place, name in enumerate(given.doc_ids):
        places.setdefault((place,) if name is None else name, []).append(place)
    if len(places) == len(given.doc_ids):
        return given, None

    def score(place: int) -> float:
        value = None if scores is None else scores[place]
        return float(value) if isinstance(value, Real) and not is_missing(value) else -inf

    members = [sorted(of_one, key=score, reverse=True) for of_one in places.values()]
    parts: dict[str, Any] = {name: part for name in _PARTS if (part := getattr(given, name)) is not None}
    for name, part in parts.items():
        parts[name] = [next((part[i] for i in of_one if not is_missing(part[i])), None) for of_one in members]
    if given.already_shown is not None:
        parts["already_shown"] = [any(given.already_shown[i] for i in of_one) for of_one in members]
    return given._replace(**parts), [of_one[0] for of_one in members]
