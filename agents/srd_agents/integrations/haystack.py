"""Haystack: a ranker component."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import best_first, named, ranker_of
from srd_agents.pipeline.diversify import as_ranker
from srd_gym.checks import check_integer
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker

with library("haystack", "haystack-ai"):
    from haystack import Document, component, default_from_dict, default_to_dict


@component
class DiverseRanker:
    """Ranks documents so that the first ones differ; behind a retriever with `return_embedding=True`.

    Without `diversity` the order of the scores stays and near copies come last (`srd_agents.pipeline.cautious`), unless another
    ranker is named. Documents without scores count in the order in which they came; where the ranker weighs relevance
    (MMR, MSD, DPP) and `run` is given the query's embedding, by their cosine with it.

    The documents that come out are copies with a new score, 1 / rank, so that what sorts by score keeps the ranking.

    Args:
        top_k: documents kept; None keeps (and ranks) all.
        diversity: from 0 (relevance only) to 1 (difference only); None lets the ranker decide.
        ranker: a ranker, its name such as "mmr" or the folder of a trained one; None is MMR where diversity is
            given, else `srd_agents.diversify.DEFAULT_RANKER`.

    Raises:
        TypeError: an argument of another type.
        ValueError: top_k below 1, diversity outside [0, 1], an unknown ranker, or one that takes no diversity.
    """

    def __init__(
        self, top_k: int | None = None, *, diversity: float | None = None, ranker: PathLike | Ranker | None = None
    ) -> None:
        if top_k is not None:
            check_integer("top_k", top_k, 1)
        self.top_k = top_k
        self.diversity = diversity
        self.ranker: Any = ranker
        # A folder is read once, not at every run.
        self._loaded = None if ranker is None else as_ranker(ranker)
        ranker_of(self._loaded, diversity)

    def to_dict(self) -> dict[str, Any]:
        """What a pipeline's YAML holds of it.

        Raises:
            TypeError: the ranker is an object, which has no name to write down.
        """
        path = None if self.ranker is None else os.fspath(self.ranker)
        written: dict[str, Any] = default_to_dict(self, top_k=self.top_k, diversity=self.diversity, ranker=path)
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DiverseRanker:
        """The component that `to_dict` wrote down."""
        made: DiverseRanker = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(
        self,
        documents: list[Document],
        query_embedding: list[float] | None = None,
        top_k: int | None = None,
        diversity: float | None = None,
    ) -> dict[str, list[Document]]:
        """The documents to show, best first.

        Args:
            documents: what was retrieved, with embeddings.
            query_embedding: of the query, for rankers that look at it.
            top_k: in place of the component's.
            diversity: in place of the component's.

        Raises:
            TypeError: embeddings or scores that are no numbers.
            ValueError: a document without an embedding, embeddings of two widths, numbers that are not finite, scores
                of some documents only, or what the ranker refuses.
        """
        top_k = self.top_k if top_k is None else top_k
        diversity = self.diversity if diversity is None else diversity
        ranker = ranker_of(self._loaded, diversity)
        if not documents:
            return {"documents": []}
        found = best_first(
            ranker,
            len(documents) if top_k is None else top_k,
            [document.embedding for document in documents],
            names=named("document", [document.id for document in documents]),
            query="of this run",
            query_vector=query_embedding,
            scores=[document.score for document in documents],
            remedy="have the retriever return embeddings",
        )
        return {"documents": [replace(documents[i], score=1 / rank) for rank, i in enumerate(found, start=1)]}
