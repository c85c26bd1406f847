"""Learners that rank by sampling rankings and learning from what they pay (Williams 1992)."""
