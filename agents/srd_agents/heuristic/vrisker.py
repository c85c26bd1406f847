"""VRisker: greedy by the risk of the worst-served intents, from the judgments as published, or from estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from srd_agents.heuristic.config import ExplicitConfig
from srd_agents.heuristic.explicit import Explicit, Numbers, Told
from srd_agents.heuristic.greedy import Rows
from srd_agents.training.options import Count, Share
from srd_gym.checks import check_positive
from srd_gym.measures.judgments import judged
from srd_gym.measures.risk import tail_mean
from srd_gym.topic import Topic

_LEAST = 5e-8
"""Risk below which nothing is taken: what is left of an intent that is served is rounding."""


@dataclass(frozen=True, kw_only=True)
class VRiskerConfig(ExplicitConfig):
    """Options of VRisker."""

    source: Literal["estimates", "judgments"] = "estimates"
    """Source of coverage: estimates, as xQuAD and PM-2 have them (`coverage`, `sharpness`, `ordered`), or, as in the
    paper, the judgments themselves, which no ranker has in use."""
    lambda_: Share = 0.0
    """Weight of the order beside the risk, where estimates count it; 0, as in the paper: the risk alone."""
    beta: Annotated[Share, check_positive] = 0.1
    """Probability of the worst-served intents that count, above 0: up to that of the rarest the worst alone, 1 all."""
    target: Share = 1.0
    """Share of the best value of an intent below which it loses."""
    relative: bool = False
    """Whether losses are shares of an intent's best value, so that rare intents count as much as frequent ones."""
    depth: Count = 10
    """Documents that an intent's value is the mean of."""


class VRisker(Explicit):
    """VRisker (Takehi, Diaz & Sakai, WSDM 2026).

    At each rank the candidate after which VRisk is least (`srd_gym.measures.risk.tail_mean`). The value of an intent
    is sum over the documents chosen of P(d | t) / depth, its target that of the documents that cover it best. Ties go
    to the higher mean over intents, then to the earlier candidate. O(N S log S) per rank.

    Differs from the paper: P(d | t) may be estimated, as for xQuAD, where the paper's ranker, like all it is compared
    with, reads the judgments (source="judgments": a judgment of 1 or more counts 1). The risk of a trial list is exact,
    as in the measure; the authors' code takes whole intents in the tail and divides by the list's present length.

    Args:
        config: the risk, and what is known of coverage.
    """

    name = "vrisker"
    start = 0.0  # no intent has anything
    config: VRiskerConfig

    def __init__(self, config: VRiskerConfig | None = None) -> None:
        super().__init__(config or VRiskerConfig())

    def _told(self, topic: Topic, rows: Rows | None) -> Told:
        if self.config.source == "estimates":
            return super()._told(topic, rows)
        weights = np.ones(topic.n_subtopics) if topic.subtopic_weights is None else topic.subtopic_weights
        coverage = np.ascontiguousarray(judged(topic).T >= 1, dtype=np.float64)
        # An intent that no candidate covers is lost whatever the ranking: its probability is shared by the others.
        return Told(coverage, np.where(coverage.any(axis=1), weights, 0.0), None, 0.0)

    def _rows(self, topic: Topic) -> Rows | None:
        return None if self.config.source == "judgments" else super()._rows(topic)

    def _shape(self, topic: Topic) -> tuple[int, ...]:
        return judged(topic).shape[::-1] if self.config.source == "judgments" else super()._shape(topic)

    def _value(self, topic: Topic, order: Numbers | None) -> Numbers:
        return np.zeros(topic.n_candidates) if order is None else self.config.lambda_ * order

    def _gains(self, coverage: Numbers, weights: Numbers, state: Numbers) -> tuple[Numbers, Numbers]:
        coverage, weights = coverage.astype(np.float64), weights.astype(np.float64)
        depth = min(self.config.depth, coverage.shape[2])
        best = np.partition(coverage, -depth, axis=2)[:, :, -depth:].sum(axis=2)
        total = weights.sum(axis=1, keepdims=True)
        share = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)[:, None]
        each = (
            1.0 / np.where(best > 0, best, 1.0) if self.config.relative else np.full_like(best, 1 / self.config.depth)
        )
        # Worth of the documents chosen, alone and with each candidate.
        own, added = (state * each)[:, None], coverage.transpose(0, 2, 1) * each[:, None]
        lost = self.config.target * (best * each)[:, None] - np.concatenate([own, own + added], axis=1)
        risk = tail_mean(np.maximum(lost, 0.0, out=lost), share, self.config.beta)
        # What a candidate takes of the risk: small differences would be lost beside the whole of it.
        taken = risk[:, :1] - risk[:, 1:]
        taken[taken < _LEAST] = 0.0
        return taken * (1.0 - self.config.lambda_), np.vecdot(added, share)

    def _cover(self, state: Numbers, covered: Numbers) -> None:
        state += covered
