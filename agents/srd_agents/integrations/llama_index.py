"""LlamaIndex: a node postprocessor."""

from __future__ import annotations

from srd_agents.integrations import library
from srd_agents.integrations.ranking import Adapter, Model, Subtopics, at_once, best_first, marked
from srd_agents.pipeline.given import Given
from srd_agents.pipeline.request import RankingRequest

with library("llama_index", "llama-index-core"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, model_validator
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle


_REMEDY = "give embed_model=, or have the retriever return embeddings"


class DiversePostprocessor(BaseNodePostprocessor, Adapter):
    """Keeps the top_n nodes to show of those retrieved: relevant, and different from one another.

    Without `mmr_threshold` the order of the scores stays and repeats come last (`srd_agents.pipeline.safe`),
    unless another ranker is named. Nodes without scores count in the order in which they came; where the ranker weighs
    relevance (MMR, MSD, DPP) and the query's embedding is known, by their cosine with it.

    The nodes that come out have a new score, 1 / rank, so that what sorts by score keeps the ranking. The other
    arguments are those of `srd_agents.integrations.ranking.Adapter`.

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
    _request: RankingRequest = PrivateAttr()
    _source: Subtopics = PrivateAttr()

    @model_validator(mode="after")
    def _make_ranker(self) -> DiversePostprocessor:
        self._source = Subtopics(self.subtopics, self.namer, "give embed_model=")
        self._request = self.request(lambda_=self.mmr_threshold, called="mmr_threshold")
        return self

    @classmethod
    def class_name(cls) -> str:
        """Name in LlamaIndex's files."""
        return "DiversePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return at_once(self._shown(nodes, query_bundle))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return await self._shown(nodes, query_bundle, later=True)

    async def _shown(
        self, nodes: list[NodeWithScore], query: QueryBundle | None, *, later: bool = False
    ) -> list[NodeWithScore]:
        """The nodes to show for a query; with `later`, models are awaited."""
        if not nodes:
            return []
        by, model = self.embed_model, None
        if by is not None:
            strings = [] if query is None else query.embedding_strs
            of_query = by.aget_agg_embedding_from_queries if later else by.get_agg_embedding_from_queries
            of_nodes = by.aget_text_embedding_batch if later else by.get_text_embedding_batch
            model = Model(of_nodes, lambda _: of_query(strings))
        text, vector = (None, None) if query is None else (query.query_str, query.embedding)
        items = [node.node for node in nodes]
        vectors, scores = [node.embedding for node in items], [node.score for node in nodes]
        given = Given(text or "of these nodes", tuple([node.node_id for node in items]), vector, vectors, scores)
        given = given._replace(query_text=text, doc_texts=[node.get_content() for node in items])
        held = self.each_once("node", items, given, [node.metadata for node in items])
        contents = [node.get_content(metadata_mode=MetadataMode.EMBED) for node in held.items]
        held = held._replace(remedy=_REMEDY, contents=contents)
        ranked = await best_first(self._request, self.top_n, held, self._source, model, later=later)
        return [
            NodeWithScore(node=_marked(node) if above else node, score=1 / rank)
            for rank, (node, above) in enumerate(ranked, start=1)
        ]


def _marked(node: BaseNode) -> BaseNode:
    """A copy whose metadata say that it is above `max_per_group`."""
    return node.model_copy(update={"metadata": marked(node.metadata)})
