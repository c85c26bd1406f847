"""PM-2: diversity by proportionality (Dang & Croft, SIGIR 2012)."""

from __future__ import annotations

import numpy as np

from srd_agents.heuristic.explicit import Explicit
from srd_gym.protocols import ScoreArray
from srd_gym.topic import Topic


class PM2(Explicit):
    """Seats of the ranking are given to subtopics by the Sainte-Lague method, and documents to seats.

    At each rank subtopic t has the quotient v_t = w_t / (2 s_t + 1); i is the subtopic with the largest one. The
    document with the largest lambda * v_i P(d | i) + (1 - lambda) * sum_{t != i} v_t P(d | t) is chosen, and the seat
    is shared among the subtopics that it covers: s_t += P(d | t) / sum_t' P(d | t'). w are the topic's subtopic weights
    (uniform where it has none); P(d | t) is estimated from cosines (`srd_agents.heuristic.explicit.coverage_of`). A
    document that covers nothing takes no seat. Relevance counts only through P(d | t), where one t may be the order of
    the scores (`order_weight`). O(N S (F + k)); with `novel`, which multiplies the score, O(N (S F + k (S + F))).

    Among subtopics with equal quotients (all, at the first rank, unless they have weights) it is the turn of the one
    that gives the highest score: the order of subtopics, which may tell how popular they are, decides nothing. Ties of
    documents go to the earlier candidate.

    Differs from the paper: P(d | t) are scores in [0, 1], not distributions over documents; the paper does not say
    whose turn it is among equals.

    Args:
        config: lambda, and how coverage is scaled.
    """

    title = "PM-2"

    def _value(self, topic: Topic) -> ScoreArray:
        return np.zeros(topic.n_candidates)

    def _fresh(self, weights: ScoreArray) -> ScoreArray:
        """No subtopic has a seat."""
        return np.zeros_like(weights)

    def _gains(self, coverage: ScoreArray, weights: ScoreArray, state: ScoreArray) -> ScoreArray:
        lambda_ = self.config.lambda_
        quotients = weights / (2.0 * state + 1.0)
        # Every subtopic as one of the others, and then what its turn adds to that.
        gains: ScoreArray = np.vecdot(coverage, (1.0 - lambda_) * quotients[:, None, :])
        turns = quotients == quotients.max(axis=1, keepdims=True)
        added = (2.0 * lambda_ - 1.0) * quotients[:, None, :] * coverage
        gains += np.where(turns[:, None, :], added, -np.inf).max(axis=2)
        return gains

    def _cover(self, state: ScoreArray, covered: ScoreArray) -> None:
        total = covered.sum(axis=1, keepdims=True)
        state += np.divide(covered, total, out=np.zeros_like(covered), where=total > 0)
