"""LangChain: a document compressor, and a runnable of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import Subtopics, best_first, chooser_of, named
from srd_agents.pipeline.diversify import Chooser
from srd_gym.reading import few, shown

with library("langchain_core", "langchain-core"):
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.runnables import RunnableLambda, run_in_executor
    from pydantic import ConfigDict, Field, PrivateAttr, model_validator


class DiverseCompressor(BaseDocumentCompressor):
    """Keeps the k documents to show of those retrieved: relevant, and different from one another.

    With `lambda_mult` this is the search by marginal relevance that LangChain's vector stores have, behind any
    retriever. Without, the order of the retriever stays and repeats come last (`srd_agents.pipeline.cautious`),
    unless another ranker is named.

    Relevance is `metadata[score_key]`. Without `score_key` it is the cosine of query and document for rankers that
    weigh relevance (MMR, MSD, DPP), and the retriever's order for others.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    embeddings: Embeddings | None = None
    """The model of query and documents; None where `vector_key` says where vectors stand, and no query is needed."""
    k: int = Field(default=4, ge=1)
    """Documents kept."""
    lambda_mult: float | None = Field(default=None, ge=0.0, le=1.0)
    """Weight of relevance: 1 is least diverse, 0 most; None lets the ranker decide."""
    ranker: Any = None
    """A ranker, its name such as "mmr" or the folder of a trained one; None is MMR where `lambda_mult` is
    given, else `srd_agents.diversify.DEFAULT_RANKER`."""
    score_key: str | None = None
    """Where in a document's metadata its score stands, higher is better."""
    vector_key: str | None = None
    """Where in a document's metadata its vector stands; None embeds its text."""
    subtopics: Any = None
    """What the query may mean or ask about: a key of the metadata, whose texts (or lists of texts) are the subtopics,
    or a function of the query's text (and the documents' `texts`, if it has a parameter of that name)."""
    namer: Any = None
    """A chat model that names the subtopics of each query, or a `srd_agents.pipeline.naming.Namer`, which may keep what
    it named."""
    _chooser: Chooser = PrivateAttr()
    _subtopics: Subtopics = PrivateAttr()

    @model_validator(mode="after")
    def _make_ranker(self) -> DiverseCompressor:
        if self.embeddings is None and self.vector_key is None:
            raise ValueError("documents have no vectors: give embeddings=, or vector_key= where metadata holds vectors")
        self._subtopics = Subtopics(self.subtopics, self.namer, "give embeddings=" * (self.embeddings is None))
        self._chooser = chooser_of(
            self.ranker, relevance=self.lambda_mult, option="lambda_mult", named=self._subtopics.given
        )
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents to show, best first, as they came.

        Raises:
            TypeError: vectors or scores that are no numbers.
            ValueError: a document without a vector or without the score that `score_key` names, vectors of two widths,
                numbers that are not finite, subtopics that cannot be named or embedded, or what the ranker refuses.
        """
        return self._shown(documents, query, self._subtopics.of(query, *_told(documents))) if documents else []

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """`compress_documents` for asynchronous code, which is not held up while a model names subtopics."""
        if not documents:
            return []
        told = await self._subtopics.later(query, *_told(documents))
        ranked: list[Document] = await run_in_executor(None, self._shown, documents, query, told)
        return ranked

    def _shown(self, documents: Sequence[Document], query: str, told: Any) -> list[Document]:
        """The documents to show for a query with these subtopics."""
        embed = None if self.embeddings is None else self.embeddings.embed_documents
        ranking = best_first(
            self._chooser,
            self.k,
            self._vectors(documents),
            names=named("document", [document.id for document in documents]),
            query=query,
            query_vector=None if self.embeddings is None else self.embeddings.embed_query(query),
            scores=None if self.score_key is None else self._scores(self.score_key, documents),
            subtopics=self._subtopics.vectors(told, query, embed),
            remedy=f"expected a vector in metadata[{self.vector_key!r}], or use embeddings=",
        )
        return [documents[place] for place in ranking]

    def as_runnable(self) -> RunnableLambda[dict[str, Any], list[Document]]:
        """The same as a step of a chain: takes {"query": text, "documents": list}, gives the documents to show."""

        def show(given: dict[str, Any]) -> list[Document]:
            return self.compress_documents(given["documents"], given["query"])

        async def show_later(given: dict[str, Any]) -> list[Document]:
            return await self.acompress_documents(given["documents"], given["query"])

        return RunnableLambda(show, show_later, name=type(self).__name__)

    def _scores(self, key: str, documents: Sequence[Document]) -> list[Any]:
        """Each document's score."""
        for name, document in zip(named("document", [each.id for each in documents]), documents, strict=True):
            if key not in document.metadata:
                raise ValueError(
                    f"{name} has no score: score_key={shown(key)} is not in its metadata ({few(document.metadata)}); "
                    "leave score_key out where the retriever gives no scores"
                )
        return [document.metadata[key] for document in documents]

    def _vectors(self, documents: Sequence[Document]) -> Sequence[Any]:
        """Each document's vector, or None."""
        if self.vector_key is not None:
            return [document.metadata.get(self.vector_key) for document in documents]
        assert self.embeddings is not None  # noqa: S101 _make_ranker has checked it
        vectors: list[Any] = self.embeddings.embed_documents([document.page_content for document in documents])
        return vectors


def _told(documents: Sequence[Document]) -> tuple[list[str], list[dict[str, Any]]]:
    """Texts and metadata of documents."""
    return [document.page_content for document in documents], [document.metadata for document in documents]
