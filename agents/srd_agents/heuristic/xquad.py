"""xQuAD: explicit query aspect diversification (Santos, Macdonald & Ounis, WWW 2010)."""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.config import XQuADConfig
from srd_agents.heuristic.explicit import Explicit
from srd_agents.heuristic.greedy import relevance_of
from srd_gym.protocols import ScoreArray
from srd_gym.topic import Topic


class XQuAD(Explicit):
    """Greedy choice by lambda * rel(d) + (1 - lambda) * sum_t w_t P(d | t) prod_{s in S} (1 - P(s | t)).

    rel is as in MMR; w_t are the topic's subtopic weights scaled to sum to 1 (uniform where it has none); P(d | t) is
    estimated from cosines (`srd_agents.heuristic.explicit.coverage_of`). Ties go to the earlier candidate.
    O(N S (F + k)).

    Differs from the paper (Equation 6): lambda weighs relevance here, as for the other rankers; it is the paper's
    1 - lambda. P(d | q) and P(d | t) are scores in [0, 1], not distributions over documents: with those, 1 - P hardly
    differs from 1.

    Args:
        config: lambda, what counts as relevance, and how coverage is scaled.
    """

    title = "xQuAD"

    def __init__(self, config: XQuADConfig | None = None) -> None:
        self.config: XQuADConfig = config or XQuADConfig()

    def _value(self, topic: Topic) -> ScoreArray:
        relevance = relevance_of(topic, self.config.relevance, self.title)
        return self.config.lambda_ * relevance.astype(np.float64)

    def _fresh(self, weights: ScoreArray) -> ScoreArray:
        """Nothing is covered: all of each subtopic is left."""
        return np.ones_like(weights)

    def _gains(self, coverage: ScoreArray, weights: ScoreArray, state: ScoreArray) -> ScoreArray:
        left = (1.0 - self.config.lambda_) * weights * state
        # One dot product a candidate: its last bits depend on nothing else, so that equal documents tie.
        gains: ScoreArray = np.vecdot(coverage, left[:, None, :])
        return gains

    def _cover(self, state: ScoreArray, covered: ScoreArray) -> None:
        state *= 1.0 - covered
