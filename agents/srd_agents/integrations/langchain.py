"""LangChain: a document compressor, and a runnable of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import Adapter, Model, Subtopics, at_once, best_first, marked
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.request import RankingRequest

with library("langchain_core", "langchain-core"):
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.runnables import RunnableLambda
    from pydantic import ConfigDict, Field, PrivateAttr, model_validator


class DiverseCompressor(BaseDocumentCompressor, Adapter):
    """Keeps the k documents to show of those retrieved: relevant, and different from one another.

    With `lambda_mult`, and `near_duplicates=None`, this is the search by marginal relevance that LangChain's vector
    stores have, behind any retriever. Without, the order of the retriever stays and repeats come last
    (`srd_agents.pipeline.safe`), unless another ranker is named.

    Relevance is `metadata[score_key]`. Without `score_key` it is the cosine of query and document for rankers that
    weigh relevance (MMR, MSD, DPP), as in LangChain's own MMR, and the retriever's order for others. The other
    arguments are those of `srd_agents.integrations.ranking.Adapter`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    embeddings: Embeddings | None = None
    """The model of query and documents. None: they have vectors under `vector_key`, or else are compared by their words
    (TF-IDF; scikit-learn)."""
    k: int = Field(default=4, ge=1)
    """Documents kept."""
    lambda_mult: float | None = Field(default=None, ge=0.0, le=1.0)
    """Weight of relevance: 1 is least diverse, 0 most; None lets the ranker decide."""
    score_key: str | None = None
    """Where in a document's metadata its score stands, higher is better."""
    vector_key: str | None = None
    """Where in a document's metadata its vector stands; the text of a document without one is embedded."""
    _request: RankingRequest = PrivateAttr()
    _source: Subtopics = PrivateAttr()

    @model_validator(mode="after")
    def _make_ranker(self) -> DiverseCompressor:
        self._source = Subtopics(self.subtopics, self.namer, "give embeddings=")
        self._request = self.request(lambda_=self.lambda_mult, called="lambda_mult")
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
        return at_once(self._shown(documents, query))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """`compress_documents` for asynchronous code: models that name subtopics or embed are awaited."""
        return await self._shown(documents, query, later=True)

    async def _shown(self, documents: Sequence[Document], query: str, *, later: bool = False) -> list[Document]:
        """The documents to show for a query; with `later`, models are awaited."""
        if not documents:
            return []
        by, model = self.embeddings, None
        if by is not None:
            own = (by.aembed_documents, by.aembed_query) if later else (by.embed_documents, by.embed_query)
            model = Model(*own)
        metadata = [document.metadata for document in documents]
        vectors = [None if self.vector_key is None else fields.get(self.vector_key) for fields in metadata]
        given = Given(query, tuple([document.id for document in documents]), None, vectors, query_text=query)
        given = given._replace(doc_texts=[document.page_content for document in documents])
        remedy = "; leave score_key out where the retriever gives no scores"
        held = self.each_once("document", documents, given, metadata, remedy)
        if self.vector_key is not None:
            held = held._replace(remedy=f"expected a vector in metadata[{self.vector_key!r}], or use embeddings=")
        return [
            each.model_copy(update={"metadata": marked(each.metadata)}) if above else each
            for each, above in await best_first(self._request, self.k, held, self._source, model, later=later)
        ]

    def as_runnable(self) -> RunnableLambda[dict[str, object], list[Document]]:
        """The same as a step of a chain: takes {"query": text, "documents": list}, gives the documents to show."""

        def show(given: dict[str, Any]) -> list[Document]:
            return self.compress_documents(given["documents"], given["query"])

        async def show_later(given: dict[str, Any]) -> list[Document]:
            return await self.acompress_documents(given["documents"], given["query"])

        return RunnableLambda(show, show_later, name=type(self).__name__)
