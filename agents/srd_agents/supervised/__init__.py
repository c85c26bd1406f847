"""Rankers learned from judgments without acting: ideal rankings, pairs of rankings, smooth measures."""
