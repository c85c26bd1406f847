"""LlamaIndex: a node postprocessor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import LimitKeys, Subtopics, best_first, chooser_of, marked, named
from srd_agents.pipeline.diversify import Chooser

with library("llama_index", "llama-index-core"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, model_validator
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle


class DiversePostprocessor(BaseNodePostprocessor, LimitKeys):
    """Keeps the top_n nodes to show of those retrieved: relevant, and different from one another.

    Without `mmr_threshold` the order of the scores stays and repeats come last (`srd_agents.pipeline.cautious`),
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
            self.ranker,
            relevance=self.mmr_threshold,
            option="mmr_threshold",
            named=self._subtopics.given,
            limits=self.limits(),
        )
        return self

    @classmethod
    def class_name(cls) -> str:
        """What LlamaIndex calls it in files."""
        return "DiversePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        told, model, query = self._subtopics.of(*_told(nodes, query_bundle)), self.embed_model, _text_of(query_bundle)
        bare, texts = _without(nodes)
        made = [] if model is None or not bare else model.get_text_embedding_batch(texts)
        embed = None if model is None else model.get_text_embedding_batch
        subtopics = self._subtopics.vectors(told, query, embed)
        vector = None if query_bundle is None else query_bundle.embedding
        if query_bundle is not None and vector is None and model is not None:
            vector = model.get_agg_embedding_from_queries(query_bundle.embedding_strs)
        return self._shown(nodes, query, dict(zip(bare, made, strict=bool(made))), vector, subtopics)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        told, model = await self._subtopics.later(*_told(nodes, query_bundle)), self.embed_model
        query, (bare, texts) = _text_of(query_bundle), _without(nodes)
        made = [] if model is None or not bare else await model.aget_text_embedding_batch(texts)
        embed = None if model is None else model.aget_text_embedding_batch
        subtopics = await self._subtopics.vectors_later(told, query, embed)
        vector = None if query_bundle is None else query_bundle.embedding
        if query_bundle is not None and vector is None and model is not None:
            vector = await model.aget_agg_embedding_from_queries(query_bundle.embedding_strs)
        vectors = dict(zip(bare, made, strict=bool(made)))
        return await asyncio.to_thread(self._shown, nodes, query, vectors, vector, subtopics)

    def _shown(
        self, nodes: list[NodeWithScore], query: str | None, made: dict[int, Any], query_vector: Any, subtopics: Any
    ) -> list[NodeWithScore]:
        """The nodes to show for a query; `made` are the embeddings of nodes that came without."""
        names = named("node", [node.node_id for node in nodes])
        places, filled = best_first(
            self._chooser,
            self.top_n,
            [made.get(i, node.node.embedding) for i, node in enumerate(nodes)],
            names=names,
            query="of these nodes" if query is None else query,
            query_vector=query_vector,
            scores=[node.score for node in nodes],
            subtopics=subtopics,
            limited=self.limited([node.node.metadata for node in nodes], names),
            remedy="give embed_model=, or have the retriever return embeddings",
        )
        return [
            NodeWithScore(node=_marked(nodes[i].node) if over else nodes[i].node, score=1 / rank)
            for rank, (i, over) in enumerate(zip(places, filled, strict=True), start=1)
        ]


def _marked(node: BaseNode) -> BaseNode:
    """A copy whose metadata say that it is above `max_per_group`."""
    return node.model_copy(update={"metadata": marked(node.metadata)})


def _text_of(query: QueryBundle | None) -> str | None:
    """The query's text."""
    return None if query is None else query.query_str


def _without(nodes: Sequence[NodeWithScore]) -> tuple[list[int], list[str]]:
    """The places of nodes without embeddings, and their texts."""
    places = [place for place, node in enumerate(nodes) if node.node.embedding is None]
    return places, [nodes[place].node.get_content(metadata_mode=MetadataMode.EMBED) for place in places]


def _told(
    nodes: Sequence[NodeWithScore], query: QueryBundle | None
) -> tuple[str | None, list[str], list[dict[str, Any]]]:
    """The query's text, and texts and metadata of nodes."""
    texts = [node.node.get_content() for node in nodes]
    return _text_of(query), texts, [node.node.metadata for node in nodes]
