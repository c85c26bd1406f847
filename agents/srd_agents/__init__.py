"""Rankers for search result diversification: heuristic and learned."""

from srd_agents.pipeline.diversified import Diversified
from srd_agents.pipeline.diversify import diversify
from srd_agents.registry import RANKERS, RankerSpec, load_ranker, make_ranker

__all__ = ["RANKERS", "Diversified", "RankerSpec", "diversify", "load_ranker", "make_ranker"]
