"""Learned relevance with a heuristic's diversity: the first thing to try beside learners that diversify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from srd_agents.heuristic.config import MMRConfig, TradeOffConfig
from srd_agents.heuristic.stepwise import EXACT, PartialRanking
from srd_agents.heuristic.trade_off import DPP, MMR
from srd_agents.subtopics.agent import SubtopicClassifier
from srd_agents.subtopics.config import DiversifiedConfig
from srd_agents.training.validation import Validation
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import Topic

_WEIGHTS = tuple(tenth / 10 for tenth in range(11))
"""Weights of diversity among which validation chooses."""


class DiversifiedRelevance(SubtopicClassifier):
    """`relevance`, whose probabilities MMR or DPP weighs against the similarity of vectors.

    After each epoch validation chooses the weight.
    """

    name: str = "relevance-mmr"
    config_class: ClassVar[type[Any]] = DiversifiedConfig
    config: DiversifiedConfig

    def validated(self, validation: Validation) -> float:
        """The measure, with the weight of diversity that is best."""
        return validation.choose(self, _WEIGHTS, self._cover)

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic; scores are the heuristic's."""
        self.check_topics([topic])
        ((ordered,), (order,)) = self._by_relevance([topic])
        return _InOrder(self._heuristic.progress(ordered), order)

    def _ranked(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        ordered, orders = self._by_relevance(topics)
        rankings = self._heuristic.rank_batch(ordered, k)
        return [order[ranking] for order, ranking in zip(orders, rankings, strict=True)]

    @property
    def _heuristic(self) -> MMR | DPP:
        """With the weight of relevance that was chosen."""
        weight = 1 - round(float(self._network.coverage.detach().sigmoid()), 6)
        if self.config.diversity == "mmr":
            return MMR(MMRConfig(lambda_=weight, relevance="minmax"))
        return DPP(TradeOffConfig(lambda_=weight, relevance="minmax"))

    @torch.inference_mode()
    def _by_relevance(self, topics: Sequence[Topic]) -> tuple[list[Topic], IntArray]:
        """Topics of one size in the order of predicted relevance, their scores from now on; and the orders [B, N]."""
        relevant = self._network.predict(self._inputs(topics)).relevant.cpu().numpy()
        orders = np.argsort(-relevant, axis=1, kind="stable")
        ordered = [
            replace(topic.take(order), retrieval_scores=own[order])
            for topic, order, own in zip(topics, orders, relevant, strict=True)
        ]
        return ordered, orders


class _InOrder(PartialRanking):
    """A ranking in the making of the same documents in their own order.

    Args:
        progress: in another one.
        order: [N], places of its documents here.
    """

    def __init__(self, progress: PartialRanking, order: IntArray) -> None:
        self._progress, self._order = progress, order
        self._place = np.argsort(order)
        self.tied = getattr(progress, "tied", EXACT)
        self.ties = -self._place.astype(np.float64)

    def scores(self) -> ScoreArray:
        return self._progress.scores()[self._place]

    def add(self, document: int) -> None:
        self._progress.add(self._place.item(document))
