"""The ranker for topics without judgments: it keeps the order of scores if there are any, and shows nothing twice.

Shapes: N candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from srd_agents.heuristic.config import Metric, Relevance
from srd_agents.heuristic.explicit import XQuAD
from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.order import RetrievalOrder
from srd_agents.heuristic.relevance import ByRelevance, relevance_of
from srd_agents.heuristic.representative import Representative
from srd_agents.heuristic.stepwise import PartialRanking, Scored, SideBySide, progress_of, rank_scored
from srd_agents.heuristic.trade_off import DPP, MMR
from srd_agents.pipeline.capabilities import with_diversity, with_metric, with_relevance
from srd_agents.pipeline.limits import COPIES, Limits
from srd_agents.pipeline.near_duplicates import near_copies
from srd_agents.training.options import Config
from srd_gym.checks import check_integer, check_number, check_positive
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.protocols import Ranker
from srd_gym.topic import Topic

_VARIETY = 0.3
"""Diversity of topics with a query vector and no scores."""


@dataclass(frozen=True, kw_only=True)
class SafeConfig(Config):
    """Options of the safe ranker."""

    near_duplicates: float | None = COPIES
    """Cosine from which on a document is a near-duplicate of one shown before it; above 0, at most 1. None: off. By
    default only documents with the same vector are, such as the same text twice: passages that differ in one fact may
    have a cosine above 0.99 (docs/results/texts.md)."""

    def __post_init__(self) -> None:
        if self.near_duplicates is None:
            return
        check_number("near_duplicates", self.near_duplicates, 0.0, 1.0)
        check_positive("near_duplicates", self.near_duplicates)


class Safe(SideBySide):
    """Ranks topics without judgments by what did no harm on the real texts tried, the same document twice last.

    Three rules (docs/without_scores.md and docs/results/named.md say what each brings, and on what it was chosen):

    - named subtopics (vectors or scores): xQuAD with its default options, which bears wrong and missing ones;
    - scores: their order, as no rule tried gains enough on all collections to leave it;
    - no scores: the cosine with the query, traded for a little variety by DPP; without a query vector, documents that
      stand for all candidates first (`srd_agents.heuristic.representative`).

    A diversity that is given replaces the last two where there are scores or a query vector: MMR ranks at it.

    Documents whose cosine with one shown before them is at least `near_duplicates` come after all others, as
    `srd_agents.pipeline.near_duplicates` says; the choice of the others does not depend on them. A zero vector is no
    near-duplicate of anything.

    Args:
        config: what a near-duplicate is.
        diversity: above 0, at which what ranks a topic ranks it; None lets it decide.
        relevance: kind of relevance of what ranks a topic, and of the order that is kept; None: its own.
        metric: kind of similarity; where it is not the cosine, MMR takes the place of DPP.
    """

    name = "safe"
    uses_subtopics = True

    def __init__(
        self,
        config: SafeConfig | None = None,
        diversity: float | None = None,
        relevance: Relevance | None = None,
        metric: Metric = "cosine",
    ) -> None:
        self.config = config or SafeConfig()
        self._diversity, self._relevance, self._metric = diversity, relevance, metric

    @property
    def copies(self) -> float | None:
        """Cosine from which on a document is a near-duplicate."""
        return self.config.near_duplicates

    def with_copies(self, copies: float | None) -> Ranker:
        """With another cosine."""
        return Safe(replace(self.config, near_duplicates=copies), self._diversity, self._relevance, self._metric)

    def with_diversity(self, diversity: float) -> Ranker:
        """At another diversity."""
        if not diversity:
            return ByRelevance(self._relevance, self._metric)
        return Safe(self.config, diversity, self._relevance, self._metric)

    def with_relevance(self, relevance: Relevance) -> Ranker:
        """With another kind of relevance."""
        return Safe(self.config, self._diversity, relevance, self._metric)

    def with_metric(self, metric: Metric) -> Ranker:
        """With another kind of similarity."""
        return Safe(self.config, self._diversity, self._relevance, metric)

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic, without copies moved."""
        return progress_of(self.ranker_of(topic), topic)

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic; what else is in the batch changes nothing."""
        return [ranking for ranking, _ in self.rank_scored(topics, k)]

    def rank_scored(self, topics: Sequence[Topic], k: int) -> list[Scored]:
        """`rank_batch`, with the scores of what ranks each topic."""
        check_integer("k", k, 1)
        groups: defaultdict[Ranker, list[int]] = defaultdict(list)
        for index, topic in enumerate(topics):
            groups[self.ranker_of(topic)].append(index)
        rankings: dict[int, Scored] = {}
        for ranker, members in groups.items():
            found = rank_scored(ranker, [topics[index] for index in members], k)
            for index, scored in zip(members, found, strict=True):
                rankings[index] = self._copies_last(ranker, topics[index], *scored)
        return [rankings[index] for index in range(len(topics))]

    def ranker_of(self, topic: Topic) -> Ranker:
        """Ranker of the topic before copies are moved."""
        return self._decision(topic)[0]

    def explain(self, topic: Topic) -> str:
        """A sentence on what decides the ranking of the topic."""
        why = self._decision(topic)[1]
        return f"{why}, though they say nothing beyond the query" if _repeat_the_query(topic) else why

    def _decision(self, topic: Topic) -> tuple[Ranker, str]:
        """Ranker of the topic, and a sentence on why."""
        ratings, scored = topic.subtopic_scores, topic.retrieval_scores is not None
        rated = ratings is not None and not np.isnan(ratings).all()
        if topic.n_subtopics and (rated or (topic.subtopic_vectors is not None and topic.subtopic_vectors.any())):
            self._check_cosine("with subtopics")
            first = "" if topic.subtopic_weights is not None else ", of which the first count most"
            named = f"diversified by the named subtopics{first}"
            return _made(self._diversity, self._relevance, XQuAD), named
        if self._diversity is not None and (scored or topic.query_vector is not None):
            return _made(self._diversity, self._relevance, MMR, self._metric), "diversified as far as asked, by MMR"
        if scored:
            order = "the scores" if self._relevance is None else f"relevance ({self._relevance})"
            last = "" if self.config.near_duplicates is None else ", near-duplicates last"
            why = (
                f"kept the order of {order}{last}: without named subtopics nothing tried is safely better; "
                "naming subtopics or setting a diversity changes it"
            )
            return _kept(self._relevance, self._metric), why
        if self._relevance is not None:
            relevance_of(topic, self._relevance, f"ranker {self.name!r}")
        if topic.query_vector is None:
            self._check_cosine("without scores and query")
            why = "diversified: there are neither scores nor a query vector, so documents that stand for all come first"
            return _made(self._diversity, None, Representative), why
        why = "diversified: there are no scores, so documents near the query count as relevant"
        kind = DPP if self._metric == "cosine" else MMR
        return _made(_VARIETY, self._relevance, kind, self._metric), why

    def _check_cosine(self, where: str) -> None:
        """Refuse another metric where vectors are compared by their cosine."""
        if self._metric == "dot":
            raise ValueError(
                f"ranker {self.name!r} {where} compares vectors by their cosine: leave metric='dot' out, or take mmr"
            )

    def _copies_last(self, ranker: Ranker, topic: Topic, ranking: IntArray, scores: ScoreArray) -> Scored:
        """The ranking, chosen anew without its near-duplicates, which come last, where there are any."""
        vectors, limit = topic.require_vectors(f"ranker {self.name!r}"), self.config.near_duplicates
        if limit is None or not near_copies(vectors[ranking], limit).any():
            return ranking, scores
        return Limits(near_duplicates=limit).choose(topic, len(ranking), progress_of(ranker, topic))


def _repeat_the_query(topic: Topic) -> bool:
    """Whether subtopics are named and each has the query's vector, as texts without a word of the documents have."""
    if topic.query_vector is None or topic.subtopic_vectors is None or topic.subtopic_scores is not None:
        return False
    names, query = (rows_of(rows).unit(slice(None)) for rows in (topic.subtopic_vectors, topic.query_vector[None]))
    return len(names) > 0 and bool((names @ query[0] > 1 - 1e-6).all())


@lru_cache(maxsize=64)
def _made(
    diversity: float | None, relevance: Relevance | None, kind: type[Ranker], metric: Metric = "cosine"
) -> Ranker:
    """The ranker of a kind: one for all topics, so that batches stay together."""
    return with_diversity(with_relevance(with_metric(kind(), metric, ""), relevance), diversity)


@lru_cache(maxsize=64)
def _kept(relevance: Relevance | None, metric: Metric) -> Ranker:
    """The order of relevance of this kind, or else that of the scores."""
    return RetrievalOrder() if relevance is None else ByRelevance(relevance, metric)
