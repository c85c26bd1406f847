"""One knob for all rankers that trade relevance against diversity.

Shapes: N candidates of a topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from srd_agents.heuristic.config import MMRConfig
from srd_agents.heuristic.explicit import PM2, XQuAD
from srd_agents.heuristic.greedy import Progress, Stepwise
from srd_agents.heuristic.order import RetrievalOrder
from srd_agents.heuristic.relevance import ByRelevance, min_max, relevance_or_none
from srd_agents.heuristic.trade_off import MMR, TradeOff
from srd_agents.pipeline.cautious import Cautious
from srd_agents.pipeline.limits import Limits
from srd_agents.relational.ranker import Pretrained
from srd_gym.checks import check_integer, check_number, name_of
from srd_gym.protocols import IntArray, Ranker, ScoreArray
from srd_gym.reading import shown
from srd_gym.topic import Topic

TAKE_IT = ("mmr", "msd", "dpp", "xquad", "pm2", "relational-pretrained", "cautious")
"""Rankers that take a diversity."""


def with_diversity(ranker: Ranker, diversity: float | None, option: str = "diversity") -> Ranker:
    """The ranker at this point between relevance alone and difference alone.

    0 is exactly the order of relevance: by the scores, without scores by the cosine of query and document, and without
    a query (for rankers that need none) as the candidates stand. Above 0: MMR, MSD, DPP and xQuAD with lambda =
    1 - diversity; PM-2 and the relational ranker blended with relevance; `cautious` as what ranks the topic, MMR
    where that is the order of the scores.

    Args:
        ranker: one of `TAKE_IT`; its other options stay.
        diversity: from 0 to 1; None leaves the ranker as it is.
        option: what the caller calls it, for errors.

    Raises:
        TypeError: diversity is no number.
        ValueError: diversity outside [0, 1], or another ranker.
    """
    if diversity is None:
        return ranker
    check_number(option, diversity, 0.0, 1.0)
    if not isinstance(ranker, TradeOff | XQuAD | PM2 | Pretrained | Cautious):
        raise ValueError(
            f"{option} weighs relevance against difference, which ranker {shown(name_of(ranker))} does not: leave "
            f"{option} out, or take one that does: {', '.join(TAKE_IT)}"
        )
    if diversity == 0:
        return ByRelevance(ranker.config.relevance if isinstance(ranker, TradeOff | XQuAD) else None)
    if isinstance(ranker, TradeOff | XQuAD):
        made: Any = type(ranker)
        weighed: Ranker = made(replace(ranker.config, lambda_=1.0 - diversity))
        return weighed
    return _CautiousBlend(ranker, diversity) if isinstance(ranker, Cautious) else _Blend(ranker, diversity)


class _Blend(Stepwise):
    """PM-2 or the relational ranker at diversity d, 0 < d <= 1: the greedy choice by a sum of scores in [0, 1].

    PM-2: (1 - d) * relevance + d * its own score. Relational: the same with (1 - d) * its own score - the cosine of the
    nearest document chosen in place of its own score, which alone does not make documents differ more than relevance
    does.
    """

    def __init__(self, ranker: PM2 | Pretrained, diversity: float) -> None:
        self.name, self.ranker, self.diversity = ranker.name, ranker, diversity

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents: [min(k, N)] int64."""
        check_integer("k", k, 1)
        return Limits().choose(topic, k, self.progress(topic))

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic."""
        return [self.rank(topic, k) for topic in topics]

    def progress(self, topic: Topic) -> Progress:
        """An empty ranking of the topic."""
        relevance = min_max(relevance_or_none(topic, None)).astype(np.float64)
        novelty = None
        if isinstance(self.ranker, Pretrained):
            novelty = _FARTHEST.progress(replace(topic, retrieval_scores=np.zeros(topic.n_candidates, np.float32)))
        return _BlendProgress(self.ranker.progress(topic), novelty, relevance, self.diversity)


_FARTHEST = MMR(MMRConfig(lambda_=0.0))
"""Its score is less the cosine with the nearest document chosen."""


class _BlendProgress(Progress):
    """A blend for one topic, step by step."""

    def __init__(self, own: Progress, novelty: Progress | None, relevance: ScoreArray, diversity: float) -> None:
        self._own, self._novelty, self._relevance, self._diversity = own, novelty, relevance, diversity

    def scores(self) -> ScoreArray:
        own: ScoreArray = min_max(self._own.scores()).astype(np.float64)
        if self._novelty is not None:
            own = (1.0 - self._diversity) * own + self._novelty.scores()
        blended: ScoreArray = (1.0 - self._diversity) * self._relevance + self._diversity * own
        return blended

    def add(self, document: int) -> None:
        self._own.add(document)
        if self._novelty is not None:
            self._novelty.add(document)


class _CautiousBlend(Cautious):
    """`cautious` at a diversity above 0."""

    def __init__(self, ranker: Cautious, diversity: float) -> None:
        super().__init__(ranker.config)
        self._diversity = diversity
        self._blends: dict[Ranker, Ranker] = {}

    def ranker_of(self, topic: Topic) -> Ranker:
        ranker = super().ranker_of(topic)
        if ranker not in self._blends:
            base = MMR() if isinstance(ranker, RetrievalOrder) else ranker
            self._blends[ranker] = with_diversity(base, self._diversity)
        return self._blends[ranker]
