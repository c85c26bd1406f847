"""LlamaIndex: a node postprocessor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import Subtopics, best_first, chooser_of, named
from srd_agents.pipeline.diversify import Chooser

with library("llama_index", "llama-index-core"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, model_validator
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle


class DiversePostprocessor(BaseNodePostprocessor):
    """Keeps the top_n nodes to show of those retrieved: relevant, and different from one another.

    Without `mmr_threshold` the order of the scores stays and repeats come last (`srd_agents.pipeline.cautious`),
    unless another ranker is named. Nodes without scores count in the order in which they came; where the ranker weighs
    relevance (MMR, MSD, DPP) and the query's embedding is known, by their cosine with it.

    The nodes that come out have a new score, 1 / rank, so that what sorts by score keeps the ranking.

    Raises:
        TypeError: ranker is nothing that ranks.
        ValueError: an option out of range, an unknown ranker, or one that takes no `mmr_threshold`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    top_n: int = Field(default=10, ge=1, description="Nodes kept.")
    mmr_threshold: float | None = Field(
        default=None,
        ge=0.0,
        le=1.0,
        description="Weight of relevance: 1 is least diverse, 0 most; None lets the ranker decide.",
    )
    embed_model: BaseEmbedding | None = Field(
        default=None, description="Embeds nodes that come without embeddings, and queries; None: nodes bring their own."
    )
    ranker: Any = Field(
        default=None,
        description='A ranker, its name such as "mmr" or the folder of a trained one; None is MMR where '
        "mmr_threshold is given, else srd_agents.diversify.DEFAULT_RANKER.",
    )
    subtopics: Any = Field(
        default=None,
        description="What the query may mean or ask about: a key of the metadata, whose texts (or lists of texts) are "
        "the subtopics, or a function of the query's text (and of the nodes' texts, if it has a parameter `texts`).",
    )
    namer: Any = Field(
        default=None,
        description="An LLM that names the subtopics of each query, or a srd_agents.pipeline.naming.Namer, which may "
        "keep what it named.",
    )
    _chooser: Chooser = PrivateAttr()
    _subtopics: Subtopics = PrivateAttr()

    @model_validator(mode="after")
    def _make_ranker(self) -> DiversePostprocessor:
        self._subtopics = Subtopics(self.subtopics, self.namer, "give embed_model=" * (self.embed_model is None))
        self._chooser = chooser_of(
            self.ranker, relevance=self.mmr_threshold, option="mmr_threshold", named=self._subtopics.given
        )
        return self

    @classmethod
    def class_name(cls) -> str:
        """What LlamaIndex calls it in files."""
        return "DiversePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._shown(nodes, query_bundle, self._subtopics.of(*_told(nodes, query_bundle))) if nodes else []

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        told = await self._subtopics.later(*_told(nodes, query_bundle))
        return await asyncio.to_thread(self._shown, nodes, query_bundle, told)

    def _shown(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None, told: Any) -> list[NodeWithScore]:
        """The nodes to show for a query with these subtopics."""
        embed = None if self.embed_model is None else self.embed_model.get_text_embedding_batch
        query = None if query_bundle is None else query_bundle.query_str
        places = best_first(
            self._chooser,
            self.top_n,
            self._embedded(nodes),
            names=named("node", [node.node_id for node in nodes]),
            query="of these nodes" if query is None else query,
            query_vector=self._query_embedding(query_bundle),
            scores=[node.score for node in nodes],
            subtopics=self._subtopics.vectors(told, query, embed),
            remedy="give embed_model=, or have the retriever return embeddings",
        )
        return [NodeWithScore(node=nodes[i].node, score=1 / rank) for rank, i in enumerate(places, start=1)]

    def _embedded(self, nodes: Sequence[NodeWithScore]) -> list[Any]:
        """Each node's embedding, made where it is missing and there is a model for it; else None."""
        embeddings: list[Any] = [node.node.embedding for node in nodes]
        missing = [place for place, vector in enumerate(embeddings) if vector is None]
        if missing and self.embed_model is not None:
            texts = [nodes[place].node.get_content(metadata_mode=MetadataMode.EMBED) for place in missing]
            for place, vector in zip(missing, self.embed_model.get_text_embedding_batch(texts), strict=True):
                embeddings[place] = vector
        return embeddings

    def _query_embedding(self, query: QueryBundle | None) -> Any:
        """The query's embedding, where it is known or can be made."""
        if query is None:
            return None
        if query.embedding is None and self.embed_model is not None:
            return self.embed_model.get_agg_embedding_from_queries(query.embedding_strs)
        return query.embedding


def _told(
    nodes: Sequence[NodeWithScore], query: QueryBundle | None
) -> tuple[str | None, list[str], list[dict[str, Any]]]:
    """The query's text, and texts and metadata of nodes."""
    texts = [node.node.get_content() for node in nodes]
    return None if query is None else query.query_str, texts, [node.node.metadata for node in nodes]
