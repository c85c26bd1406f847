"""SSD: relevance, greedily traded for what is new in a sliding window of the ranking.

Shapes: B topics side by side, N candidates, F vector width.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from srd_agents.heuristic.config import SSDConfig
from srd_agents.heuristic.greedy import Choice, rows_of
from srd_agents.heuristic.stepwise import STRETCHED
from srd_agents.heuristic.trade_off import SPANNED, AgainstLikeness, _new_directions, _stacked, standardised, ties_of
from srd_gym.dtypes import IntArray
from srd_gym.topic import FloatArray, Topic


class SSD(AgainstLikeness):
    """Greedy choice of the next document by lambda * rel(d) + (1 - lambda) * gamma * |r(d)|.

    Sliding spectrum decomposition (Huang et al., KDD 2021, arXiv 2107.05204; the stable form of its Equation 12, as
    pyversity has it). r(d) is what the directions of the last `window` documents leave of d's vector, and a document's
    direction is what the window left of its own (Gram-Schmidt). A vector is scaled to length 1, and a constant 1 is
    appended (section 5.3), so that two documents resemble each other by (1 + cos) / 2. rel is standardised within the
    topic. The first document is the most relevant, whatever lambda. O(k N F).

    Differs from the paper: it follows pyversity 0.2.0, as the equation itself was not at hand.

    Args:
        config: lambda, gamma, what counts as relevance, and the window.
    """

    name = "ssd"

    def __init__(self, config: SSDConfig | None = None) -> None:
        self.config: SSDConfig = config or SSDConfig()

    def _relevance(self, topic: Topic) -> FloatArray:
        return standardised(super()._relevance(topic))

    def _choice(self, topics: Sequence[Topic], most: int) -> Choice:
        vectors = _stacked([topic.require_vectors(f"ranker {self.name!r}") for topic in topics])
        relevance = np.stack([self._relevance(topic) for topic in topics])
        choice = _Choice(vectors, relevance, self.config, most)
        choice.ties = ties_of(topics, relevance)
        return choice


class _Choice(Choice):
    """Documents chosen so far for B topics of equal size, and what the window leaves of all.

    Args:
        vectors: [B, N, F] float32.
        relevance: [B, N] float32, standardised; changed in place.
        config: the options.
        most: documents chosen at most.
    """

    tied = STRETCHED

    def __init__(self, vectors: FloatArray, relevance: FloatArray, config: SSDConfig, most: int) -> None:
        self.value: FloatArray = relevance
        self._lambda = np.float32(config.lambda_)
        self._weight = np.float32((1 - config.lambda_) * config.gamma)
        self._rows = rows_of(vectors)
        count, _, width = vectors.shape
        self._topics, self._width = np.arange(count), width
        self._window = most if config.window is None else min(config.window, most)
        self._directions, self._count = np.empty((count, most, width + 1), dtype=np.float32), 0
        # Squares of the products with the directions in the window.
        self._squares: deque[FloatArray] = deque()
        # Squared lengths; a zero vector is the appended 1 alone.
        self._left: FloatArray = (self._rows.scale > 0) + np.float32(1)

    def scores(self) -> FloatArray:
        if not self._count:
            return self.value
        # Of documents that the window spans rounding leaves something: relevance alone is to order them.
        scores: FloatArray = self._weight * np.sqrt(np.where(self._left > SPANNED, self._left, np.float32(0)))
        if self._lambda:
            scores += self._lambda * self.value
        else:
            scores[np.isneginf(self.value)] = -np.inf
        return scores

    def add(self, chosen: IntArray) -> None:
        own = np.ones((len(self._topics), self._width + 1), dtype=np.float32)
        own[:, :-1] = self._rows.unit((self._topics, chosen))
        start = max(0, self._count - self._window)
        direction = _new_directions(own, self._directions[:, start : self._count])
        self._directions[:, self._count] = direction
        self._count += 1
        products = self._rows.project(direction[:, :-1])
        products += direction[:, -1:]
        products *= products
        self._left -= products
        self._squares.append(products)
        if len(self._squares) > self._window:
            self._left += self._squares.popleft()
