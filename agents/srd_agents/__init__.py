"""Rankers for search result diversification: heuristic and learned."""

from srd_agents.pipeline.diversify import Diversified, diversify
from srd_agents.registry import RANKERS, RankerSpec, load_ranker, make_ranker

__all__ = ["RANKERS", "Diversified", "RankerSpec", "diversify", "load_ranker", "make_ranker"]
