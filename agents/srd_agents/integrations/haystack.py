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
    Retrieved,
    Subtopics,
    at_once,
    best_first,
    chooser_of,
    marked,
)
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.limits import COPIES
from srd_agents.pipeline.naming import Names
from srd_agents.pipeline.request import Chooser, as_ranker
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
            given and subtopics are not, else "safe".
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
        near_duplicates: cosine from which on a document is a near-duplicate of one shown before it, and comes last;
            None: never.
        strict: whether to refuse missing scores, groups and costs, and ids that come twice
            (`srd_agents.integrations.ranking.LimitKeys`).

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
        near_duplicates: float | None = COPIES,
        strict: bool = False,
    ) -> None:
        limits: dict[str, Any] = {"group_key": group_key, "max_per_group": max_per_group, "cost_key": cost_key}
        limits |= {"budget": budget, "shown_key": shown_key, "fill": fill, "per_cost": per_cost}
        limits |= {"near_duplicates": near_duplicates, "strict": strict}
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
            ValueError: a document without embedding and score, embeddings of two widths, numbers that are not finite,
                no document with a cost, subtopics that cannot be named or embedded, what `strict` or the ranker
                refuses.
        """
        model, held = None, self._retrieved(documents, query, query_embedding)
        if self.embedder is not None:
            model = Model(self._embed, lambda text: self._embed([text])[0])
        ready = at_once(self._prepared(held, model)) if documents else None
        return self._shown(held, ready, top_k, diversity)

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
        held = self._retrieved(documents, query, query_embedding)
        ready = await self._prepared(held, model, later=True) if documents else None
        return await asyncio.to_thread(self._shown, held, ready, top_k, diversity)

    def _retrieved(self, documents: list[Document], query: str | None, query_vector: Any) -> Retrieved:
        """The documents, each once."""
        ids, scores = tuple([document.id for document in documents]), [document.score for document in documents]
        vectors = [document.embedding for document in documents]
        given = Given(query or "of this run", ids, query_vector, vectors, scores, query_text=query)
        given = given._replace(doc_texts=[document.content or "" for document in documents])
        return self.each_once("document", documents, given, [document.meta for document in documents])

    def _prepared(self, held: Retrieved, model: Model | None, *, later: bool = False) -> Coroutine[Any, Any, Given]:
        """Prepare embeddings and subtopics of the documents to rank."""
        return self._subtopics.prepared(held, model, notice=_REMEDY, later=later)

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
        self, held: Retrieved, ready: Given | None, top_k: int | None, diversity: float | None
    ) -> dict[str, list[Document]]:
        """The documents to show for a query."""
        top_k = self.top_k if top_k is None else top_k
        if top_k is not None:
            check_integer("top_k", top_k, 1)
        chooser = self._chooser(self.diversity if diversity is None else diversity)
        if ready is None:
            return {"documents": []}
        k = len(held.items) if top_k is None else top_k
        ranked = best_first(chooser, k, held, ready, _REMEDY)
        return {
            "documents": [
                replace(each, score=1 / rank, meta=marked(each.meta) if above else each.meta)
                for rank, (each, above) in enumerate(ranked, start=1)
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
