"""Shared parts of the adapters: the default ranker, sources of subtopics, and the documents that are ranked.

Shapes: N documents of a query, S subtopics, F vector width.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from srd_agents.llm.answers import tidied
from srd_agents.pipeline.arguments import Knobs
from srd_agents.pipeline.documents import each_once, places_of
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.limits import was_shown
from srd_agents.pipeline.naming import Names, about, as_names, named_by, named_later
from srd_agents.pipeline.request import RankingRequest
from srd_agents.pipeline.subtopics import texts_of, vectors_by
from srd_agents.pipeline.words import embed_by_words, with_vectors
from srd_gym.checks import check_number, is_missing
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import few, shown

Answer = TypeVar("Answer")
FILLED = "filled"
"""The key of the metadata that is True for documents above `max_per_group`, with `fill`."""


@dataclass(kw_only=True, eq=False, repr=False)
class Adapter(Knobs):
    """Arguments that every adapter has: `Knobs`, a ranker, sources of subtopics, and keys of the documents' metadata.

    An id is one document, unless `strict`: the best score, and what else one of the documents with it has.

    Raises:
        TypeError: an argument of another type.
        ValueError: a number out of range, or one of a pair without the other.
    """

    ranker: Any = None
    """A ranker, its name such as "mmr" or the folder of a trained one; None is MMR where a weight is given and no
    subtopics are, as in those libraries, else "safe"."""
    subtopics: Any = None
    """Meanings or aspects of the query: a key of the metadata, whose texts (or lists of texts) are the subtopics, or a
    function of the query's text (and of the documents' `texts`, if it has a parameter of that name)."""
    namer: Any = None
    """A model of the library that names the subtopics of each query, or a `srd_agents.pipeline.naming.Namer`, which may
    keep what it named."""
    group_key: str | Sequence[str] | None = None
    """Key of each document's group, such as its site or the text it is a passage of: text or a whole number. Several
    keys are groups of several kinds, by their names."""
    cost_key: str | None = None
    """Key of each document's cost, at least 0, such as its tokens."""
    shown_key: str | None = None
    """Key that is true for documents shown before: they are not shown again, and what is shown differs from them."""
    pinned_key: str | None = None
    """Key of the place, from 0, of documents that have a fixed one."""
    group_option: ClassVar[str] = "group_key"
    """The caller's word for `group_key`, for errors."""

    def request(
        self,
        diversity: float | None = None,
        *,
        lambda_: float | None = None,
        called: str = "diversity",
        ranker: PathLike | Ranker | None = None,
    ) -> RankingRequest:
        """Rankings at this weight.

        Args:
            diversity: from 0 (relevance only) to 1 (difference only), or None.
            lambda_: from 0 (difference only) to 1 (relevance only), in libraries that weigh relevance instead.
            called: the library's word for the weight, for errors.
            ranker: in place of its own, already loaded.

        Raises:
            TypeError: ranker is nothing that ranks, or the weight no number.
            ValueError: a weight outside [0, 1], or a ranker that takes none, or no subtopics where there are some.
        """
        if lambda_ is not None:
            check_number(called, lambda_, 0.0, 1.0)
            diversity = 1.0 - lambda_
        ranker = self.ranker if ranker is None else ranker
        named = self.subtopics is not None or self.namer is not None
        return RankingRequest(
            ranker=ranker if self.per_cost else default_of(ranker, diversity is not None, named),
            diversity=diversity,
            subtopics=named,
            groups=self.group_key is not None,
            costs=self.cost_key is not None,
            called={"diversity": called, "groups": self.group_option, "costs": "cost_key"},
            **self.knobs(),
        )

    def each_once(
        self,
        what: str,
        items: Sequence[object],
        given: Given,
        metadata: Sequence[Mapping[str, object]],
        remedy: str = "",
    ) -> Retrieved:
        """A library's documents, each once, with what their metadata say.

        Args:
            what: the library calls them, for errors.
            items: N of them.
            given: what is known of them; ids are None for documents that have none.
            metadata: of each.
            remedy: what to do about a document without a score.

        Raises:
            TypeError: what tells whether a document was shown before is neither true nor false.
            ValueError: strict, and a document without a value under a key, or an id that is duplicated.
        """
        ids, parts = given.doc_ids or (), dict[str, Any]()
        names = named(what, ids)
        for part, option, key in self._keys():
            if key is not None:
                values = [fields.get(key) for fields in metadata]
                parts[part] = values if part != "groups" else parts.get(part, {}) | {key: values}
                missing = [place for place, value in enumerate(values) if is_missing(value)]
                if missing and (self.strict or (len(missing) == len(values) and part != "groups")):
                    place = missing[0]
                    fault = f"{names[place]} has no {part[:-1]}: {option}={shown(key)} is not in its metadata "
                    fault += f"({few(metadata[place])}){remedy * (part == 'scores')}"
                    if self.strict or part == "costs":
                        raise ValueError(fault)
                    warnings.warn(f"no document has a score, so none counts: {fault}", stacklevel=3)
        if isinstance(self.group_key, str):
            parts["groups"] = parts["groups"][self.group_key]
        parts["pinned"] = [fields.get(self.pinned_key) for fields in metadata] if self.pinned_key is not None else None
        if self.shown_key is not None:
            parts["already_shown"] = [
                was_shown(f"{self.shown_key!r} in the metadata of {name}", fields.get(self.shown_key))
                for name, fields in zip(names, metadata, strict=True)
            ]
        given, best = each_once(given._replace(**parts))
        if all(map(is_missing, given.scores or ())):
            given = given._replace(scores=None)
        if best is None:
            return Retrieved(given, list(items), names, list(metadata))
        if self.strict:
            name = next(name for place, name in enumerate(names) if ids[place] in {*ids[:place]} - {None})
            raise ValueError(f"{name} is duplicated; keep one {what} of an id, or leave strict=True out")
        items, names = [items[i] for i in best], [names[i] for i in best]
        return Retrieved(given, items, names, [metadata[i] for i in best])

    def _keys(self) -> Iterator[tuple[str, str, str | None]]:
        """Parts of a topic in the metadata, the option that names each, and its key."""
        for kind in [self.group_key] if isinstance(self.group_key, str) else self.group_key or ():
            yield "groups", self.group_option, kind
        for part in ("costs", "scores"):
            yield part, f"{part[:-1]}_key", getattr(self, f"{part[:-1]}_key", None)


def default_of(ranker: PathLike | Ranker | None, weighed: bool, named: bool) -> PathLike | Ranker | None:
    """The ranker; None is MMR where a weight is given and no subtopics are, as in those libraries."""
    return "mmr" if ranker is None and weighed and not named else ranker


class Retrieved(NamedTuple):
    """Documents of a query, each once."""

    given: Given
    """The topic that they make."""
    items: list[Any]
    """N of the library's: of several with one id the one of the best score."""
    names: list[str]
    """N, for errors."""
    metadata: list[Mapping[str, Any]]
    """N."""
    remedy: str = ""
    """Advice on documents without an embedding; "": they were not expected to have one."""
    contents: Sequence[str] | None = None
    """N texts that a model embeds; None: the documents' texts."""


class Model(NamedTuple):
    """Embedding functions of a library's model; their results may be awaitable."""

    documents: Callable[[list[str]], Any]
    """n texts into n vectors."""
    query: Callable[[str], Any] | None = None
    """A query's text into a vector; None: as the text of a document."""


def at_once(steps: Coroutine[object, object, Answer]) -> Answer:
    """The result of steps none of which waits for anything.

    Raises:
        TypeError: one of them waits.
    """
    try:
        steps.send(None)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    steps.close()
    raise TypeError("a model that answers later (it is asynchronous) was asked at once; await it instead")


async def _answer(made: object) -> Any:
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

    def __init__(self, subtopics: str | Names | None, namer: object, remedy: str) -> None:
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

    async def of(
        self,
        query: str | None,
        texts: Sequence[object] | None,
        metadata: Sequence[Mapping[str, object]],
        *,
        later: bool = False,
    ) -> Any:
        """A query's subtopics: texts, vectors [S, F], or None.

        Args:
            query: its text.
            texts: of the N documents; None: not known.
            metadata: of the N documents.
            later: whether a model is awaited.

        Raises:
            TypeError, ValueError: a query without text, or what `srd_agents.pipeline.naming.named_by` refuses.
        """
        if self._key is not None:
            return self._listed(metadata)
        if self._names is None:
            return None
        contents = None if texts is None else [text or "" for text in texts]
        name = query or "of these documents"
        if later:
            return await named_later(self._names, query, contents, name)
        return named_by(self._names, [query], [contents], [name])[0]

    async def prepared(self, of: Retrieved, model: Model | None, *, later: bool = False) -> Given:
        """Inputs of a ranking: vectors of documents, query and subtopics, each made by the model where it is missing.

        Without a model, documents none of which has a vector are compared by their words.

        Args:
            of: the documents.
            model: the library's, or None.
            later: whether what names subtopics is awaited; if not, and if the model's functions are not, `at_once`
                gives the result.

        Raises:
            TypeError, ValueError: as `of`, texts of subtopics that nothing embeds, or a model that gives fewer
                vectors than asked for.
        """
        given, query = of.given, of.given.query_text
        told = await self.of(query, given.doc_texts, of.metadata, later=later)
        held, query_vector = list(given.doc_vectors), given.query_vector
        contents = given.doc_texts if of.contents is None else of.contents
        gaps = [place for place, vector in enumerate(held) if vector is None]
        if model is None and len(gaps) == len(held):
            if of.remedy:
                warnings.warn(
                    f"no document has an embedding, so they are compared by their words; {of.remedy}", stacklevel=2
                )
            query_vector = None  # of the library's model, which no document's vector is of
            if given.scores is not None and not self.given:
                query = None  # as of `srd_agents.pipeline.words.with_vectors`
            model = Model(embed_by_words([*contents, *filter(None, [query])]))
        if model is not None and gaps:
            without = [contents[place] for place in gaps]
            made = await _answer(model.documents(without))
            for place, vector in zip(gaps, vectors_by(lambda _: made, without), strict=True):
                held[place] = vector
        if asked := [about(query, text) for text in texts_of(told)]:
            if model is None:
                raise ValueError(f"subtopics are texts ({told[0]!r}, ...): {self._remedy}")
            of_subtopics = await _answer(model.documents(asked))
            told = vectors_by(lambda _: of_subtopics, asked)
        if model is not None and query_vector is None and query:
            if model.query is None:
                (query_vector,) = await _answer(model.documents([query]))
            else:
                query_vector = await _answer(model.query(query))
        return given._replace(doc_vectors=held, query_vector=query_vector, subtopics=told)

    def _listed(self, metadata: Sequence[Mapping[str, object]]) -> list[str] | None:
        """The texts under the key."""
        texts: list[str] = []
        for fields in metadata:
            value = fields.get(str(self._key))
            some = [value] if isinstance(value, str) else value or ()
            if not isinstance(some, Sequence) or not all(isinstance(each, str) for each in some):
                raise TypeError(f"metadata[{self._key!r}] must hold a text or a list of texts, got {value!r}")
            texts += some
        return tidied(texts) or None


async def best_first(
    request: RankingRequest, k: int, of: Retrieved, source: Subtopics, model: Model | None, *, later: bool = False
) -> list[tuple[Any, bool]]:
    """The k documents to show of one query, as `srd_agents.diversify` chooses them, once embeddings are made.

    Args:
        request: how they are ranked.
        k: documents wanted, at least 1.
        of: the N documents.
        source: of the subtopics.
        model: of the library, or None.
        later: whether models are awaited, and the ranking is made in a thread; if not, `at_once` gives the result.

    Returns:
        At most min(k, N) of the library's documents, best first, and whether each is above `max_per_group`.

    Raises:
        TypeError, ValueError: as `Subtopics.prepared` and `chosen`.
    """
    ready = await source.prepared(of, model, later=later)
    if not later:
        return chosen(request, k, of, ready)
    import asyncio  # here, as it is slow to import

    return await asyncio.to_thread(chosen, request, k, of, ready)


def chosen(request: RankingRequest, k: int, of: Retrieved, given: Given) -> list[tuple[Any, bool]]:
    """`best_first` of what is prepared.

    Relevance is what the scores say. Without scores it is the cosine with the query, as in those libraries' own MMR,
    where the ranker weighs relevance (MMR, MSD, DPP) and there is a query vector; else the order in which the documents
    came. A document without a vector is ranked by its score alone, with a warning.

    Raises:
        TypeError: k is no whole number, or vectors, scores or costs hold no numbers.
        ValueError: k below 1, a document without vector and score or with a vector of another width, numbers that are
            not finite, a query vector of another width, scores of some documents where the request is strict, what the
            ranker refuses, or a ranking that is none.
    """
    scored = given.scores is not None
    bare = [name for name, vector in zip(of.names, given.doc_vectors, strict=True) if vector is None]
    if bare and not scored:
        raise ValueError(f"{bare[0]} has no embedding; {of.remedy}")
    lost = [name for name, score in zip(of.names, given.scores or (), strict=False) if is_missing(score)]
    if request.strict and lost:
        raise ValueError(f"{lost[0]} has no score, and others have; give every document one, or none")
    seen = None if given.already_shown is None else np.flatnonzero(given.already_shown)
    by_cosine = given.query_vector is not None and getattr(request.made, "weighs_cosines", False)
    ordered = not by_cosine and request.relevance not in ("scores", "minmax", "cosine")
    given = given._replace(doc_ids=None, doc_texts=None, query_text=None, already_shown=seen, ordered=ordered)
    given = given._replace(pinned=places_of(given.pinned))
    (found,) = request.diversified([with_vectors(given, None)[0]], k)
    return [(of.items[place], above) for place, above in zip(found.indices, found.filled.tolist(), strict=True)]


def marked(metadata: Mapping[str, object]) -> dict[str, object]:
    """The metadata of a document above `max_per_group`."""
    return {**metadata, FILLED: True}


def named(what: str, ids: Sequence[object]) -> list[str]:
    """Name of a document in errors: its place, and its id where it has one."""
    return [f"{what} {place}" + ("" if name is None else f" (id {name!r})") for place, name in enumerate(ids)]
