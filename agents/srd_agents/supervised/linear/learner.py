"""Linear rankers: weights on named columns, gradient steps; the model that most of them share, and ListMLE. Numpy only.

The model is Plackett and Luce's, of rankings: the score of document i after the documents S is
f_S(x_i) = w_r' x_i + w_d' h_S(R_i), h_S the least (or mean, or largest) relation to S in each of D columns; h of
nothing is 0.

Shapes: N candidates, R relevance columns, D relations, U documents with known relations, L rankings, K ranks, W
weights.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from srd_agents.heuristic.stepwise import PartialRanking, Stepwise, greedily
from srd_agents.networks.features import FEATURES, relevance_columns
from srd_agents.supervised.linear.features import RELATIONS, Distances
from srd_agents.supervised.samples import Pooling, Samples, pooled_with
from srd_agents.training.files import Tree, Weights
from srd_agents.training.learner import Learner, LearnerConfig
from srd_agents.training.options import Count, Positive
from srd_gym.dtypes import AnyArray, BoolArray, IntArray, ScoreArray
from srd_gym.measures.judgments import judged
from srd_gym.topic import FloatArray, Topic, TopicSet


@dataclass(frozen=True, kw_only=True)
class LinearConfig(LearnerConfig):
    """Base of all linear rankers."""

    batch_topics: Count = 2
    """Topics per update."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Optimizer; "sgd" is the papers' plain gradient descent."""
    learning_rate: Positive = 0.03
    """Learning rate."""
    max_grad_norm: Positive = 10.0
    """Largest norm of the gradient of a step; larger ones are shortened."""
    depth: Count = 20
    """Ranks of the training rankings and likelihoods."""


@dataclass(frozen=True, kw_only=True)
class ColumnsConfig(LinearConfig):
    """Those that read columns."""

    columns: tuple[str, ...] = ()
    """Further columns of the topics to read (names of `feature_names`)."""


C = TypeVar("C", bound=LinearConfig)
K = TypeVar("K", bound=ColumnsConfig)
P = TypeVar("P")

_FIRST_DECAY, _SECOND_DECAY, _LEAST_DEVIATION = 0.9, 0.999, 1e-8
"""Constants of Adam (Kingma & Ba 2015), its authors' values."""


class LinearLearner(Learner[C], Generic[C, P]):
    """A learner with one weight a column, W in all; P is what it keeps of a training topic."""

    _values: ScoreArray
    _adam: dict[str, Any]
    """State of Adam: running means of the gradient ("first") and of its square ("second"), [W], and "steps"."""
    _topics: list[P]
    only_training: ClassVar[tuple[str, ...]] = ("_topics", "_adam")

    # What a linear learner implements.

    @abstractmethod
    def weight_names(self) -> tuple[str, ...]:
        """Names of the W weights."""

    @abstractmethod
    def _prepared(self, topic: Topic, generator: np.random.Generator) -> P:
        """Learn from a topic; the generator is for this learner's samples, topic by topic."""

    @abstractmethod
    def _loss(self, prepared: P) -> tuple[float, ScoreArray]:
        """The loss of a topic and its gradient, [W]."""

    # What it then has.

    @property
    def weights_by_name(self) -> dict[str, float]:
        """Learned weights: name of the column -> weight.

        Raises:
            ValueError: not trained.
        """
        self.check_topics([])
        return dict(zip(self.weight_names(), self._values.tolist(), strict=True))

    def _build(self, vector_width: int) -> None:
        self._values = np.zeros(len(self.weight_names()))

    def _weights(self) -> dict[str, AnyArray]:
        return {"weights": self._values.copy()}

    def _set_weights(self, weights: Weights) -> None:
        self._values = np.array(weights["weights"], np.float64)

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        self._values = np.random.default_rng([seed, 0x11E4]).random(len(self._values))
        zeros = np.zeros(len(self._values))
        self._adam = {"first": zeros, "second": zeros, "steps": 0}
        generator = np.random.default_rng([seed, 0x5A3B])
        self._topics = [self._prepared(topic, generator) for topic in topics]

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        """One step along the mean gradient of the batch's topics."""
        losses = [self._loss(self._topics[index]) for index in batch]
        gradient = np.mean([gradient for _, gradient in losses], axis=0)
        length = float(np.sqrt(gradient @ gradient))
        gradient = gradient * min(1.0, self.config.max_grad_norm / max(length, 1e-300))
        if self.config.optimizer == "adam":
            gradient = self._adams_direction(gradient)
        self._values = self._values - self.config.learning_rate * gradient
        figures = {"learning_rate": self.config.learning_rate, "grad_norm": length}
        return {"loss": float(np.mean([loss for loss, _ in losses])), **figures}

    def _adams_direction(self, gradient: ScoreArray) -> ScoreArray:
        """[W], what the learning rate multiplies, with one more gradient taken into the running means."""
        adam = self._adam
        adam["first"] = _FIRST_DECAY * adam["first"] + (1 - _FIRST_DECAY) * gradient
        adam["second"] = _SECOND_DECAY * adam["second"] + (1 - _SECOND_DECAY) * gradient**2
        adam["steps"] += 1
        first = adam["first"] / (1 - _FIRST_DECAY ** adam["steps"])
        second = adam["second"] / (1 - _SECOND_DECAY ** adam["steps"])
        direction: ScoreArray = first / (np.sqrt(second) + _LEAST_DEVIATION)
        return direction

    def _training_state(self) -> Tree:
        return {"adam": dict(self._adam)}

    def _restore_training(self, state: Tree) -> None:
        self._adam = dict(state["adam"])


class LikelihoodProblem(NamedTuple):
    """A topic with the rankings that are learned from, and what their likelihood is made of."""

    relevance: FloatArray
    """[N, R]."""
    relations: FloatArray
    """[U, D, N] relations of some documents with all; D may be 0."""
    row_of: IntArray
    """[N] int64, where a document stands in `relations`; anything where it does not."""
    samples: Samples


def log_likelihoods(given: LikelihoodProblem, weights: ScoreArray, pooling: Pooling) -> tuple[ScoreArray, ScoreArray]:
    """F(y) = sum over ranks of log(exp f(y_r) / sum of exp f over what is left), and its gradient (Zhu et al. 2014).

    Args:
        given: with L rankings; every document above the last rank has a row in `relations` (where D > 0).
        weights: [R + D] float64, w_r then w_d.
        pooling: h.

    Returns:
        ([L] float64, [L, R + D] float64).
    """
    rankings, counted = given.samples.rankings, given.samples.counted
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


def pooled_relations(rows: FloatArray, pooling: Pooling) -> FloatArray:
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


def _left(rankings: IntArray, n: int) -> BoolArray:
    """Which documents are left at each rank: [L, K, N]."""
    count, ranks = rankings.shape
    rank_of = np.full((count, n), ranks)
    np.put_along_axis(rank_of, rankings, np.arange(ranks), axis=1)
    return rank_of[:, None] >= np.arange(ranks)[:, None]


class _ByRelations(PartialRanking):
    """The ranking of a topic by f, given what its documents score by relevance, [N], and w_d, [D]."""

    def __init__(self, own: FloatArray, between: FloatArray, relations: Distances | None, pooling: Pooling) -> None:
        self._own, self._between, self._relations, self._pooling = own, between, relations, pooling
        self._pooled: FloatArray | None = None
        self._count = 0

    def scores(self) -> ScoreArray:
        scores = self._own if self._pooled is None else self._own + self._between @ self._pooled
        return scores.astype(np.float64)

    def add(self, document: int) -> None:
        if self._relations is None:
            return
        row = self._relations.rows(np.array([document]))[0]
        self._count += 1
        self._pooled = pooled_with(self._pooled, row, self._count, self._pooling)


class PlackettLuceLearner(LinearLearner[K, LikelihoodProblem], Stepwise):
    """Learners of f_S(x_i) = w_r' x_i + w_d' h_S(R_i), which rank greedily by f."""

    @abstractmethod
    def _samples(self, topic: Topic, generator: np.random.Generator) -> Samples:
        """The rankings to learn from."""

    def _pull(self, good: ScoreArray, bad: ScoreArray, samples: Samples) -> tuple[float, ScoreArray, ScoreArray]:
        """The loss, and its derivatives by the log likelihoods of good [P] and bad [Q] rankings.

        Minus the mean log likelihood of the good ones, unless a learner says otherwise.
        """
        return -float(good.mean()), np.full(len(good), -1.0 / len(good)), np.zeros(len(bad))

    def weight_names(self) -> tuple[str, ...]:
        """Names of the W weights: relevance columns, then relations."""
        return (*FEATURES, *self.config.columns, *(RELATIONS if self._relational else ()))

    _relational: ClassVar[bool] = True
    """Whether f looks at documents ranked before."""

    @property
    def _pooling(self) -> Pooling:
        """Name of the sum of relations, where there are any."""
        return getattr(self.config, "pooling", "min")

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic; scores are f.

        Raises:
            ValueError: not trained, or a topic that does not fit.
        """
        self.check_topics([topic])
        relevance = relevance_columns(topic, self.config.columns)
        own, between = np.split(self._values.astype(np.float32), [relevance.shape[1]])
        return _ByRelations(relevance @ own, between, Distances(topic) if len(between) else None, self._pooling)

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return [greedily(self.progress(topic), topic.n_candidates, k) for topic in topics]

    def _prepared(self, topic: Topic, generator: np.random.Generator) -> LikelihoodProblem:
        samples = self._samples(topic, generator)
        documents = np.unique(samples.rankings[:, :-1])
        row_of = np.zeros(topic.n_candidates, np.int64)
        row_of[documents] = np.arange(len(documents))
        columns = self.config.columns
        none = np.zeros((0, 0, topic.n_candidates), np.float32)
        relations = Distances(topic).rows(documents) if self._relational else none
        relevance = relevance_columns(topic, columns)
        return LikelihoodProblem(relevance, relations, row_of, samples)

    def _loss(self, prepared: LikelihoodProblem) -> tuple[float, ScoreArray]:
        likelihoods, gradients = log_likelihoods(prepared, self._values, self._pooling)
        at = prepared.samples.n_good
        loss, good, bad = self._pull(likelihoods[:at], likelihoods[at:], prepared.samples)
        return loss, np.concatenate([good, bad]) @ gradients


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
