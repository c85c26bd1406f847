"""Rankers for search result diversification: heuristic and learned."""
