"""Additive measures in torch, from the arrays of `srd_gym.measures.BoundMeasure`.

A document's subtopics are added up one after the other, so that float64 has the bits of numpy on every device.

Shapes: T topics, B episodes, L ranks, K depth, N candidates, S subtopics, C subtopics of a document at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from srd_agents.simulators.topics import Covered, NoTensorFormError, TopicTensors
from srd_gym.measures import BoundMeasure


class TermTensors(NamedTuple):
    """`srd_gym.measures.bound.Term` as tensors."""

    discounts: Tensor
    """[K] by rank."""
    novelty: Tensor
    """[K + 1] by how often a subtopic was covered before."""
    weights: Tensor
    """[T * N + 1, C] of the subtopics of each document; 0 behind them."""


class MeasureTensors:
    """A bound measure on a device.

    Args:
        bound: the measure.
        topics: that it is bound to.
        dtype: of gains.

    Raises:
        NoTensorFormError: a measure that is no sum of terms, such as VRisk.
    """

    def __init__(self, bound: BoundMeasure, topics: TopicTensors, dtype: torch.dtype) -> None:
        if not bound.terms:
            raise NoTensorFormError(
                f"measure {bound.name} has no form in tensors (it is no sum over ranks): simulate with srd_gym.core"
            )
        self.name, self.ranks = bound.name, bound.ranks
        self.covered: Covered = topics.covered(bound.rel)
        self._n, self._width = topics.max_candidates, topics.max_subtopics
        subtopics = self.covered.known
        topic = np.minimum(np.arange(len(subtopics)) // self._n, len(topics) - 1)
        self._terms = []
        for term in bound.terms:
            weights = np.pad(term.weights, [(0, 0), (0, 1)])[topic[:, None], subtopics]
            parts = (torch.tensor(part, dtype=dtype, device=topics.device) for part in
                     (term.discounts, term.novelty, weights))  # fmt: skip
            self._terms.append(TermTensors(*parts))

    def gains(self, documents: Tensor, before: Tensor, rank: Tensor | int) -> Tensor:
        """Gains of documents at their ranks, [B].

        Args:
            documents: [B] int64, rows of `covered`.
            before: [B, C] int32, how often their subtopics were covered before.
            rank: [B] int64 from 0, or one for all.
        """
        gains = documents.new_zeros(documents.shape, dtype=self._terms[0].weights.dtype)
        for term in self._terms:
            first, *others = (term.weights[documents] * term.novelty[before]).unbind(-1)
            for other in others:
                first = first + other
            gains = gains + first * term.discounts[rank]
        return gains

    def values(self, rankings: Tensor, topic: Tensor) -> Tensor:
        """The measure of rankings, [B].

        Args:
            rankings: [B, L] int64 candidates, -1 where a rank is empty.
            topic: [B] int64.
        """
        nothing = len(self.covered.subtopics) - 1
        coverage = torch.zeros(len(topic), self._width + 1, dtype=torch.int32, device=topic.device)
        values = torch.zeros(len(topic), dtype=self._terms[0].weights.dtype, device=topic.device)
        for rank, chosen in enumerate(rankings.unbind(1)[: self.ranks]):
            documents = torch.where(chosen < 0, nothing, topic * self._n + chosen)
            before, coverage = self.covered.add(coverage, documents)
            values = values + self.gains(documents, before, rank)
        return values
