"""R-LTR, PAMM, SGDMM-Log and SGDMM-Exp: learners of relevance and relations. Numpy only.

Of pairs of a good and a bad ranking, losses take the margin of the model, Delta F = F(y+) - F(y-), and that of the
measure, Delta E = E(y+) - E(y-), arrays of any one shape, and give the loss of each pair and its derivative by Delta F.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from srd_agents.supervised.linear.learner import ColumnsConfig, PlackettLuceLearner
from srd_agents.supervised.samples import Pooling, Sampler, Samples
from srd_agents.training.options import Count, MeasureOption, Share
from srd_gym.dtypes import ScoreArray
from srd_gym.topic import Topic, TopicSet

_MOST = 50.0
"""Margins are taken as at least minus this: exp of more would leave the numbers of float64's sums behind."""


def perceptron(model_margin: ScoreArray, measure_margin: ScoreArray) -> tuple[ScoreArray, ScoreArray]:
    """PAMM (Xu et al., TIST 2017): pairs with Delta F <= Delta E step by dF(y+) - dF(y-), the others not at all.

    The loss of such a pair is -Delta F: its value is not what falls, its derivative is what the paper steps by.
    """
    short = (model_margin <= measure_margin).astype(np.float64)
    return -model_margin * short, -short


def logistic(model_margin: ScoreArray, measure_margin: ScoreArray) -> tuple[ScoreArray, ScoreArray]:
    """SGDMM-Log: Delta E log(1 + exp(-Delta F))."""
    # logaddexp is exact where exp would overflow; so is the derivative written with it.
    loss = np.logaddexp(0.0, -model_margin)
    return measure_margin * loss, -measure_margin * np.exp(-model_margin - loss)


def exponential(model_margin: ScoreArray, measure_margin: ScoreArray) -> tuple[ScoreArray, ScoreArray]:
    """SGDMM-Exp: Delta E exp(-Delta F)."""
    loss = measure_margin * np.exp(-np.maximum(model_margin, -_MOST))
    return loss, -loss


PAIR_LOSSES = {"perceptron": perceptron, "logistic": logistic, "exponential": exponential}


@dataclass(frozen=True, kw_only=True)
class RltrConfig(ColumnsConfig):
    """R-LTR: the likelihood of the ideal ranking."""

    pooling: Pooling = "min"
    """Pooling of the relations with the documents ranked so far."""
    measure: MeasureOption = "alpha_nDCG"
    """E, what an ideal ranking maximises; without a cutoff it counts to `depth`."""


class Rltr(PlackettLuceLearner[RltrConfig]):
    """R-LTR (Zhu et al., SIGIR 2014): the likelihood of the ideal ranking is maximised.

    Which of equally good documents the ideal takes is drawn: a rule by id would be learned where ids follow an order.

    Differs from the paper: the likelihood is truncated at `depth`, ranks at which no document gains any more do not
    count, and steps are Adam's on batches.
    """

    name: str = "r-ltr"
    config_class: ClassVar[type[Any]] = RltrConfig

    def _samples(self, topic: Topic, generator: np.random.Generator) -> Samples:
        sampler = Sampler(self.config.measure, self.config.depth)
        return sampler.ideal(topic, generator.permutation(topic.n_candidates))


@dataclass(frozen=True, kw_only=True)
class PairConfig(RltrConfig):
    """PAMM, SGDMM-Log and SGDMM-Exp: learners from pairs of a good and a bad ranking."""

    loss: Literal["perceptron", "logistic", "exponential"] = "perceptron"
    """Loss of a pair: PAMM's "perceptron", SGDMM-Log's "logistic" or SGDMM-Exp's "exponential"."""
    positives: Count = 5
    """tau+, good rankings per topic: the ideal and variants of it with equally judged documents swapped."""
    negatives: Count = 20
    """tau-, random bad rankings per topic."""
    negative_below: Share = 0.8
    """Largest value of a bad ranking, as a share of the ideal's."""


class Pamm(PlackettLuceLearner[PairConfig]):
    """PAMM, SGDMM-Log and SGDMM-Exp (Xu et al., TIST 2017): learned from pairs of a good and a bad ranking.

    Differs from the paper: all pairs of a topic step at once, divided by their number (the paper: one after the
    other), and steps are Adam's unless `optimizer="sgd"`; the likelihood is `Rltr`'s. SGDMM's update adds where its
    loss wants it to subtract; here the loss falls. For SGDMM-Exp Delta F counts as at least -50.
    """

    name: str = "pamm"
    config_class: ClassVar[type[Any]] = PairConfig

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        super()._prepare(topics, seed)
        config = self.config
        counts = [len(given.samples.values) - given.samples.n_good for given in self._topics]
        short = [topic.query_id for topic, count in zip(topics, counts, strict=True) if count < config.negatives]
        if not any(counts):
            raise ValueError(
                f"ranker {self.name!r}: no random ranking of {len(topics)} topics is as bad as negative_below="
                f"{config.negative_below} of the ideal's {config.measure}, so there are no pairs to learn from; raise "
                "negative_below"
            )
        if short and not self._resuming:
            warnings.warn(
                f"{len(short)} of {len(counts)} topics, {short[0]} among them, have fewer than {config.negatives} "
                f"random rankings of at most {config.negative_below:g} of the ideal's {config.measure}; a bounded "
                "number was drawn",
                stacklevel=2,
            )

    def _samples(self, topic: Topic, generator: np.random.Generator) -> Samples:
        config = self.config
        sampler, order = Sampler(config.measure, config.depth), generator.permutation(topic.n_candidates)
        return sampler.pairs(topic, config.positives, config.negatives, config.negative_below, generator, order)

    def _pull(self, good: ScoreArray, bad: ScoreArray, samples: Samples) -> tuple[float, ScoreArray, ScoreArray]:
        """The mean over pairs; 0 where there are none."""
        values, at = samples.values, samples.n_good
        losses, slopes = PAIR_LOSSES[self.config.loss](good[:, None] - bad, values[:at, None] - values[at:])
        pairs = max(1, losses.size)
        return float(losses.sum() / pairs), slopes.sum(axis=1) / pairs, -slopes.sum(axis=0) / pairs
