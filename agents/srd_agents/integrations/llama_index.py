"""LlamaIndex: a node postprocessor."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
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
from srd_agents.pipeline.diversify import Chooser

with library("llama_index", "llama-index-core"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, model_validator
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle


_REMEDY = "give embed_model=, or have the retriever return embeddings"


class DiversePostprocessor(BaseNodePostprocessor, LimitKeys):
    """Keeps the top_n nodes to show of those retrieved: relevant, and different from one another.

    Without `mmr_threshold` the order of the scores stays and repeats come last (`srd_agents.pipeline.safe`),
    unless another ranker is named. Nodes without scores count in the order in which they came; where the ranker weighs
    relevance (MMR, MSD, DPP) and the query's embedding is known, by their cosine with it.

    The nodes that come out have a new score, 1 / rank, so that what sorts by score keeps the ranking. What may be shown
    is limited by the arguments of `srd_agents.integrations.ranking.LimitKeys`.

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
        default=None,
        description="Embeds nodes that come without embeddings, and queries; None: nodes bring their own, or else are "
        "compared by their words (TF-IDF; scikit-learn).",
    )
    relevance: str | None = Field(
        default=None,
        description="Kind of relevance, as srd_agents.diversify takes it; None: the scores on the scale of the "
        "cosines, or without scores the cosine with the query.",
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
        self._subtopics = Subtopics(self.subtopics, self.namer, "give embed_model=")
        self._chooser = chooser_of(
            self.ranker,
            lambda_=self.mmr_threshold,
            option="mmr_threshold",
            relevance=self.relevance,
            named=self._subtopics.given,
            keys=self,
        )
        return self

    @classmethod
    def class_name(cls) -> str:
        """Name in LlamaIndex's files."""
        return "DiversePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        found, bundle, model = self.embed_model, query_bundle, None
        if found is not None:
            strings = [] if bundle is None else bundle.embedding_strs
            model = Model(found.get_text_embedding_batch, lambda _: found.get_agg_embedding_from_queries(strings))
        return self._shown(nodes, bundle, at_once(self._prepared(nodes, bundle, model)))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        found, bundle, model = self.embed_model, query_bundle, None
        if found is not None:
            strings = [] if bundle is None else bundle.embedding_strs
            model = Model(found.aget_text_embedding_batch, lambda _: found.aget_agg_embedding_from_queries(strings))
        ready = await self._prepared(nodes, bundle, model, later=True)
        return await asyncio.to_thread(self._shown, nodes, bundle, ready)

    def _prepared(
        self, nodes: list[NodeWithScore], query: QueryBundle | None, model: Model | None, *, later: bool = False
    ) -> Coroutine[Any, Any, Prepared]:
        """Prepare embeddings, subtopics and limits of the documents to rank."""
        return self._subtopics.prepared(
            None if query is None else query.query_str,
            [node.node.get_content() for node in nodes],
            [node.node.metadata for node in nodes],
            [node.node.embedding for node in nodes],
            model,
            query_vector=None if query is None else query.embedding,
            embedded_texts=[node.node.get_content(metadata_mode=MetadataMode.EMBED) for node in nodes],
            notice=_REMEDY,
            later=later,
        )

    def _shown(self, nodes: list[NodeWithScore], query: QueryBundle | None, ready: Prepared) -> list[NodeWithScore]:
        """The nodes to show for a query."""
        names = named("node", [node.node_id for node in nodes])
        places, filled = best_first(
            self._chooser,
            self.top_n,
            ready.vectors,
            names=names,
            query="of these nodes" if query is None else query.query_str,
            query_vector=ready.query_vector,
            scores=[node.score for node in nodes],
            subtopics=ready.subtopics,
            limited=self.limited([node.node.metadata for node in nodes], names),
            remedy=_REMEDY,
        )
        return [
            NodeWithScore(node=_marked(nodes[i].node) if over else nodes[i].node, score=1 / rank)
            for rank, (i, over) in enumerate(zip(places, filled, strict=True), start=1)
        ]


def _marked(node: BaseNode) -> BaseNode:
    """A copy whose metadata say that it is above `max_per_group`."""
    return node.model_copy(update={"metadata": marked(node.metadata)})
