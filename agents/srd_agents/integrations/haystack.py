"""Haystack: a ranker component."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import Adapter, Model, Subtopics, at_once, best_first, marked
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.request import as_ranker
from srd_gym.checks import check_integer
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
@dataclass(kw_only=True, eq=False, repr=False)
class DiverseRanker(Adapter):
    """Ranks documents so that the first ones differ; behind a retriever with `return_embedding=True`.

    Without `diversity` the order of the scores stays and repeats come last (`srd_agents.pipeline.safe`), unless
    another ranker is named. Documents without scores count in the order in which they came; where the ranker weighs
    relevance (MMR, MSD, DPP) and `run` is given the query's embedding, by their cosine with it.

    The documents that come out are copies with a new score, 1 / rank, so that what sorts by score keeps the ranking.

    Args:
        top_k: documents kept; None keeps (and ranks) all.
        diversity: from 0 (relevance only) to 1 (difference only); None lets the ranker decide.
        embedder: a text or a document embedder, or a function that makes vectors of a list of texts: of subtopics, of
            the query, and of documents without embeddings. None: if no document has an embedding, they are compared by
            their words (TF-IDF; scikit-learn).
        **options: those of `srd_agents.integrations.ranking.Adapter`; keys are of the documents' meta, and `namer` is
            a chat generator.

    Raises:
        TypeError: an argument of another type.
        ValueError: top_k below 1, diversity outside [0, 1], an unknown ranker, or one that takes no diversity or no
            subtopics.
    """

    top_k: int | None = field(default=None, kw_only=False)
    diversity: float | None = None
    embedder: Any = None

    def __post_init__(self) -> None:
        if self.top_k is not None:
            check_integer("top_k", self.top_k, 1)
        if not (self.embedder is None or callable(self.embedder) or hasattr(self.embedder, "run")):
            raise TypeError(
                "embedder must be a text or document embedder, or a function that makes vectors of a list of texts, "
                f"got {with_type(self.embedder)}"
            )
        # A folder is read once, not at every run.
        self._loaded = None if self.ranker is None else as_ranker(self.ranker)
        self._source = Subtopics(self.subtopics, self.namer, "give embedder=")
        self.request(self.diversity, ranker=self._loaded)

    def warm_up(self) -> None:
        """Warm the namer and the embedder up."""
        for part in (self.namer, self.embedder):
            if hasattr(part, "warm_up"):
                part.warm_up()

    def to_dict(self) -> dict[str, object]:
        """Settings for a pipeline's YAML.

        Raises:
            TypeError: the ranker is an object, which has no name to write down, or so is what names subtopics.
        """
        options = {each.name: getattr(self, each.name) for each in fields(self)}
        options |= {name: _written(name, options[name]) for name in _PARTS}
        options |= {name: _with_text_keys(options[name]) for name in ("max_per_group", "min_per_group")}
        if self.ranker is not None:
            options["ranker"] = os.fspath(self.ranker)
        written: dict[str, object] = default_to_dict(self, **options)
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
        return at_once(self._shown(documents, query_embedding, top_k, diversity, query))

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
        return await self._shown(documents, query_embedding, top_k, diversity, query, later=True)

    async def _shown(
        self,
        documents: list[Document],
        query_embedding: list[float] | None,
        top_k: int | None,
        diversity: float | None,
        query: str | None,
        *,
        later: bool = False,
    ) -> dict[str, list[Document]]:
        """The documents to show for a query; with `later`, models are awaited."""
        model = None if self.embedder is None else Model(partial(self._embed, later=later))
        top_k = self.top_k if top_k is None else top_k
        if top_k is not None:
            check_integer("top_k", top_k, 1)
        request = self.request(self.diversity if diversity is None else diversity, ranker=self._loaded)
        if not documents:
            return {"documents": []}
        ids, scores = tuple([document.id for document in documents]), [document.score for document in documents]
        vectors = [document.embedding for document in documents]
        given = Given(query or "of this run", ids, query_embedding, vectors, scores, query_text=query)
        given = given._replace(doc_texts=[document.content or "" for document in documents])
        held = self.each_once("document", documents, given, [document.meta for document in documents])
        held = held._replace(remedy=_REMEDY)
        ranked = await best_first(request, top_k or len(held.items), held, self._source, model, later=later)
        return {
            "documents": [
                replace(each, score=1 / rank, meta=marked(each.meta) if above else each.meta)
                for rank, (each, above) in enumerate(ranked, start=1)
            ]
        }

    async def _embed(self, texts: list[str], *, later: bool) -> Any:
        """Vectors of texts by the embedder, which is asked once if it takes documents, else once for each text."""
        if not hasattr(self.embedder, "run"):
            return await asyncio.to_thread(self.embedder, texts) if later else self.embedder(texts)
        self.warm_up()
        of_documents = "documents" in inspect.signature(self.embedder.run).parameters
        vectors = list[Any]()
        for part in [texts] if of_documents else texts:
            asked = {"documents": [Document(content=text) for text in part]} if of_documents else {"text": part}
            if later and hasattr(self.embedder, "run_async"):
                answer = await self.embedder.run_async(**asked)
            else:
                answer = await asyncio.to_thread(self.embedder.run, **asked) if later else self.embedder.run(**asked)
            of_answer = [each.embedding for each in answer["documents"]] if of_documents else [answer["embedding"]]
            vectors += of_answer
        return vectors


def _written(name: str, part: object) -> Any:
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


def _with_text_keys(counts: object) -> Any:
    """Numbers of documents by group, groups as text, which counts for whole numbers too."""
    if not isinstance(counts, Mapping):
        return counts
    return {str(group): _with_text_keys(count) for group, count in counts.items()}
