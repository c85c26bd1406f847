"""Haystack: a ranker component."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import (
    LimitKeys,
    Model,
    Prepared,
    Subtopics,
    at_once,
    best_first,
    chooser_of,
    marked,
    named,
)
from srd_agents.pipeline.diversify import Chooser, as_ranker
from srd_agents.pipeline.naming import Names
from srd_gym.checks import check_integer
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import with_type

with library("haystack", "haystack-ai"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.core.serialization import component_to_dict
    from haystack.utils import deserialize_callable, serialize_callable
    from haystack.utils.deserialization import deserialize_component_inplace

_PARTS = ("subtopics", "namer", "embedder")
"""Options that may be components or functions."""
_REMEDY = "have the retriever return embeddings, or give embedder="
_FUNCTION = "function"
"""Key of a function in a serialised component."""


@component
class DiverseRanker(LimitKeys):
    """Ranks documents so that the first ones differ; behind a retriever with `return_embedding=True`.

    Without `diversity` the order of the scores stays and repeats come last (`srd_agents.pipeline.safe`), unless
    another ranker is named. Documents without scores count in the order in which they came; where the ranker weighs
    relevance (MMR, MSD, DPP) and `run` is given the query's embedding, by their cosine with it.

    The documents that come out are copies with a new score, 1 / rank, so that what sorts by score keeps the ranking.

    Args:
        top_k: documents kept; None keeps (and ranks) all.
        diversity: from 0 (relevance only) to 1 (difference only); None lets the ranker decide.
        ranker: a ranker, its name such as "mmr" or the folder of a trained one; None is MMR where diversity is
            given and subtopics are not, else `srd_agents.diversify.DEFAULT_RANKER`.
        subtopics: what the query may mean or ask about: a key of the documents' meta, whose texts (or lists of texts)
            are the subtopics, or a function of the query's text (and of the documents' `texts`, if it has a parameter
            of that name).
        namer: a chat generator that names the subtopics of each query, or a `srd_agents.pipeline.naming.Namer`, which
            may keep what it named.
        embedder: a text or a document embedder, or a function that makes vectors of a list of texts: of subtopics, of
            the query, and of documents without embeddings. None: if no document has an embedding, they are compared by
            their words (TF-IDF; scikit-learn).
        relevance: kind of relevance, as `srd_agents.diversify` takes it; None: the scores on the scale of the cosines,
            or without scores the cosine with the query.
        group_key: key of the meta: each document's group, such as its source.
        max_per_group: documents shown of each group at most, those shown before among them.
        cost_key: key of the meta: each document's cost, such as its tokens.
        budget: what the documents shown may cost in all.
        shown_key: key of the meta that is true for documents shown before, which are not shown again.
        fill: whether to fill up, marked by `meta["filled"]`, where `max_per_group` leaves too few.
        per_cost: whether to choose what is worth most for the budget, in place of a ranker.

    Raises:
        TypeError: an argument of another type.
        ValueError: top_k below 1, diversity outside [0, 1], an unknown ranker, or one that takes no diversity or no
            subtopics.
    """

    def __init__(
        self,
        top_k: int | None = None,
        *,
        diversity: float | None = None,
        ranker: PathLike | Ranker | None = None,
        subtopics: str | Names | None = None,
        namer: Any = None,
        embedder: Any = None,
        relevance: str | None = None,
        group_key: str | None = None,
        max_per_group: int | None = None,
        cost_key: str | None = None,
        budget: float | None = None,
        shown_key: str | None = None,
        fill: bool = False,
        per_cost: bool = False,
    ) -> None:
        limits: dict[str, Any] = {"group_key": group_key, "max_per_group": max_per_group, "cost_key": cost_key}
        limits |= {"budget": budget, "shown_key": shown_key, "fill": fill, "per_cost": per_cost}
        LimitKeys.__init__(self, **limits)
        if top_k is not None:
            check_integer("top_k", top_k, 1)
        if not (embedder is None or callable(embedder) or hasattr(embedder, "run")):
            raise TypeError(
                "embedder must be a text or document embedder, or a function that makes vectors of a list of texts, "
                f"got {with_type(embedder)}"
            )
        self.top_k = top_k
        self.diversity = diversity
        self.ranker: Any = ranker
        # A folder is read once, not at every run.
        self._loaded = None if ranker is None else as_ranker(ranker)
        self.subtopics: Any = subtopics
        self.namer = namer
        self.embedder = embedder
        self.relevance = relevance
        self._subtopics = Subtopics(subtopics, namer, "give embedder=")
        self._chooser(diversity)

    def _chooser(self, diversity: float | None) -> Chooser:
        return chooser_of(self._loaded, diversity, relevance=self.relevance, named=self._subtopics.given, keys=self)

    def warm_up(self) -> None:
        """Warm the namer and the embedder up."""
        for part in (self.namer, self.embedder):
            if hasattr(part, "warm_up"):
                part.warm_up()

    def to_dict(self) -> dict[str, Any]:
        """Settings for a pipeline's YAML.

        Raises:
            TypeError: the ranker is an object, which has no name to write down, or so is what names subtopics.
        """
        path = None if self.ranker is None else os.fspath(self.ranker)
        parts = {name: _written(name, getattr(self, name)) for name in _PARTS}
        written: dict[str, Any] = default_to_dict(
            self,
            top_k=self.top_k,
            diversity=self.diversity,
            ranker=path,
            relevance=self.relevance,
            **parts,
            **self.limit_options(),
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DiverseRanker:
        """The component that `to_dict` wrote down."""
        options = dict(data.get("init_parameters", {}))
        for name in _PARTS:
            if isinstance(part := options.get(name), dict):
                if _FUNCTION in part:
                    options[name] = deserialize_callable(part[_FUNCTION])
                else:
                    deserialize_component_inplace(options, name)
        made: DiverseRanker = default_from_dict(cls, data | {"init_parameters": options})
        return made

    @component.output_types(documents=list[Document])
    def run(
        self,
        documents: list[Document],
        query_embedding: list[float] | None = None,
        top_k: int | None = None,
        diversity: float | None = None,
        query: str | None = None,
    ) -> dict[str, list[Document]]:
        """The documents to show, best first.

        Args:
            documents: what was retrieved, with embeddings.
            query_embedding: of the query, for rankers that look at it.
            top_k: in place of the component's.
            diversity: in place of the component's.
            query: its text, of which subtopics are named.

        Raises:
            TypeError: embeddings or scores that are no numbers.
            ValueError: a document without an embedding or score among others that have one, embeddings of two widths,
                numbers that are not finite, scores of some documents only, subtopics that cannot be named or embedded,
                or what the ranker refuses.
        """
        model = None if self.embedder is None else Model(self._embed, lambda text: self._embed([text])[0])
        ready = at_once(self._prepared(documents, query, query_embedding, model)) if documents else None
        return self._shown(documents, ready, top_k, diversity, query)

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        documents: list[Document],
        query_embedding: list[float] | None = None,
        top_k: int | None = None,
        diversity: float | None = None,
        query: str | None = None,
    ) -> dict[str, list[Document]]:
        """`run` for asynchronous pipelines: models that name subtopics or embed are awaited."""

        async def one(text: str) -> Any:
            return (await self._embed_later([text]))[0]

        model = None if self.embedder is None else Model(self._embed_later, one)
        ready = await self._prepared(documents, query, query_embedding, model, later=True) if documents else None
        return await asyncio.to_thread(self._shown, documents, ready, top_k, diversity, query)

    def _prepared(
        self,
        documents: list[Document],
        query: str | None,
        query_vector: Any,
        model: Model | None,
        *,
        later: bool = False,
    ) -> Coroutine[Any, Any, Prepared]:
        """Prepare embeddings, subtopics and limits of the documents to rank."""
        vectors = [document.embedding for document in documents]
        return self._subtopics.prepared(
            query, *_told(documents), vectors, model, query_vector=query_vector, notice=_REMEDY, later=later
        )

    def _embed(self, texts: list[str]) -> Any:
        """Vectors of texts, by the embedder."""
        if not hasattr(self.embedder, "run"):
            return self.embedder(texts)
        self.warm_up()
        return _vectors_in([self.embedder.run(**asked) for asked in self._asked(texts)])

    async def _embed_later(self, texts: list[str]) -> Any:
        """`_embed`, by the embedder's `run_async` if it has one."""
        if not hasattr(self.embedder, "run_async"):
            return await asyncio.to_thread(self._embed, texts)
        self.warm_up()
        return _vectors_in([await self.embedder.run_async(**asked) for asked in self._asked(texts)])

    def _asked(self, texts: list[str]) -> list[dict[str, Any]]:
        """Ask the embedder: once for all texts if it takes documents, else once each."""
        if "documents" in inspect.signature(self.embedder.run).parameters:
            return [{"documents": [Document(content=text) for text in texts]}]
        return [{"text": text} for text in texts]

    def _shown(
        self,
        documents: list[Document],
        ready: Prepared | None,
        top_k: int | None,
        diversity: float | None,
        query: str | None,
    ) -> dict[str, list[Document]]:
        """The documents to show for a query."""
        top_k = self.top_k if top_k is None else top_k
        if top_k is not None:
            check_integer("top_k", top_k, 1)
        diversity = self.diversity if diversity is None else diversity
        chooser = self._chooser(diversity)
        if ready is None:
            return {"documents": []}
        names, metadata = named("document", [document.id for document in documents]), _told(documents)[1]
        places, filled = best_first(
            chooser,
            len(documents) if top_k is None else top_k,
            ready.vectors,
            names=names,
            query=query or "of this run",
            query_vector=ready.query_vector,
            scores=[document.score for document in documents],
            subtopics=ready.subtopics,
            limited=self.limited(metadata, names),
            remedy=_REMEDY,
        )
        ranked = enumerate(zip(places, filled, strict=True), start=1)
        return {
            "documents": [
                replace(documents[i], score=1 / rank, meta=marked(metadata[i]) if over else metadata[i])
                for rank, (i, over) in ranked
            ]
        }


def _vectors_in(answers: Sequence[dict[str, Any]]) -> list[Any]:
    """The vectors in what an embedder answered."""
    return [
        each
        for answer in answers
        for each in (
            [document.embedding for document in answer["documents"]] if "documents" in answer else [answer["embedding"]]
        )
    ]


def _told(documents: Sequence[Document]) -> tuple[list[str | None], list[dict[str, Any]]]:
    """Texts and meta of documents."""
    return [document.content for document in documents], [document.meta for document in documents]


def _written(name: str, part: Any) -> Any:
    """A key, component or function as a pipeline's YAML holds it."""
    if part is None or isinstance(part, str):
        return part
    if hasattr(part, "run"):
        return component_to_dict(part, name)
    if not inspect.isfunction(part):
        raise TypeError(
            f"{name} must be a component, a function or a key to be written down, got {type(part).__name__}"
        )
    return {_FUNCTION: serialize_callable(part)}
