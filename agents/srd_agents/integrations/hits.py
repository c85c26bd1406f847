"""Answers of search engines, as their JSON is: the same answer with the hits to show, diverse ones first.

Read are Elasticsearch and OpenSearch (`hits.hits`), Qdrant (`result`, `result.points`, `points`), Weaviate
(`data.Get.CLASS`, `objects`), Solr (`response.docs`), Vespa (`root.children`), and rows of a table as a list of dicts
(Postgres with pgvector). No client library is needed; of a client's objects make dicts first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from srd_agents.integrations.ranking import Adapter, Model, Subtopics, at_once, best_first
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.subtopics import Lookup
from srd_gym.checks import check_integer
from srd_gym.reading import few, kind_of, shown, with_type

_PLACES = (
    ("hits", "hits"),
    ("result", "points"),
    ("result",),
    ("points",),
    ("data", "Get", "*"),
    ("objects",),
    ("response", "docs"),
    ("root", "children"),
)
"""Where hits stand in an answer; "*" is the only key."""
_INSIDE = ("_source", "fields", "payload", "properties", "_additional", "metadata")
"""Parts of a hit whose fields may be named without the part."""
_OF_ENGINES = {"data": ("_additional.",), "objects": ("_additional.", "metadata.", "")}
"""First key of an answer -> the parts of a hit in which the engine, not the document, has fields."""
_ONE_SCORE = {"hits": "_score", "result": "score", "points": "score", "response": "score", "root": "relevance"}
"""First key of an answer -> the one field of scores that its engine has."""
_SCORES = ("_score", "score", "relevance", "certainty")
_DISTANCES = ("distance", "_additional.distance", "metadata.distance")
_SORTED_BY = "sort"
"""Numbers of Elasticsearch that are no vector."""
_SHORTEST = 4
"""Numbers of a vector that is not named, where there are texts: fewer may be a place."""
_NUMBERS = ".values"
"""End of the path of a dense tensor of Vespa."""


class _Fields(Adapter):
    """Options of `diversify_hits`."""

    group_option = "group"


def diversify_hits(
    response: object,
    k: int = 10,
    *,
    query_vector: Sequence[float] | None = None,
    query_text: str | None = None,
    vector: str | None = None,
    text: str | None = None,
    score: str | None = None,
    group: str | Sequence[str] | None = None,
    embed: Lookup | None = None,
    diversity: float | None = None,
    **options: Any,
) -> Any:
    """The answer of a search engine with the k hits to show, in the order in which to show them.

    Fields are named by their path ("_source.site") or, in `_source`, `fields`, `payload`, `properties`, `_additional`
    and `metadata`, by the rest of it ("site").

    Args:
        response: the parsed JSON. It is not changed: what is returned is new down to the list of hits, the hits are its
            own.
        k: hits wanted, at least 1.
        query_vector: [F] of the query; None: not known. Without scores the engine's order then is the relevance.
        query_text: the query, for subtopics that are named by a function, and beside texts without vectors.
        vector: field of a hit's vector: numbers, or text such as pgvector's "[0.1,0.2]". None: the only one that holds
            a vector, if there is one; where `text` is named, of four numbers or more.
        text: field of a hit's text, which stands in for a vector that is missing (by `embed`, or else by its words).
        score: field of the score, higher is better; None: the engine's own `_score`, `score`, `relevance`, `certainty`,
            or negative `distance`. Where no hit has any (sorted by a field), the engine's order counts.
        group: field of a hit's group (site, author, parent), for `max_per_group` and `min_per_group`; several fields
            are groups of several kinds.
        embed: makes vectors of a list of texts.
        diversity: as of `srd_agents.diversify`.
        options: of `srd_agents.integrations.ranking.Adapter`: `ranker`, `max_per_group`, `subtopics`, `namer`,
            `near_duplicates`, `cost_key`, `budget`, `shown_key`, `pinned_key`, `strict`, ...

    Raises:
        TypeError: no answer of an engine that is read here, or an option of another type.
        ValueError: hits without vectors and texts, several fields of vectors of which none is named, vectors of
            several widths, or what `srd_agents.diversify` refuses.

    Examples:
        >>> answer = {"hits": {"hits": [
        ...     {"_id": "a", "_score": 3.0, "_source": {"v": [1.0, 0.0]}},
        ...     {"_id": "b", "_score": 2.9, "_source": {"v": [1.0, 0.1]}},
        ...     {"_id": "c", "_score": 2.0, "_source": {"v": [0.0, 1.0]}}]}}
        >>> [hit["_id"] for hit in diversify_hits(answer, 2, diversity=0.5)["hits"]["hits"]]
        ['a', 'c']
    """
    check_integer("k", k, 1)
    if "group_key" in options:
        raise TypeError("diversify_hits takes the field of a hit's group as group=, got group_key=; rename it")
    adapter = _Fields(group_key=group, **options)
    request = adapter.request(diversity)
    source = Subtopics(adapter.subtopics, adapter.namer, "give embed=")
    path = _place_of(response)
    hits = _at(response, path)
    own = [_fields(place, hit) for place, hit in enumerate(hits)]
    if not own:
        return response
    fields = list(map(_with_short_names, own))
    vector = _vector_field(own, 2 if text is None else _SHORTEST) if vector is None else vector
    vectors = [
        None if vector is None else _vector(place, vector, each.get(vector)) for place, each in enumerate(fields)
    ]
    if text is not None and not any(text in each for each in fields):
        raise ValueError(f"no hit has a text in {text!r} (the first has {few(fields[0])})")
    texts = None if text is None else [each.get(text) or "" for each in fields]
    if texts is None:
        _check_vectors(fields, vectors, vector, all_of_them=embed is not None)
    engine = path[0] if path else ""
    scores = _scores_of_engine(engine, own) if score is None else _scores(fields, [score])
    if score is not None and scores is None:
        raise ValueError(f"no hit has a score in {score!r} (the first has {few(fields[0])})")
    ids = tuple([_id(engine, each) for each in own])
    given = Given("of this answer", ids, query_vector, vectors, scores, query_text=query_text, doc_texts=texts)
    held = adapter.each_once("hit", hits, given, fields)
    held = held._replace(remedy="" if vector is None else "name its text by text=")
    model = None if embed is None else Model(embed)
    return _with(response, path, [hit for hit, _ in at_once(best_first(request, k, held, source, model))])


def _place_of(response: object) -> tuple[str, ...]:
    """The keys that lead to the hits.

    Raises:
        TypeError: none does.
    """
    if isinstance(response, list):
        return ()
    for place in _PLACES:
        path, at = list[str](), response
        for key in place:
            if isinstance(at, Mapping) and key == "*" and len(at) == 1:
                (key,) = at
            if not isinstance(at, Mapping) or key not in at:
                break
            path.append(key)
            at = at[key]
        else:
            if isinstance(at, list):
                return tuple(path)
    got = f"a dict of {few(response)}" if isinstance(response, Mapping) else kind_of(response)
    raise TypeError(
        "expected the parsed JSON of a search (hits.hits, result, result.points, points, data.Get.CLASS, objects, "
        f"response.docs or root.children), or a list of rows as dicts; got {got}"
    )


def _at(response: Any, path: Sequence[str]) -> list[Any]:
    for key in path:
        response = response[key]
    hits: list[object] = response
    return hits


def _with(response: Any, path: Sequence[str], hits: list[Any]) -> Any:
    """The answer with other hits."""
    if not path:
        return hits
    return {**response, path[0]: _with(response[path[0]], path[1:], hits)}


def _fields(place: int, hit: object) -> dict[str, object]:
    """The fields of a hit by their paths.

    Raises:
        TypeError: it is no dict.
    """
    if not isinstance(hit, Mapping):
        raise TypeError(f"hit {place} must be a dict, got {kind_of(hit)}; make dicts of a client's objects first")
    return dict(_paths(hit))


def _with_short_names(fields: Mapping[str, object]) -> dict[str, object]:
    """Fields by their paths, and by shorter names."""
    found = dict(fields)
    for path, value in fields.items():
        part, _, rest = path.partition(".")
        for name in ((rest,) if part in _INSIDE else ()) + ((path,) if path.endswith(_NUMBERS) else ()):
            if name:
                found.setdefault(name.removesuffix(_NUMBERS), value)
    return found


def _paths(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _paths(value, f"{before}{key}.")
        else:
            # Elasticsearch's `fields` are lists, also of one value.
            one = isinstance(value, list) and len(value) == 1 and before == "fields."
            yield f"{before}{key}", value[0] if one else value


def _vector_field(fields: Sequence[Mapping[str, object]], least: int) -> str | None:
    """The path of the only field that holds vectors, of so many numbers at least; None where there is none.

    Raises:
        ValueError: there are several.
    """
    every = (each for hit in fields for each in hit.items())
    paths = list(dict.fromkeys(path for path, value in every if path != _SORTED_BY and _is_vector(value, least)))
    if len(paths) > 1:
        raise ValueError(f"hits have several vectors ({few(paths)}); name the one to compare: vector={shown(paths[0])}")
    return paths[0] if paths else None


def _is_vector(value: object, least: int) -> bool:
    """Whether this looks like a vector: so many numbers, in a list or in brackets."""
    if isinstance(value, str):
        value = _read(value)
    return isinstance(value, list) and len(value) >= least and all(type(number) in (float, int) for number in value)


def _read(text: str) -> Any:
    """The list that a text holds; None if it is none."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _vector(place: int, name: str, value: object) -> Any:
    """A vector as it was found, read if it is text; None where the hit has none.

    Raises:
        TypeError: something else.
    """
    read = _read(value) if isinstance(value, str) else value
    if (read is None and value is not None) or isinstance(read, Mapping):
        raise TypeError(f"hit {place}: {name!r} must hold a vector, got {with_type(value)}")
    return read


def _check_vectors(
    fields: Sequence[Mapping[str, object]], vectors: Sequence[object], name: str | None, *, all_of_them: bool
) -> None:
    """Refuse hits without vectors where no text stands in: all of them, or any where texts are to be embedded.

    Raises:
        ValueError: there are.
    """
    lost = [place for place, vector in enumerate(vectors) if vector is None]
    if lost and (all_of_them or len(lost) == len(vectors)):
        where = "" if name is None else f" in {name!r}"
        raise ValueError(
            f"hit {lost[0]} has no vector{where} (it has {few(fields[lost[0]])}); name the field of vectors by vector="
            ", or that of texts by text="
        )


def _scores(fields: Sequence[Mapping[str, object]], names: Sequence[str]) -> list[float | None] | None:
    """[N] of the first field of these names that some hit has; None where none has any.

    Raises:
        TypeError: a score that is no number.
    """
    found = next((each for each in names if any(hit.get(each) is not None for hit in fields)), None)
    if found is None:
        return None
    sign = -1.0 if found in _DISTANCES else 1.0
    return [None if (value := hit.get(found)) is None else sign * _number(found, value) for hit in fields]


def _scores_of_engine(engine: str, fields: Sequence[Mapping[str, object]]) -> list[float | None] | None:
    """[N] of the field in which the engine has its scores; None where no hit has any."""
    if engine in _ONE_SCORE:
        scores = _scores(fields, [_ONE_SCORE[engine]])
    else:
        scores = _scores(fields, [f"{part}{name}" for part in _parts(engine) for name in (*_SCORES, "distance")])
    known = [value for value in scores or () if value is not None]
    if engine in ("result", "points") and known == sorted(known) and known[:1] < known[-1:]:
        return [None if value is None else -value for value in scores or ()]  # Qdrant's, where they are distances
    return scores


def _parts(engine: str) -> tuple[str, ...]:
    """The parts of a hit in which the engine has fields."""
    return ("",) if engine in _ONE_SCORE else _OF_ENGINES.get(engine, ("_additional.", ""))


def _number(name: str, value: Any) -> float:
    try:
        return float(value)  # Weaviate's are texts
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold a number, got {with_type(value)}") from error


def _id(engine: str, fields: Mapping[str, object]) -> Any:
    """The hit's id, with that of its index, as ids of several may be equal; None where it has none."""
    names = [
        f"{part}{name}" for part in _parts(engine) for name in (("_id", "id") if engine == "hits" else ("id", "_id"))
    ]
    own = next((fields[name] for name in names if fields.get(name) is not None), None)
    return None if own is None else f"{fields.get('_index', '')}/{own}"
