"""R-LTR, PAMM, SGDMM-Log, SGDMM-Exp and ListMLE: learners of one Plackett-Luce model of rankings."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from srd_agents.supervised.linear import loss as pair_loss
from srd_agents.supervised.linear.config import (
    ColumnsConfig,
    ListMleConfig,
    PairConfig,
    Pooling,
    RltrConfig,
)
from srd_agents.supervised.linear.features import Relations, relation_names, relevance_columns, relevance_names
from srd_agents.supervised.linear.learner import LinearLearner
from srd_agents.supervised.linear.plackett_luce import Floats, Rankings, log_likelihoods, pooled_relations
from srd_agents.supervised.samples import Sampler, Samples
from srd_agents.validation import judged
from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.topic import Topic, TopicSet

logger = logging.getLogger("srd_agents")

C = TypeVar("C", bound=ColumnsConfig)
M = TypeVar("M", bound=RltrConfig)


class Prepared(NamedTuple):
    """A topic with the rankings that are learned from: good ones first, then bad ones."""

    rankings: Rankings
    values: ScoreArray
    """[L], the measure of each, in shares of the ideal's."""
    n_good: int


class PlackettLuceLearner(LinearLearner[C, Prepared]):
    """Learners of f_S(x_i) = w_r' x_i + w_d' h_S(R_i), which rank greedily by f."""

    @abstractmethod
    def _samples(self, topic: Topic, generator: np.random.Generator) -> Samples:
        """The rankings to learn from."""

    def _pull(self, good: ScoreArray, bad: ScoreArray, prepared: Prepared) -> tuple[float, ScoreArray, ScoreArray]:
        """The loss, and its derivatives by the log likelihoods of good [P] and bad [Q] rankings.

        Minus the mean log likelihood of the good ones, unless a learner says otherwise.
        """
        return -float(good.mean()), np.full(len(good), -1.0 / len(good)), np.zeros(len(bad))

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """The score f of each candidate as the next document: [N] float64; what is not allowed is to be ignored.

        Raises:
            ValueError: not trained, or a topic that does not fit.
        """
        self.check_topics([topic])
        scores, between = self._parts(topic)
        if len(selected) and len(between):
            rows = Relations(topic, self.config.column_names).rows(selected)
            scores = scores + between @ pooled_relations(rows[None], self._pooling)[0, -1]
        return scores.astype(np.float64)

    def weight_names(self) -> tuple[str, ...]:
        """Names of the W weights: relevance columns, then relations."""
        columns = self.config.column_names
        return relevance_names(columns) + (relation_names(columns) if self._relational else ())

    _relational: ClassVar[bool] = True
    """Whether f looks at documents ranked before."""

    @property
    def _pooling(self) -> Pooling:
        """How relations are summed up."""
        return "min"

    def _parts(self, topic: Topic) -> tuple[Floats, Floats]:
        """The scores by relevance [N], and w_d."""
        relevance = relevance_columns(topic, self.config.column_names)
        weights = self._values.astype(np.float32)
        return relevance @ weights[: relevance.shape[1]], weights[relevance.shape[1] :]

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return [self._rank(topic, k) for topic in topics]

    def _rank(self, topic: Topic, k: int) -> IntArray:
        """The best remaining document by f, again and again; ties go to the first candidate."""
        scores, between = self._parts(topic)
        count = min(k, topic.n_candidates)
        if not len(between):
            return (-scores).argsort(kind="stable")[:count].astype(np.int64)
        relations = Relations(topic, self.config.column_names)
        ranking = np.empty(count, np.int64)
        pooled: Floats | None = None
        for rank in range(count):
            best = ranking[rank] = int((scores if pooled is None else scores + between @ pooled).argmax())
            scores[best] = -np.inf
            row = relations.rows(ranking[rank : rank + 1])[0]
            if pooled is None:
                pooled = row
            elif self._pooling == "mean":
                pooled = pooled + (row - pooled) / np.float32(rank + 1)
            else:
                pooled = (np.minimum if self._pooling == "min" else np.maximum)(pooled, row)
        return ranking

    def _prepared(self, topic: Topic, generator: np.random.Generator) -> Prepared:
        samples = self._samples(topic, generator)
        documents = np.unique(samples.rankings[:, :-1])
        row_of = np.zeros(topic.n_candidates, np.int64)
        row_of[documents] = np.arange(len(documents))
        columns = self.config.column_names
        none = np.zeros((0, 0, topic.n_candidates), np.float32)
        relations = Relations(topic, columns).rows(documents) if self._relational else none
        relevance = relevance_columns(topic, columns)
        rankings = Rankings(relevance, relations, row_of, samples.rankings, samples.counted)
        return Prepared(rankings, samples.values, samples.n_good)

    def _loss(self, prepared: Prepared) -> tuple[float, ScoreArray]:
        likelihoods, gradients = log_likelihoods(prepared.rankings, self._values, self._pooling)
        at = prepared.n_good
        loss, good, bad = self._pull(likelihoods[:at], likelihoods[at:], prepared)
        return loss, np.concatenate([good, bad]) @ gradients


class MeasureLearner(PlackettLuceLearner[M]):
    """Those that learn from rankings chosen by a measure."""

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        self._sampler = Sampler(self.config.measure, self.config.depth)
        super()._prepare(topics, seed)

    @property
    def _pooling(self) -> Pooling:
        return self.config.pooling


class Rltr(MeasureLearner[RltrConfig]):
    """R-LTR (Zhu et al., SIGIR 2014): the likelihood of the ideal ranking is maximised.

    Which of equally good documents the ideal takes is drawn: a rule by id would be learned where ids follow an order.

    Differs from the paper: the likelihood is truncated at `depth`, ranks at which no document gains any more do not
    count, and steps are Adam's on batches.
    """

    name: str = "r-ltr"
    config_class: ClassVar[type[Any]] = RltrConfig

    def _samples(self, topic: Topic, generator: np.random.Generator) -> Samples:
        return self._sampler.ideal(topic, generator.permutation(topic.n_candidates))


class PairLearner(MeasureLearner[PairConfig]):
    """Learners from pairs of a good and a bad ranking; they differ in `pair_loss` only."""

    config_class: ClassVar[type[Any]] = PairConfig
    pair_loss: ClassVar[Any]
    """One of the functions in `srd_agents.supervised.linear.loss`."""

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        super()._prepare(topics, seed)
        if not self._resuming:
            self._tell_shortage(topics)

    def _tell_shortage(self, topics: TopicSet) -> None:
        """Say where random rankings were hardly ever bad enough.

        Raises:
            ValueError: nowhere, so that there is no pair to learn from.
        """
        wanted, below = self.config.negatives, self.config.negative_below
        found = {t.query_id: len(p.values) - p.n_good for t, p in zip(topics, self._topics, strict=True)}
        if not any(found.values()):
            raise ValueError(
                f"ranker {self.name!r}: no random ranking of {len(topics)} topics is as bad as negative_below={below} "
                f"of the ideal's {self.config.measure}, so there are no pairs to learn from; raise negative_below"
            )
        short = [query_id for query_id, count in found.items() if count < wanted]
        if short:
            few = ", ".join(short[:10]) + (", ..." if len(short) > 10 else "")
            drawn = sum(found[query_id] for query_id in short)
            logger.warning(
                "%d of %d topics have fewer than %d random rankings of at most %g of the ideal's %s (%d in all; a "
                "bounded number was drawn): %s",
                len(short), len(found), wanted, below, self.config.measure, drawn, few,
            )  # fmt: skip

    def _samples(self, topic: Topic, generator: np.random.Generator) -> Samples:
        config = self.config
        order = generator.permutation(topic.n_candidates)
        return self._sampler.pairs(topic, config.positives, config.negatives, config.negative_below, generator, order)

    def _pull(self, good: ScoreArray, bad: ScoreArray, prepared: Prepared) -> tuple[float, ScoreArray, ScoreArray]:
        """The mean over pairs; 0 where there are none."""
        values, at = prepared.values, prepared.n_good
        losses, slopes = type(self).pair_loss(good[:, None] - bad, values[:at, None] - values[at:])
        pairs = max(1, losses.size)
        return float(losses.sum() / pairs), slopes.sum(axis=1) / pairs, -slopes.sum(axis=0) / pairs


class Pamm(PairLearner):
    """PAMM (Xu et al., TIST 2017): a perceptron on pairs whose likelihoods differ by less than their measures do.

    Differs from the paper: all pairs of a topic step at once, divided by their number (the paper: one after the
    other), and steps are Adam's unless `optimizer="sgd"`; the likelihood is `Rltr`'s.
    """

    name: str = "pamm"
    pair_loss: ClassVar[Any] = staticmethod(pair_loss.perceptron)


class SgdmmLog(PairLearner):
    """SGDMM-Log (Xu et al., TIST 2017): Delta E log(1 + exp(-Delta F)) of pairs is minimised.

    Differs from the paper: as `Pamm`. The paper's update adds where its loss wants it to subtract; here the loss falls.
    """

    name: str = "sgdmm-log"
    pair_loss: ClassVar[Any] = staticmethod(pair_loss.logistic)


class SgdmmExp(PairLearner):
    """SGDMM-Exp (Xu et al., TIST 2017): Delta E exp(-Delta F) of pairs is minimised.

    Differs from the paper: as `SgdmmLog`; Delta F counts as at least -50.
    """

    name: str = "sgdmm-exp"
    pair_loss: ClassVar[Any] = staticmethod(pair_loss.exponential)


class ListMle(PlackettLuceLearner[ListMleConfig]):
    """ListMLE (Xia et al., ICML 2008): the likelihood of the ranking by number of covered subtopics; relevance only.

    Equally good documents go in an order drawn once. Differs from the paper: linear; ranks of documents that cover
    nothing do not count (any order of them is right).
    """

    name: str = "listmle"
    config_class: ClassVar[type[Any]] = ListMleConfig

    _relational: ClassVar[bool] = False

    def _samples(self, topic: Topic, generator: np.random.Generator) -> Samples:
        covered = (judged(topic) >= 1).sum(axis=1)
        drawn = generator.permutation(topic.n_candidates)
        ranking = drawn[(-covered[drawn]).argsort(kind="stable")][None, : self.config.depth]
        return Samples(ranking, covered[ranking] > 0, np.ones(1), 1)
