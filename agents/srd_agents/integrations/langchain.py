"""LangChain: a document compressor, and a runnable of it."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
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
from srd_agents.pipeline.request import Chooser

with library("langchain_core", "langchain-core"):
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.runnables import RunnableLambda, run_in_executor
    from pydantic import ConfigDict, Field, PrivateAttr, model_validator


class DiverseCompressor(BaseDocumentCompressor, LimitKeys):
    """Keeps the k documents to show of those retrieved: relevant, and different from one another.

    With `lambda_mult`, and `near_duplicates=None`, this is the search by marginal relevance that LangChain's vector
    stores have, behind any retriever. Without, the order of the retriever stays and repeats come last
    (`srd_agents.pipeline.safe`), unless another ranker is named.

    Relevance is `metadata[score_key]`. Without `score_key` it is the cosine of query and document for rankers that
    weigh relevance (MMR, MSD, DPP), as in LangChain's own MMR, and the retriever's order for others. What may be shown
    is limited by the arguments of `srd_agents.integrations.ranking.LimitKeys`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    embeddings: Embeddings | None = None
    """The model of query and documents. None: they have vectors under `vector_key`, or else are compared by their words
    (TF-IDF; scikit-learn)."""
    k: int = Field(default=4, ge=1)
    """Documents kept."""
    lambda_mult: float | None = Field(default=None, ge=0.0, le=1.0)
    """Weight of relevance: 1 is least diverse, 0 most; None lets the ranker decide."""
    relevance: str | None = None
    """Kind of relevance, as `srd_agents.diversify` takes it; None: the scores on the scale of the cosines, or without
    `score_key` the cosine with the query."""
    ranker: Any = None
    """A ranker, its name such as "mmr" or the folder of a trained one; None is MMR where `lambda_mult` is
    given, else "safe"."""
    score_key: str | None = None
    """Where in a document's metadata its score stands, higher is better."""
    vector_key: str | None = None
    """Where in a document's metadata its vector stands; the text of a document without one is embedded."""
    subtopics: Any = None
    """Subtopics of the query: a key of the metadata, whose texts (or lists of texts) are the subtopics,
    or a function of the query's text (and the documents' `texts`, if it has a parameter of that name)."""
    namer: Any = None
    """A chat model that names the subtopics of each query, or a `srd_agents.pipeline.naming.Namer`, which may keep what
    it named."""
    _chooser: Chooser = PrivateAttr()
    _subtopics: Subtopics = PrivateAttr()

    @model_validator(mode="after")
    def _make_ranker(self) -> DiverseCompressor:
        self._subtopics = Subtopics(self.subtopics, self.namer, "give embeddings=")
        self._chooser = chooser_of(
            self.ranker,
            lambda_=self.lambda_mult,
            option="lambda_mult",
            relevance=self.relevance,
            named=self._subtopics.given,
            keys=self,
        )
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents to show, best first, as they came; those that fill up are copies with a mark in their metadata.

        Raises:
            TypeError: vectors or scores that are no numbers.
            ValueError: a document without a vector, vectors of two widths, numbers that are not finite, no document
                with a cost, subtopics that cannot be named or embedded, what `strict` or the ranker refuses.
        """
        if not documents:
            return []
        found, held = self.embeddings, self._retrieved(documents, query)
        model = None if found is None else Model(found.embed_documents, found.embed_query)
        return self._shown(held, at_once(self._prepared(held, model)))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """`compress_documents` for asynchronous code: models that name subtopics or embed are awaited."""
        if not documents:
            return []
        found, held = self.embeddings, self._retrieved(documents, query)
        model = None if found is None else Model(found.aembed_documents, found.aembed_query)
        ready = await self._prepared(held, model, later=True)
        ranked: list[Document] = await run_in_executor(None, self._shown, held, ready)
        return ranked

    def _retrieved(self, documents: Sequence[Document], query: str) -> Retrieved:
        """The documents, each once."""
        metadata = [document.metadata for document in documents]
        vectors = [None if self.vector_key is None else fields.get(self.vector_key) for fields in metadata]
        given = Given(query, tuple([document.id for document in documents]), None, vectors, query_text=query)
        given = given._replace(doc_texts=[document.page_content for document in documents])
        remedy = "; leave score_key out where the retriever gives no scores"
        return self.each_once("document", documents, given, metadata, remedy)

    def _shown(self, held: Retrieved, ready: Given) -> list[Document]:
        """The documents to show for a query."""
        return [
            each.model_copy(update={"metadata": marked(each.metadata)}) if above else each
            for each, above in best_first(self._chooser, self.k, held, ready, self._remedy())
        ]

    def as_runnable(self) -> RunnableLambda[dict[str, Any], list[Document]]:
        """The same as a step of a chain: takes {"query": text, "documents": list}, gives the documents to show."""

        def show(given: dict[str, Any]) -> list[Document]:
            return self.compress_documents(given["documents"], given["query"])

        async def show_later(given: dict[str, Any]) -> list[Document]:
            return await self.acompress_documents(given["documents"], given["query"])

        return RunnableLambda(show, show_later, name=type(self).__name__)

    def _prepared(self, held: Retrieved, model: Model | None, *, later: bool = False) -> Coroutine[Any, Any, Given]:
        """Prepare embeddings and subtopics of the documents to rank."""
        notice = "" if self.vector_key is None else self._remedy()
        return self._subtopics.prepared(held, model, notice=notice, later=later)

    def _remedy(self) -> str:
        return f"expected a vector in metadata[{self.vector_key!r}], or use embeddings="
