"""StructSVM and SVM-DIV: structural SVMs, learned by subgradients of what the worst ranking or set violates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.networks.features import FEATURES, relevance_columns
from srd_agents.supervised.linear.features import COVERAGE_NAMES, WordCoverage, greedy_cover
from srd_agents.supervised.linear.learner import ColumnsConfig, LinearConfig, LinearLearner
from srd_agents.supervised.samples import Sampler
from srd_agents.training.options import Count, MeasureOption, NotNegative
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures import BoundMeasure
from srd_gym.measures.judgments import judged
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, GradeArray, Topic


@dataclass(frozen=True, kw_only=True)
class StructSvmConfig(ColumnsConfig):
    """StructSVM(E): a linear score whose ranking should beat every other one by its loss 1 - E."""

    measure: MeasureOption = "alpha_nDCG"
    """E; without a cutoff it counts to `depth`."""
    regularisation: NotNegative = 0.001
    """Weight of half the squared length of the weights."""


@dataclass(frozen=True, kw_only=True)
class SvmDivConfig(LinearConfig):
    """SVM-DIV: the set of documents that covers the most weight of words."""

    depth: Count = 10
    """Documents of the sets that it learns from."""
    measure: MeasureOption = "alpha_nDCG"
    """Measure of the sets to be learned, maximised greedily; without a cutoff it counts to `depth`."""
    max_words: Count = 2000
    """Words of a topic at most, those that most documents use."""
    regularisation: NotNegative = 0.001
    """Weight of half the squared length of the weights."""


def hinge_loss(
    weights: ScoreArray, missed: float, difference: ScoreArray, regularisation: float
) -> tuple[float, ScoreArray]:
    """The loss and its gradient, [W].

    Args:
        weights: [W].
        missed: by the worst answer.
        difference: [W], its features less those of the ideal.
        regularisation: what half the squared length of the weights costs.
    """
    hinge = missed + float(weights @ difference)
    penalty = 0.5 * regularisation * float(weights @ weights)
    if hinge <= 0:  # greedy inference may miss even the ideal ranking, whose violation is 0
        return penalty, regularisation * weights
    return hinge + penalty, regularisation * weights + difference


class RankingProblem(NamedTuple):
    """A topic as StructSVM learns from it."""

    relevance: FloatArray
    """[N, R]."""
    ideal: ScoreArray
    """[R], the joint features of the ideal ranking."""
    judgments: GradeArray
    """[N, S]."""
    bound: BoundMeasure
    """E for this topic."""
    ideal_value: float
    """E of the ideal ranking."""


class StructSvm(LinearLearner[StructSvmConfig, RankingProblem]):
    """StructSVM(E): documents are sorted once by w'x; the ideal ranking should beat every other by its loss 1 - E.

    The joint features of a ranking are sum over ranks of x / log2(1 + r), so that sorting by w'x is their best ranking.
    The most violating ranking is found greedily, as E has no order of its own (Liang et al. 2014).

    Differs from the papers: subgradient steps (Adam's, on batches) instead of cutting planes; E counts in shares of the
    ideal's; rankings end at `depth`.
    """

    name: str = "structsvm"
    config_class: ClassVar[type[Any]] = StructSvmConfig

    def weight_names(self) -> tuple[str, ...]:
        """Names of the R relevance columns."""
        return (*FEATURES, *self.config.columns)

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        weights, columns = self._values.astype(np.float32), self.config.columns
        return [
            (-(relevance_columns(topic, columns) @ weights)).argsort(kind="stable")[:k].astype(np.int64)
            for topic in topics
        ]

    def _prepared(self, topic: Topic, generator: np.random.Generator) -> RankingProblem:
        sampler = Sampler(self.config.measure, self.config.depth)
        ideal = sampler.ideal(topic, generator.permutation(topic.n_candidates)).rankings[0]
        bound = sampler.bound(topic, len(ideal))
        relevance = relevance_columns(topic, self.config.columns)
        value = float(bound.values(judged(topic)[ideal][None], 0)[0])
        return RankingProblem(relevance, joint_features(relevance, ideal), judged(topic), bound, value)

    def _loss(self, prepared: RankingProblem) -> tuple[float, ScoreArray]:
        worst, value = most_violating(prepared, self._values)
        difference = joint_features(prepared.relevance, worst) - prepared.ideal
        return hinge_loss(self._values, 1.0 - value, difference, self.config.regularisation)


def joint_features(relevance: FloatArray, ranking: IntArray) -> ScoreArray:
    """Psi of a ranking: the sum over ranks of x / log2(1 + r), [R]."""
    return _discounts(len(ranking)) @ relevance[ranking].astype(np.float64)


def most_violating(problem: RankingProblem, weights: ScoreArray) -> tuple[IntArray, float]:
    """The ranking that w'Psi plus the loss 1 - E is largest for, found greedily; and its E in shares of the ideal's.

    Args:
        problem: the topic.
        weights: [R].
    """
    depth, ideal = problem.bound.depth, max(problem.ideal_value, 1e-12)
    scores = problem.relevance.astype(np.float64) @ weights
    left = np.zeros(len(scores))
    coverage = np.zeros((1, problem.judgments.shape[1]), np.int64)
    covers = problem.bound.covers(problem.judgments)
    ranking, total = np.empty(depth, np.int64), 0.0
    for rank, discount in enumerate(_discounts(depth)):
        gains = problem.bound.candidate_gains(problem.judgments[None], coverage, rank, 0)[0] / ideal
        best = ranking[rank] = int((discount * scores - gains + left).argmax())
        left[best] = -np.inf
        coverage += covers[best]
        total += float(gains[best])
    return ranking, total


class CoverProblem(NamedTuple):
    """A topic as SVM-DIV learns from it."""

    words: WordCoverage
    covers: NDArray[np.bool_]
    """[N, S]."""
    shares: ScoreArray
    """[S], the weight of each subtopic; 1 in all."""
    ideal: ScoreArray
    """[W], the joint features of the ideal set."""
    depth: int


class SvmDiv(LinearLearner[SvmDivConfig, CoverProblem]):
    """SVM-DIV (Yue & Joachims, ICML 2008): the documents that cover the most weight of words are chosen greedily.

    A word's weight depends on the share of the topic's documents that use it, and on how prominently the covering
    document does. The loss of a set is the weight of the subtopics that it misses, each in proportion to the
    documents that cover it. Greedy choice is within 1 - 1/e of the best set.

    Differs from the paper: subgradient steps (Adam's, on batches) instead of cutting planes; shares fall into bins
    and weights are never negative, which the guarantee of greedy choice needs; levels count uses, not titles.
    """

    name: str = "svm-div"
    config_class: ClassVar[type[Any]] = SvmDivConfig

    def weight_names(self) -> tuple[str, ...]:
        """Names of the W kinds of coverage."""
        return COVERAGE_NAMES

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return [
            greedy_cover(self._words(topic), self._values, np.zeros(0), np.zeros((topic.n_candidates, 0), bool), k)
            for topic in topics
        ]

    def _words(self, topic: Topic) -> WordCoverage:
        """The topic's words.

        Raises:
            ValueError: it has no texts; the message says which rankers do without.
        """
        if topic.doc_texts is None:
            raise ValueError(
                f"topic {shown(topic.query_id)} has no document texts, and ranker {self.name!r} covers their words; "
                "load texts, or take a ranker that reads vectors only (structsvm, r-ltr, pamm, mmr)"
            )
        return WordCoverage.of(topic.doc_texts, self.config.max_words)

    def _prepared(self, topic: Topic, generator: np.random.Generator) -> CoverProblem:
        words, covers = self._words(topic), judged(topic) >= 1
        counts = covers.sum(axis=0)
        sampler = Sampler(self.config.measure, self.config.depth)
        ideal = sampler.ideal(topic, generator.permutation(topic.n_candidates)).rankings[0]
        return CoverProblem(words, covers, counts / max(1, counts.sum()), words.covered_by(ideal), len(ideal))

    def _loss(self, prepared: CoverProblem) -> tuple[float, ScoreArray]:
        words = prepared.words
        worst = greedy_cover(words, self._values, prepared.shares, prepared.covers, prepared.depth)
        missed = float(prepared.shares @ ~prepared.covers[worst].any(axis=0))
        difference = words.covered_by(worst) - prepared.ideal
        return hinge_loss(self._values, missed, difference, self.config.regularisation)

    def _update(self, batch: IntArray) -> dict[str, float]:
        figures = dict(super()._update(batch))
        self._values = np.maximum(self._values, 0.0)
        return figures


def _discounts(ranks: int) -> ScoreArray:
    """[ranks], 1 / log2(1 + r)."""
    discounts: ScoreArray = 1.0 / np.log2(np.arange(2.0, ranks + 2.0))
    return discounts
