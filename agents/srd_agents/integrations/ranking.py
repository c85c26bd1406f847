"""Shared parts of the adapters: the default ranker, sources of subtopics, and the documents that are ranked.

Shapes: N documents of a query, S subtopics, F vector width.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.llm.answers import tidied
from srd_agents.pipeline.diversify import Chooser, Given
from srd_agents.pipeline.limits import COPIES, Limits, was_shown
from srd_agents.pipeline.naming import Names, about, as_names, named_by, named_later
from srd_agents.pipeline.subtopics import Lookup, embedded, texts_of, vectors_by
from srd_agents.pipeline.words import embed_by_words, with_vectors
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
    lambda_: float | None = None,
    option: str = "diversity",
    relevance: str | None = None,
    named: bool = False,
    keys: LimitKeys | None = None,
) -> Chooser:
    """Ranker at this weight, near-duplicates last.

    Args:
        ranker: as `srd_agents.diversify` takes it; None: `default_of`.
        diversity: from 0 (relevance only) to 1 (difference only), or None.
        lambda_: from 0 (difference only) to 1 (relevance only), in libraries that weigh relevance instead.
        option: what the library calls the weight, for errors.
        relevance: kind of relevance, as `srd_agents.diversify` takes it.
        named: whether there are subtopics.
        keys: what limits; None: near-duplicates come last, and nothing else.

    Raises:
        TypeError: ranker is nothing that ranks, or the weight no number.
        ValueError: a weight outside [0, 1], or a ranker that takes none, or no subtopics where there are some.
    """
    if lambda_ is not None:
        check_number(option, lambda_, 0.0, 1.0)
        diversity = 1.0 - lambda_
    keys = keys or LimitKeys()
    chosen = ranker if keys.per_cost else default_of(ranker, diversity is not None, named)
    asked: dict[str, Any] = {"per_cost": keys.per_cost, "costs": keys.cost_key, "option": option}
    return Chooser(chosen, keys.limits(), diversity=diversity, relevance=relevance, subtopics=named, **asked)


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
    """Largest sum of the costs of the documents shown; a document that no longer fits is passed over."""
    shown_key: str | None = None
    """Key that is true for documents shown before: they are not shown again, and what is shown differs from them."""
    fill: bool = False
    """Whether to fill up where `max_per_group` leaves too few: with the best above it, marked by `FILLED`."""
    per_cost: bool = False
    """Whether to choose what is worth most for the budget, by value per cost, in place of a ranker."""

    def limits(self) -> Limits:
        """Those of all queries."""
        return Limits.asked(
            near_duplicates=COPIES,
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
        """Limits on the documents of a query.

        Args:
            metadata: of the N documents.
            names: of the N documents, for errors.

        Raises:
            TypeError: what tells whether a document was shown before is neither true nor false.
            ValueError: a document without a group or cost.
        """
        groups, costs = self.group_key, self.cost_key
        return Limited(
            groups if groups is None else values_of("group", "group_key", groups, metadata, names),
            costs if costs is None else values_of("cost", "cost_key", costs, metadata, names),
            self.shown_key
            and [
                was_shown(f"{self.shown_key!r} in the metadata of {name}", fields.get(self.shown_key) or False)
                for name, fields in zip(names, metadata, strict=True)
            ],
        )


class Limited(NamedTuple):
    """Limits on the documents of a query."""

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


class Model(NamedTuple):
    """Embedding functions of a library's model; their results may be awaitable."""

    documents: Callable[[list[str]], Any]
    """n texts into n vectors."""
    query: Callable[[str], Any]
    """A query's text into a vector."""


class Prepared(NamedTuple):
    """Embeddings and subtopics of the documents to rank."""

    vectors: list[Any]
    """[N, F], None for a document that has none."""
    query_vector: Any
    """[F], or None."""
    subtopics: Any
    """[S, F], or None."""


def by_words(texts: list[str]) -> Model:
    """The words of these texts in the place of a model."""
    embed = embed_by_words(texts)
    return Model(embed, lambda query: np.asarray(embed([query]))[0])


def at_once(steps: Coroutine[Any, Any, Prepared]) -> Prepared:
    """The result of steps none of which waits for anything.

    Raises:
        TypeError: one of them waits.
    """
    try:
        steps.send(None)
    except StopIteration as done:
        result: Prepared = done.value
        return result
    steps.close()
    raise TypeError("a model that answers later (it is asynchronous) was asked at once; await it instead")


async def _answer(made: Any) -> Any:
    return await made if inspect.isawaitable(made) else made


class Subtopics:
    """Where an adapter finds the subtopics of a query.

    Args:
        subtopics: a key of the documents' metadata, which holds a text or a list of texts (those of all documents
            count, each once), or a function as `srd_agents.diversify` takes it; None: there are none, or `namer` names
            them.
        namer: a language model of the library, or a `Namer`.
        remedy: what to do where nothing embeds them.

    Raises:
        TypeError: something else.
        ValueError: both.
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

    async def prepared(
        self,
        query: str | None,
        texts: Sequence[Any],
        metadata: Sequence[Mapping[str, Any]],
        vectors: Sequence[Any],
        model: Model | None,
        *,
        query_vector: Any = None,
        embedded_texts: Sequence[str] | None = None,
        notice: str = "",
        later: bool = False,
    ) -> Prepared:
        """Inputs of a ranking: vectors of documents, query and subtopics, each made by the model where it is missing.

        Without a model, documents none of which has a vector are compared by their words.

        Args:
            query: its text.
            texts: of the N documents.
            metadata: of the N documents.
            vectors: of the N documents; None for one that has none.
            model: the library's, or None.
            query_vector: [F], or None.
            embedded_texts: what the model embeds of the N documents; None: their texts.
            notice: what to do so that documents are not compared by their words; "": that is what was asked for.
            later: whether what names subtopics is awaited; if not, and if the model's functions are not, `at_once`
                gives the result.

        Raises:
            TypeError, ValueError: as `of` and `vectors`, or a model that gives fewer vectors than asked for.
        """
        told = await self.later(query, texts, metadata) if later else self.of(query, texts, metadata)
        held = list(vectors)
        contents = [text or "" for text in (texts if embedded_texts is None else embedded_texts)]
        gaps = [place for place, vector in enumerate(held) if vector is None]
        if model is None and len(gaps) == len(held):
            if notice:
                warnings.warn(
                    f"no document has an embedding, so they are compared by their words; {notice}", stacklevel=2
                )
            model = by_words([*contents, *filter(None, [query])])
        if model is not None and gaps:
            without = [contents[place] for place in gaps]
            made = await _answer(model.documents(without))
            for place, vector in zip(gaps, vectors_by(lambda _: made, without), strict=True):
                held[place] = vector
        asked = [about(query, text) for text in texts_of(told)]
        if asked and model is not None:
            of_subtopics = await _answer(model.documents(asked))
            told = self.vectors(told, query, lambda _: of_subtopics)
        else:
            told = self.vectors(told, query, None)
        if model is not None and query_vector is None and query:
            query_vector = await _answer(model.query(query))
        return Prepared(held, query_vector, told)

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
    came. A document without a vector is ranked by its score alone, with a warning.

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
        ValueError: k below 1, a document without vector and score or with a vector of another width, scores of some,
            numbers that are not finite, a query vector of another width, what the ranker refuses, or a ranking that is
            none.
    """
    scored = [score is not None for score in scores or ()]
    first: Any = None
    for name, vector in zip(names, vectors, strict=True):
        if vector is None:
            if not any(scored):
                raise ValueError(f"{name} has no embedding; {remedy}")
            continue
        if not hasattr(vector, "__len__"):
            raise TypeError(f"{name} has an embedding that is no list of numbers, got {shown(vector)}; {remedy}")
        first = first or (name, len(vector))
        if len(vector) != first[1]:
            raise ValueError(
                f"{name} has an embedding of width {len(vector)}, {first[0]} one of width {first[1]}; expected "
                "one width: embed all documents with one model"
            )
    if any(scored) and not all(scored):
        raise ValueError(
            f"{names[scored.index(False)]} has no score, and others have; give every document one, or none"
        )
    given = Given(query, None, query_vector, vectors, scores if any(scored) else None, subtopics)
    given = with_vectors(given, None)[0]
    by_cosine = query_vector is not None and getattr(chooser.ranker, "weighs_cosines", False)
    if not any(scored) and not by_cosine and chooser.relevance not in ("scores", "scaled", "cosine"):
        given = given._replace(scores=range(len(vectors), 0, -1))
    groups, costs, seen = limited
    given = given._replace(groups=groups, costs=costs, already_shown=None if seen is None else np.flatnonzero(seen))
    (found,) = chooser.diversified([given], k)
    return found.indices, found.filled


def marked(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a document above `max_per_group`."""
    return {**metadata, FILLED: True}


def named(what: str, ids: Sequence[Any]) -> list[str]:
    """Name of a document in errors: its place, and its id where it has one."""
    return [f"{what} {place}" + ("" if name is None else f" (id {name!r})") for place, name in enumerate(ids)]
