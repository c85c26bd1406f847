"""R-LTR, PAMM, SGDMM-Log, SGDMM-Exp and ListMLE: learners of one Plackett-Luce model of rankings. Numpy only.

The score of document i after the documents S is f_S(x_i) = w_r' x_i + w_d' h_S(R_i), h_S the least (or mean, or
largest) relation to S in each of D columns; h of nothing is 0. Of pairs of a good and a bad ranking, losses take the
margin of the model, Delta F = F(y+) - F(y-), and that of the measure, Delta E = E(y+) - E(y-), arrays of any one shape,
and give the loss of each pair and its derivative by Delta F.

Shapes: N candidates, R relevance columns, D relations, U documents with known relations, L rankings, K ranks.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from srd_agents.config import Count, Share
from srd_agents.features import relevance_columns, relevance_names
from srd_agents.supervised.linear.features import Relations, relation_names
from srd_agents.supervised.linear.learner import ColumnsConfig, LinearLearner
from srd_agents.supervised.samples import Sampler, Samples
from srd_gym.measures.reference import judged
from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.topic import Topic, TopicSet

Pooling = Literal["max", "min", "mean"]

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

Floats = NDArray[np.float32]

_BLOCK = 1 << 21
"""Pooled relations worked on at once (8 MiB)."""


class Prepared(NamedTuple):
    """A topic with the rankings that are learned from, and what their likelihood is made of."""

    relevance: Floats
    """[N, R]."""
    relations: Floats
    """[U, D, N] relations of some documents with all; D may be 0."""
    row_of: IntArray
    """[N] int64, where a document stands in `relations`; anything where it does not."""
    samples: Samples


def log_likelihoods(given: Prepared, weights: ScoreArray, pooling: Pooling) -> tuple[ScoreArray, ScoreArray]:
    """F(y) = sum over ranks of log(exp f(y_r) / sum of exp f over what is left), and its gradient (Zhu et al. 2014).

    Args:
        given: with L rankings; every document above the last rank has a row in `relations` (where D > 0).
        weights: [R + D] float64, w_r then w_d.
        pooling: h.

    Returns:
        ([L] float64, [L, R + D] float64).
    """
    count, ranks = given.samples.rankings.shape
    n, width = len(given.relevance), given.relations.shape[1]
    step = max(1, _BLOCK // max(1, ranks * n * max(1, width)))
    parts = [
        _block(given, given.samples.rankings[at], given.samples.counted[at], weights, pooling)
        for at in (slice(start, start + step) for start in range(0, count, step))
    ]
    return np.concatenate([values for values, _ in parts]), np.concatenate([gradient for _, gradient in parts])


def pooled_relations(rows: Floats, pooling: Pooling) -> Floats:
    """The pooled relations h of the first 0, 1, ..., K - 1 documents of rankings.

    Args:
        rows: [L, K - 1, D, N], the relations of the documents at the ranks but the last.
        pooling: h.

    Returns:
        [L, K, D, N]; zeros at the first rank.
    """
    out = np.zeros((rows.shape[0], rows.shape[1] + 1, *rows.shape[2:]), np.float32)
    if pooling == "mean":
        np.cumsum(rows, axis=1, out=out[:, 1:])
        out[:, 1:] /= np.arange(1, out.shape[1], dtype=np.float32)[:, None, None]
    else:
        (np.minimum if pooling == "min" else np.maximum).accumulate(rows, axis=1, out=out[:, 1:])
    return out


def _block(
    given: Prepared, rankings: IntArray, counted: BoolArray, weights: ScoreArray, pooling: Pooling
) -> tuple[ScoreArray, ScoreArray]:
    """`log_likelihoods` of a few rankings."""
    relevance = given.relevance
    columns = relevance.shape[1]
    own, between = weights[:columns].astype(np.float32), weights[columns:].astype(np.float32)
    scores = np.broadcast_to(relevance @ own, (*rankings.shape, len(relevance)))
    pooled = pooled_relations(given.relations[given.row_of[rankings[:, :-1]]], pooling) if len(between) else None
    if pooled is not None:
        scores = scores + (between @ pooled)
    scores = np.where(_left(rankings, len(relevance)), scores, -np.inf)
    largest = scores.max(axis=2, keepdims=True)
    odds = np.exp(scores - largest)
    total = odds.sum(axis=2, keepdims=True)
    chosen = np.take_along_axis(scores, rankings[..., None], axis=2)
    values = np.where(counted, (chosen - largest - np.log(total))[..., 0], 0.0).sum(axis=1, dtype=np.float64)
    odds /= total
    gradient = np.empty((*rankings.shape, len(weights)), np.float32)
    gradient[..., :columns] = relevance[rankings] - odds @ relevance
    if pooled is not None:
        at_chosen = np.take_along_axis(pooled, rankings[:, :, None, None], axis=3)[..., 0]
        gradient[..., columns:] = at_chosen - (pooled @ odds[..., None])[..., 0]
    gradient[~counted] = 0.0
    return values, gradient.sum(axis=1, dtype=np.float64)


def _left(rankings: IntArray, n: int) -> BoolArray:
    """Which documents are left at each rank: [L, K, N]."""
    count, ranks = rankings.shape
    rank_of = np.full((count, n), ranks)
    np.put_along_axis(rank_of, rankings, np.arange(ranks), axis=1)
    left: BoolArray = rank_of[:, None] >= np.arange(ranks)[:, None]
    return left


logger = logging.getLogger("srd_agents")

C = TypeVar("C", bound=ColumnsConfig)


class PlackettLuceLearner(LinearLearner[C, Prepared]):
    """Learners of f_S(x_i) = w_r' x_i + w_d' h_S(R_i), which rank greedily by f."""

    @abstractmethod
    def _samples(self, topic: Topic, generator: np.random.Generator) -> Samples:
        """The rankings to learn from."""

    def _pull(self, good: ScoreArray, bad: ScoreArray, samples: Samples) -> tuple[float, ScoreArray, ScoreArray]:
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
        """How relations are summed up, where there are any."""
        pooling: Pooling = getattr(self.config, "pooling", "min")
        return pooling

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
        return Prepared(relevance, relations, row_of, samples)

    def _loss(self, prepared: Prepared) -> tuple[float, ScoreArray]:
        likelihoods, gradients = log_likelihoods(prepared, self._values, self._pooling)
        at = prepared.samples.n_good
        loss, good, bad = self._pull(likelihoods[:at], likelihoods[at:], prepared.samples)
        return loss, np.concatenate([good, bad]) @ gradients


@dataclass(frozen=True, kw_only=True)
class RltrConfig(ColumnsConfig):
    """R-LTR: the likelihood of the ideal ranking."""

    pooling: Pooling = "min"
    """How the relations with the documents ranked so far are summed up."""
    measure: str = "alpha_nDCG"
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
    """Of a pair: PAMM's "perceptron", SGDMM-Log's "logistic" or SGDMM-Exp's "exponential"."""
    positives: Count = 5
    """tau+, good rankings a topic: the ideal and variants of it with equally judged documents swapped."""
    negatives: Count = 20
    """tau-, bad rankings a topic, drawn at random."""
    negative_below: Share = 0.8
    """What a bad ranking may reach in the measure, in shares of the ideal's."""


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
        found = [len(given.samples.values) - given.samples.n_good for given in self._topics]
        short = [topic.query_id for topic, count in zip(topics, found, strict=True) if count < config.negatives]
        if not any(found):
            raise ValueError(
                f"ranker {self.name!r}: no random ranking of {len(topics)} topics is as bad as negative_below="
                f"{config.negative_below} of the ideal's {config.measure}, so there are no pairs to learn from; raise "
                "negative_below"
            )
        if short and not self._resuming:
            logger.warning(
                "%d of %d topics, %s among them, have fewer than %d random rankings of at most %g of the ideal's %s; a "
                "bounded number was drawn",
                len(short), len(found), short[0], config.negatives, config.negative_below, config.measure,
            )  # fmt: skip

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


@dataclass(frozen=True, kw_only=True)
class ListMleConfig(ColumnsConfig):
    """ListMLE: the likelihood of the ranking by number of covered subtopics; relevance only."""

    depth: Count = 1000
    """Ranks that it learns from; ListMLE's likelihood is that of the whole list."""


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
