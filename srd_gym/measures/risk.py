"""VRisk: how badly the worst-served intents fare. No sum over ranks, but a function of how often each is covered.

Shapes: B batch, N candidates, S subtopics, T topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_gym.checks import check_number, check_positive
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures.base import Measure, Statistics, ratio
from srd_gym.measures.bound import BoundMeasure, Rows, Term
from srd_gym.measures.ideal import IdealPool

_ROUNDING = 1e-14
"""Changes up to it are those of floating-point sums."""


def tail_mean(losses: NDArray[np.floating], probabilities: NDArray[np.floating], beta: float) -> ScoreArray:
    """Mean loss of the worst beta of probability: min_zeta zeta + (1 / beta) sum_s p_s max(0, l_s - zeta).

    The minimum is at a quantile of the losses, so that it is their mean where beta of probability is filled from the
    largest loss down, the last in part (conditional value at risk, Rockafellar & Uryasev 2000).

    Args:
        losses: [..., S].
        probabilities: [S] or [..., S], non-negative, sum 1; 0 for what is no intent.
        beta: above 0, at most 1.

    Returns:
        [...] float64; 0 where all probabilities are.
    """
    order = np.argsort(-losses, axis=-1, kind="stable")
    worst = np.take_along_axis(losses, order, axis=-1)
    own = np.take_along_axis(np.broadcast_to(probabilities, losses.shape), order, axis=-1)
    filled = np.clip(beta - (np.cumsum(own, axis=-1) - own), 0.0, own)
    means: ScoreArray = (filled * worst).sum(axis=-1, dtype=np.float64) / beta
    return means


@dataclass(frozen=True, eq=False, slots=True)
class BoundRisk(BoundMeasure):
    """VRisk that knows its topics: a function of coverage, whose gains are its changes."""

    probabilities: ScoreArray
    """[T, S] float64 of the intents; 0 for padding and where no reference document is relevant."""
    wanted: ScoreArray
    """[T, S] float64, documents that each intent should get."""
    worth: ScoreArray
    """[T, S] float64, loss of each that it lacks."""
    beta: float
    """Probability of the intents that count."""
    reduction: bool
    """Whether values are how much less risk there is than without any document."""

    def risk(self, coverage: NDArray[np.integer], topics: IntArray) -> ScoreArray:
        """VRisk by coverage.

        Args:
            coverage: [..., S] relevant documents of each intent.
            topics: [...] topic indices, or what broadcasts to it.

        Returns:
            [...] float64.
        """
        losses = np.maximum(self.wanted[topics] - coverage, 0.0) * self.worth[topics]
        return tail_mean(losses, self.probabilities[topics], self.beta)

    def candidate_gains(
        self, judgments: Rows, coverage: IntArray, rank: IntArray | int, topic_index: ArrayLike
    ) -> ScoreArray:
        """Change that each candidate would make at this rank: as of `BoundMeasure`."""
        judgments, topics = self._checked(judgments, topic_index)
        ranks = np.asarray(rank).reshape(-1, 1)
        return self.step_gains(judgments, coverage[:, None, :], ranks, topics[:, None])

    def step_gains(
        self, rows: Rows, coverage: NDArray[np.integer], rank: IntArray | int, topic_index: IntArray
    ) -> ScoreArray:
        """Changes that documents make at their ranks: as of `BoundMeasure`."""
        before = self.risk(coverage, topic_index)
        changes = self.risk(coverage + self.covers(rows), topic_index) - before
        counted = (np.asarray(rank) < self.ranks) & (np.abs(changes) > _ROUNDING)
        changed: ScoreArray = np.where(counted, changes, 0.0)
        return np.negative(changed) if self.reduction else changed

    def _block_values(self, rows: Rows, topics: IntArray) -> ScoreArray:
        """Values of one block [L, B, S], ranks first."""
        values = self.risk(np.count_nonzero(self.covers(rows), axis=0), topics)
        return self.risk(np.zeros(rows.shape[1:], dtype=np.int64), topics) - values if self.reduction else values

    @property
    def _width(self) -> int:
        """S of the documents wanted."""
        return int(self.wanted.shape[1])


@dataclass(frozen=True, kw_only=True)
class VRiskReduction(Measure):
    """VRisk_reduction@k: VRisk@k of no document at all less that of the ranking; higher is better.

    What rewards, searches and validation take for VRisk. Parameters: beta, target, relative and rel, as of `VRisk`.
    """

    name: ClassVar[str] = "VRisk_reduction"

    beta: float = 0.1
    """Probability of the worst-served intents that count, above 0 (up to that of the rarest: the worst alone) to 1."""
    target: float = 1.0
    """Share of the best value of an intent below which it loses."""
    relative: bool = False
    """Whether losses are shares of an intent's best value, so that rare intents count as much as frequent ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(f"{self.name}: beta", self.beta, 1)
        check_number(f"{self.name}: target", self.target, 0, 1)

    def bind(self, references: Sequence[IdealPool], depth: int, n_subtopics: int | None = None) -> BoundRisk:
        """Compute, once, all that scoring these topics takes: as of `Measure`."""
        bound = self.at(depth)
        cutoff = bound.cutoff or depth
        statistics = Statistics.of(references, self.rel, n_subtopics)
        best = np.minimum(statistics.relevant, cutoff).astype(np.float64)
        each = 1.0 / np.maximum(best, 1.0) if self.relative else np.full(best.shape, 1.0 / cutoff)
        return BoundRisk(
            name=str(bound),
            cutoff=cutoff,
            rel=self.rel,
            depth=depth,
            terms=(),
            probabilities=ratio(statistics.weights, statistics.total),
            wanted=self.target * best,
            worth=each,
            beta=float(self.beta),
            reduction=not self.lower_is_better,
        )

    def _terms(self, statistics: Statistics, depth: int) -> tuple[Term, ...]:
        """It has none: no sum over subtopics."""
        return ()


@dataclass(frozen=True, kw_only=True)
class VRisk(VRiskReduction):
    """VRisk@k: Takehi, Diaz & Sakai, WSDM 2026 (arXiv 2510.22681); lower is better.

    min_zeta zeta + (1 / beta) sum_s p_s max(0, l_s - zeta), the mean loss of the worst beta of intent probability, the
    intent at the edge in part. p are the subtopic weights, scaled to sum to 1. The loss l_s = max(0, target best_s -
    V_s), where V_s is the mean relevance of the first k documents for intent s and best_s the highest that the
    reference documents allow. beta = 1 is the expected loss; up to the smallest p it is the worst intent's.

    Parameters: beta above 0 to 1; target 0 to 1; relative; rel from 1 up. As a reward it pays what it falls by
    (`VRisk_reduction`): the sum is the risk without documents less that of the ranking. A missing ranking has the risk
    of no document.

    Differs from the paper: a judgment of at least rel counts 1, also where it is graded; V is mean relevance (the
    paper has others); intents without a relevant reference document do not count. relative=True, l_s / best_s, is ours.
    """

    name: ClassVar[str] = "VRisk"
    lower_is_better: ClassVar[bool] = True

    def plain(self) -> Self:
        """Reward: the reduction of the risk."""
        chosen = {name: getattr(self, name) for name in ("beta", "target", "relative", "cutoff", "rel", "normalizer")}
        return VRiskReduction(**chosen)  # type: ignore[return-value]  # a reward needs no more than a measure
