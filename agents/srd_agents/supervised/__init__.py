"""Rankers learned from ideal rankings: NTN-DIV."""
