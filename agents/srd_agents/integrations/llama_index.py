"""LlamaIndex: a node postprocessor."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
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
        'mmr_threshold is given, else "safe".',
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
        found, bundle, model, held = self.embed_model, query_bundle, None, self._retrieved(nodes, query_bundle)
        if found is not None:
            strings = [] if bundle is None else bundle.embedding_strs
            model = Model(found.get_text_embedding_batch, lambda _: found.get_agg_embedding_from_queries(strings))
        return self._shown(held, at_once(self._prepared(held, model)))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        found, bundle, model, held = self.embed_model, query_bundle, None, self._retrieved(nodes, query_bundle)
        if found is not None:
            strings = [] if bundle is None else bundle.embedding_strs
            model = Model(found.aget_text_embedding_batch, lambda _: found.aget_agg_embedding_from_queries(strings))
        ready = await self._prepared(held, model, later=True)
        return await asyncio.to_thread(self._shown, held, ready)

    def _retrieved(self, nodes: list[NodeWithScore], query: QueryBundle | None) -> Retrieved:
        """The nodes, each once."""
        text, vector = (None, None) if query is None else (query.query_str, query.embedding)
        held = [node.node for node in nodes]
        vectors, scores = [node.embedding for node in held], [node.score for node in nodes]
        given = Given(text or "of these nodes", tuple([node.node_id for node in held]), vector, vectors, scores)
        given = given._replace(query_text=text, doc_texts=[node.get_content() for node in held])
        return self.each_once("node", held, given, [node.metadata for node in held])

    def _prepared(self, held: Retrieved, model: Model | None, *, later: bool = False) -> Coroutine[Any, Any, Given]:
        """Prepare embeddings and subtopics of the nodes to rank."""
        texts = [node.get_content(metadata_mode=MetadataMode.EMBED) for node in held.items]
        return self._subtopics.prepared(held, model, embedded_texts=texts, notice=_REMEDY, later=later)

    def _shown(self, held: Retrieved, ready: Given) -> list[NodeWithScore]:
        """The nodes to show for a query."""
        ranked = best_first(self._chooser, self.top_n, held, ready, _REMEDY)
        return [
            NodeWithScore(node=_marked(node) if above else node, score=1 / rank)
            for rank, (node, above) in enumerate(ranked, start=1)
        ]


def _marked(node: BaseNode) -> BaseNode:
    """A copy whose metadata say that it is above `max_per_group`."""
    return node.model_copy(update={"metadata": marked(node.metadata)})
