"""Rankers for search result diversification: heuristic and learned."""

from srd_agents.registry import RANKERS, RankerSpec, load_ranker, make_ranker

__all__ = ["RANKERS", "RankerSpec", "load_ranker", "make_ranker"]
