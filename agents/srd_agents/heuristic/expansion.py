"""Relevance to the query widened by the names of its subtopics, without diversification.

Shapes: N candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from srd_agents.heuristic.explicit import named_only, subtopics_of
from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.relevance import relevance_of
from srd_agents.heuristic.stepwise import OneByOne, falling_order
from srd_agents.training.options import Config, Positive
from srd_gym.checks import check_integer
from srd_gym.dtypes import IntArray
from srd_gym.reading import shown
from srd_gym.topic import Topic


@dataclass(frozen=True, kw_only=True)
class QueryExpansionConfig(Config):
    """Options of query expansion."""

    weight: Positive = 1.0
    """Weight of the mean of the subtopics' vectors beside the query's, all scaled to length 1."""


class QueryExpansion(OneByOne):
    """The order of the cosine with the query plus the mean of its subtopics: what any use of names has to beat.

    It tells how much of the gain of named subtopics is a wider query (Rocchio 1971, with names in place of documents)
    and how much is their coverage. Ties go to the earlier candidate.

    Args:
        config: the weight.
    """

    name = "query-expansion"
    uses_subtopics = True

    def __init__(self, config: QueryExpansionConfig | None = None) -> None:
        self.config = config or QueryExpansionConfig()

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents: [min(k, N)] int64.

        Raises:
            ValueError: the topic has no vectors of documents, of the query or of subtopics, subtopics have scores, or k
                is below 1.
        """
        check_integer("k", k, 1)
        who, query = f"ranker {self.name!r}", topic.query_vector
        if topic.subtopic_scores is not None:
            raise ValueError(
                f"topic {shown(topic.query_id)} has subtopic scores, but {who} widens the query by the vectors of "
                "subtopics: leave subtopic_scores out and give subtopics, or take safe, xquad or pm2"
            )
        names = rows_of(subtopics_of(named_only(topic), self.name)).unit(slice(None)).mean(axis=0)
        if query is not None:
            query = rows_of(query[None]).unit(0) + self.config.weight * names
        near = relevance_of(replace(topic, query_vector=query, retrieval_scores=None), "cosine", who)
        return falling_order(near)[:k].copy()
