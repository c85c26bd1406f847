"""What the adapters share: the default ranker, where subtopics come from, and what is ranked of the documents.

Shapes: N documents of a query, S subtopics, F vector width.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.relevance import ByRelevance
from srd_agents.pipeline.diversify import Chooser, Given
from srd_agents.pipeline.limits import COPIES, Limits
from srd_agents.pipeline.naming import Namer, Names, about, as_names, named_by, named_later, tidied
from srd_agents.pipeline.subtopics import Lookup, embedded, texts_of
from srd_gym.checks import check_number
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import few, shown

FILLED = "filled"
"""The key of the metadata that is True for documents above `max_per_group`, with `fill`."""


def chooser_of(
    ranker: PathLike | Ranker | None,
    diversity: float | None = None,
    *,
    relevance: float | None = None,
    option: str = "diversity",
    named: bool = False,
    limits: Limits | None = None,
) -> Chooser:
    """What ranks at this weight, near-duplicates last.

    Args:
        ranker: as `srd_agents.diversify` takes it; None: `default_of`.
        diversity: from 0 (relevance only) to 1 (difference only), or None.
        relevance: from 0 (difference only) to 1 (relevance only), in libraries that weigh it instead.
        option: what the library calls the weight, for errors.
        named: whether there are subtopics.
        limits: None: near-duplicates come last, and nothing else.

    Raises:
        TypeError: ranker is nothing that ranks, or the weight no number.
        ValueError: a weight outside [0, 1], or a ranker that takes none, or no subtopics where there are some.
    """
    if relevance is not None:
        check_number(option, relevance, 0.0, 1.0)
        diversity = 1.0 - relevance
    chosen = default_of(ranker, diversity is not None, named)
    limits = Limits(copies=COPIES) if limits is None else limits
    return Chooser(chosen, limits, diversity=diversity, subtopics=named, option=option)


def default_of(ranker: PathLike | Ranker | None, weighed: bool, named: bool) -> PathLike | Ranker | None:
    """The ranker; None is MMR where a weight is given and no subtopics are, as in those libraries."""
    return "mmr" if ranker is None and weighed and not named else ranker


@dataclass(kw_only=True, eq=False, repr=False)
class LimitKeys:
    """Which documents an adapter may show: keys of their metadata, and numbers.

    Raises:
        TypeError: an argument of another type.
        ValueError: a number out of range, or one of a pair without the other.
    """

    group_key: str | None = None
    """Key of each document's group, such as its site or the text it is a passage of: text or a whole number."""
    max_per_group: int | None = None
    """Documents shown of each group at most, those shown before among them."""
    cost_key: str | None = None
    """Key of each document's cost, at least 0, such as its tokens."""
    budget: float | None = None
    """What the documents shown may cost in all; a document that no longer fits is passed over."""
    shown_key: str | None = None
    """Key that is true for documents shown before: they are not shown again, and what is shown differs from them."""
    fill: bool = False
    """Whether to fill up where `max_per_group` leaves too few: with the best above it, marked by `FILLED`."""

    def limits(self) -> Limits:
        """Those of all queries."""
        return Limits.asked(
            copies=COPIES,
            groups=self.group_key,
            max_per_group=self.max_per_group,
            costs=self.cost_key,
            budget=self.budget,
            fill=self.fill,
            called=("group_key", "cost_key"),
        )

    def limit_options(self) -> dict[str, Any]:
        """The arguments that make it again."""
        return asdict(self)

    def limited(self, metadata: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Limited:
        """What limits the documents of a query.

        Args:
            metadata: of the N documents.
            names: of the N documents, for errors.

        Raises:
            ValueError: a document without a group or cost.
        """
        groups, costs = self.group_key, self.cost_key
        return Limited(
            groups if groups is None else values_of("group", "group_key", groups, metadata, names),
            costs if costs is None else values_of("cost", "cost_key", costs, metadata, names),
            self.shown_key and [bool(fields.get(self.shown_key)) for fields in metadata],
        )


class Limited(NamedTuple):
    """What limits the documents of a query."""

    groups: list[Any] | None = None
    """[N] ids."""
    costs: list[Any] | None = None
    """[N] at least 0."""
    shown: Any = None
    """[N] whether each was shown before."""


def values_of(
    what: str, option: str, key: str, metadata: Sequence[Mapping[str, Any]], names: Sequence[str], remedy: str = ""
) -> list[Any]:
    """The value that each document has under a key of its metadata.

    Args:
        what: the value is.
        option: names the key.
        key: of the metadata.
        metadata: of the N documents.
        names: of the N documents.
        remedy: what to do about a document without it.

    Raises:
        ValueError: a document without it.
    """
    for name, fields in zip(names, metadata, strict=True):
        if fields.get(key) is None:
            raise ValueError(
                f"{name} has no {what}: {option}={shown(key)} is not in its metadata ({few(fields)}){remedy}"
            )
    return [fields[key] for fields in metadata]


class Subtopics:
    """Where an adapter finds the subtopics of a query.

    Args:
        subtopics: a key of the documents' metadata, which holds a text or a list of texts (those of all documents
            count, each once), or a function as `srd_agents.diversify` takes it; None: there are none, or `namer` names
            them.
        namer: a language model of the library, or a `Namer`.
        remedy: what to do where nothing embeds them; nothing where something does.

    Raises:
        TypeError: something else.
        ValueError: both, or a model's names without anything that embeds them.
    """

    def __init__(self, subtopics: str | Names | None, namer: Any, remedy: str) -> None:
        if subtopics is not None and namer is not None:
            raise ValueError("subtopics and namer were both given; give one of them")
        if not (subtopics is None or isinstance(subtopics, str) or callable(subtopics)):
            raise TypeError(
                "subtopics must be a key of the documents' metadata or a function of the query's text, got "
                f"{type(subtopics).__name__}; a language model goes to namer="
            )
        self.given = subtopics is not None or namer is not None
        self._key = subtopics if isinstance(subtopics, str) else None
        self._names = as_names(namer) if namer is not None else subtopics if callable(subtopics) else None
        self._remedy = remedy
        if isinstance(self._names, Namer) and remedy:
            raise ValueError(f"subtopics are texts that a model names: {remedy}")

    def of(self, query: str | None, texts: Sequence[Any], metadata: Sequence[Mapping[str, Any]]) -> Any:
        """A query's subtopics: texts, vectors [S, F], or None.

        Args:
            query: its text.
            texts: of the N documents.
            metadata: of the N documents.

        Raises:
            TypeError, ValueError: a query without text, or what `srd_agents.pipeline.naming.named_by` refuses.
        """
        if self._key is not None:
            return self._listed(metadata)
        if self._names is None:
            return None
        return named_by(self._names, [query], [[text or "" for text in texts]], [query or "of these documents"])[0]

    async def later(self, query: str | None, texts: Sequence[Any], metadata: Sequence[Mapping[str, Any]]) -> Any:
        """`of` for asynchronous code."""
        if self._names is None:
            return self.of(query, texts, metadata)
        return await named_later(self._names, query, [text or "" for text in texts], query or "of these documents")

    def vectors(self, named: Any, query: str | None, embed: Lookup | None) -> Any:
        """Vectors [S, F] of what `of` gives, or None.

        Raises:
            ValueError: texts that nothing embeds.
        """
        if named is not None and len(named) and isinstance(named[0], str) and embed is None:
            raise ValueError(f"subtopics are texts ({named[0]!r}, ...): {self._remedy}")
        return embedded([named], embed, queries=[query])[0]

    async def vectors_later(
        self, named: Any, query: str | None, embed: Callable[[list[str]], Awaitable[Any]] | None
    ) -> Any:
        """`vectors` by a model that is awaited."""
        asked = [about(query, text) for text in texts_of(named)]
        made = await embed(asked) if asked and embed is not None else None
        return self.vectors(named, query, None if made is None else lambda texts: made)

    def _listed(self, metadata: Sequence[Mapping[str, Any]]) -> list[str] | None:
        """The texts under the key."""
        texts: list[str] = []
        for fields in metadata:
            value = fields.get(str(self._key))
            some = [value] if isinstance(value, str) else value or ()
            if not isinstance(some, Sequence) or not all(isinstance(each, str) for each in some):
                raise TypeError(f"metadata[{self._key!r}] must hold a text or a list of texts, got {value!r}")
            texts += some
        return tidied(texts) or None


def best_first(
    chooser: Chooser,
    k: int,
    vectors: Sequence[Any] | NDArray[Any],
    *,
    names: Sequence[str],
    query: str,
    query_vector: Any = None,
    scores: Sequence[Any] | None = None,
    subtopics: Any = None,
    limited: Limited = Limited(),  # noqa: B008 immutable
    remedy: str = "",
) -> tuple[IntArray, BoolArray]:
    """The k documents to show of one query, as `srd_agents.diversify` chooses them.

    Relevance is what the scores say. Without scores it is the cosine with the query, as in those libraries' own MMR,
    where the ranker weighs relevance (MMR, MSD, DPP) and there is a query vector; else the order in which the documents
    came.

    Args:
        chooser: what ranks.
        k: documents wanted, at least 1.
        vectors: [N, F], of the documents; None for one that has none.
        names: of the N documents, for errors.
        query: its text, for errors.
        query_vector: [F], or None.
        scores: [N], higher is better; None for a document that has none, or for all.
        subtopics: [S, F], or None.
        limited: groups, costs and what was shown before.
        remedy: what to do about a document without a vector.

    Returns:
        [at most min(k, N)] places, best first, and which of them are above `max_per_group`.

    Raises:
        TypeError: k is no whole number, or vectors, scores or costs hold no numbers.
        ValueError: k below 1, a document without a vector or with one of another width, scores of some documents only,
            numbers that are not finite, a query vector of another width, what the ranker refuses, or a ranking that is
            none.
    """
    for name, vector in zip(names, vectors, strict=True):
        if vector is None:
            raise ValueError(f"{name} has no embedding; {remedy}")
        if len(vector) != len(vectors[0]):
            raise ValueError(
                f"{name} has an embedding of width {len(vector)}, {names[0]} one of width {len(vectors[0])}; expected "
                "one width: embed all documents with one model"
            )
    scored = [score is not None for score in scores or ()]
    if any(scored) and not all(scored):
        raise ValueError(
            f"{names[scored.index(False)]} has no score, and others have; give every document one, or none"
        )
    given = Given(query, None, query_vector, vectors, scores if any(scored) else None, subtopics)
    order = np.arange(len(vectors))
    if not any(scored) and query_vector is not None and getattr(chooser.ranker, "weighs_cosines", False):
        # Ties go to the earlier document, which is to be the more relevant one.
        order = Chooser(ByRelevance("cosine"), Limits()).choose([given], len(vectors))[0]
        given = given._replace(doc_vectors=np.asarray(vectors)[order])
    elif not any(scored):
        given = given._replace(scores=range(len(vectors), 0, -1))
    groups, costs, seen = (None if values is None else [values[i] for i in order] for values in limited)
    given = given._replace(groups=groups, costs=costs, shown=None if seen is None else np.flatnonzero(seen))
    (found,) = chooser.diversified([given], k)
    return order[found.indices], found.filled


def marked(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a document above `max_per_group`."""
    return {**metadata, FILLED: True}


def named(what: str, ids: Sequence[Any]) -> list[str]:
    """What errors call documents: by their place, and by their id where they have one."""
    return [f"{what} {place}" + ("" if name is None else f" (id {name!r})") for place, name in enumerate(ids)]
