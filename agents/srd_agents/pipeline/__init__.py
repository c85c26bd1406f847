"""Re-ranking in a search pipeline: diversify, its limits and weights, named subtopics, the safe default."""
