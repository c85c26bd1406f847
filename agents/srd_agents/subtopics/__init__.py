"""Rankers that learn the subtopics which recur in the training topics: from judgments alone, or by REINFORCE too."""
