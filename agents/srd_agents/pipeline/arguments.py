"""Arguments of a ranking: one table, for `diversify` and every other door.

Shapes: N documents of a topic, S subtopics of a topic, F vector width, P documents shown before, R places pinned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from sys import float_info
from typing import Any, NamedTuple

import numpy as np

from srd_agents.heuristic.config import KINDS
from srd_agents.pipeline.limits import COPIES
from srd_gym.checks import check_number
from srd_gym.reading import shown


class Argument(NamedTuple):
    """Meaning and form of an argument, the same at every door."""

    about: str
    """A sentence for people and assistants."""
    schema: Mapping[str, Any]
    """JSON Schema of its value for one topic; empty where only Python can hold one."""
    shape: str = ""
    """Shape of its value for one topic; "": one value holds for all topics of a call."""


def _list(of: object) -> dict[str, object]:
    return {"type": "array", "items": of if isinstance(of, dict) else {"type": of}}


_VECTOR = _list("number")
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_SWITCH = {"type": "boolean"}
_ID = {"type": ["string", "integer"]}
_COUNTS: Any = {"type": ["integer", "object"], "minimum": 0}
_COUNTS["additionalProperties"] = {**_COUNTS, "additionalProperties": {"type": "integer", "minimum": 0}}
_DOCUMENTS: Mapping[str, Argument] = {
    "query_text": Argument(
        "The query; with texts it tells relevance where there are no scores.", {"type": "string"}, "a text"
    ),
    "texts": Argument(
        "The results' texts. Without doc_vectors they are compared by their words.", _list("string"), "N texts"
    ),
    "query_vector": Argument("The query's embedding, of the model of doc_vectors.", _VECTOR, "[F]"),
    "doc_vectors": Argument("The results' embeddings, one each.", _list(_VECTOR), "[N, F]"),
    "similarity": Argument(
        "Similarities of all pairs of results, symmetric, in place of doc_vectors; needs scores.",
        _list(_VECTOR),
        "[N, N]",
    ),
    "scores": Argument("The search's score of each result, higher is better.", _list("number"), "[N]"),
    "subtopics": Argument(
        "Likeliest first: texts, or beside doc_vectors embeddings.",
        _list({"anyOf": [{"type": "string"}, _VECTOR]}),
        "[S, F], S texts",
    ),
    "subtopic_weights": Argument("How much each subtopic counts, above 0.", _list("number"), "[S]"),
    "subtopic_scores": Argument(
        "Each result's rating for each subtopic, higher is more; null: not rated.",
        _list(_list(["number", "null"])),
        "[N, S]",
    ),
    "groups": Argument(
        "The site, author or document of each result, or of each kind of groups such a list: {site: [...], brand: "
        "[...]}.",
        {"type": ["array", "object"], "items": _ID, "additionalProperties": _list(_ID)},
        "[N]",
    ),
    "costs": Argument("What each result costs, such as its tokens.", _list("number"), "[N]"),
    "already_shown": Argument("Positions of results shown before; they are not shown again.", _list("integer"), "[P]"),
    "pinned": Argument(
        "The result (its position) that stands in each of the first places; null: any.",
        _list(["integer", "null"]),
        "[R]",
    ),
}


def _knob(default: object, about: str, schema: Mapping[str, object]) -> Any:
    return field(default=default, metadata={"about": about, "schema": schema})


@dataclass(kw_only=True, eq=False, repr=False)
class Knobs:
    """Arguments that have one name and one meaning at every door; `srd_agents.diversify` explains them."""

    relevance: str | None = _knob(
        None, "What diversity weighs; left out: scores, scaled as cosines.", {"type": "string", "enum": list(KINDS)}
    )
    metric: str | None = _knob(
        None, "Similarity of vectors; left out: cosine.", {"type": "string", "enum": ["cosine", "dot"]}
    )
    near_duplicates: float | None = _knob(
        COPIES, "Cosine from which on a result is a near-duplicate of one above it, and comes last.", _SHARE
    )
    max_per_group: int | Mapping[Any, Any] | None = _knob(
        None, "Results shown of a group at most: of each, {group: number}, or {kind of groups: one of these}.", _COUNTS
    )
    min_per_group: int | Mapping[Any, Any] | None = _knob(
        None, "Results shown of a group at least, where there are enough; written the same way.", _COUNTS
    )
    budget: float | None = _knob(None, "What the results chosen may cost in all.", {"type": "number", "minimum": 0})
    fill: bool = _knob(False, "Whether to fill up with results above max_per_group, at the end of the list.", _SWITCH)
    per_cost: bool = _knob(
        False, "Whether to choose what is worth most for the budget, by value per cost, in place of a ranker.", _SWITCH
    )
    strict: bool = _knob(False, "Whether to refuse missing scores, groups and costs.", {})

    def knobs(self) -> dict[str, Any]:
        """Their values by name."""
        return {name: getattr(self, name) for name in KNOBS}


def check_knobs(knobs: Mapping[str, Any]) -> None:
    """Refuse what the schemas of `Knobs` refuse of numbers and switches; None is no number, but leaves one out.

    Raises:
        TypeError: a number that is none, or a switch that is neither True nor False.
        ValueError: a number out of range.
    """
    for name, value in knobs.items():
        schema, most = ARGUMENTS[name].schema, float_info.max
        if value is not None and schema.get("type") == "number":
            check_number(name, value, schema.get("minimum", -most), schema.get("maximum", most))
        if schema is _SWITCH and not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {shown(value)}")


KNOBS: tuple[str, ...] = tuple(each.name for each in fields(Knobs))
"""Names of `Knobs`."""
ARGUMENTS: Mapping[str, Argument] = {
    **_DOCUMENTS,
    **{each.name: Argument(each.metadata["about"], each.metadata["schema"]) for each in fields(Knobs)},
    "diversity": Argument("0: order of relevance, 1: difference only; left out: safe.", _SHARE),
    "k": Argument("Results wanted.", {"type": "integer", "minimum": 1, "default": 10}),
    "ranker": Argument("What ranks.", {}),
    "embed": Argument("Makes vectors of a list of texts.", {}),
}
"""Every argument of `srd_agents.diversify`, by name."""
