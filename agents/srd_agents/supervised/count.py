"""`subtopic-count`: the number of subtopics that a document covers, read off its vector. Numpy only.

The rival of learners where subtopic ids do not recur: nothing is played, and training is one pass over the topics.

Shapes: N candidates, F vector width, W = F + 3 columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from srd_agents.heuristic.greedy import rows_of
from srd_agents.heuristic.stepwise import TIED, PartialRanking, Stepwise, Tied
from srd_agents.training.files import Tree, Weights
from srd_agents.training.learner import Learner, LearnerConfig
from srd_agents.training.options import Count
from srd_agents.training.validation import Validation
from srd_gym.dtypes import AnyArray, IntArray, ScoreArray
from srd_gym.measures.judgments import judged
from srd_gym.topic import FloatArray, Topic, TopicSet

STRENGTHS, PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0), tuple(tenth / 10 for tenth in range(11))
"""Strengths of the ridge, in mean squares of the columns, and penalties of likeness, among which validation chooses."""
_USUAL = (0.1, 0.3)
"""Without validation."""
_LEAST = 1e-3
"""Least count that is predicted, so that likeness counts among documents that cover nothing."""


@dataclass(frozen=True, kw_only=True)
class SubtopicCountConfig(LearnerConfig):
    """Options of `subtopic-count`."""

    epochs: Count = 1
    """Passes over the training topics; more teach nothing new."""
    batch_topics: Count = 100
    """Topics that are read together."""


class SubtopicCount(Learner[SubtopicCountConfig], Stepwise):
    """Ridge regression of the number of subtopics that a document covers, and a product that penalises likeness.

    The score of a document is max(count, 0.001) times the product over the documents ranked of 1 - a max(0, cosine).
    Columns are the vector at length 1, its cosine with the query, the retrieval score standardised in its list (each 0
    where there is none) and 1. Validation chooses the ridge's strength and a.
    """

    name: str = "subtopic-count"
    config_class: ClassVar[type[Any]] = SubtopicCountConfig

    _values: ScoreArray
    _penalty: float
    _products: ScoreArray
    """[W, W + 1] sums of products of the columns with each other and with the counts."""
    _topics: list[Topic]

    def _build(self, vector_width: int) -> None:
        self._values, self._penalty = np.zeros(vector_width + 3), _USUAL[1]

    def _weights(self) -> dict[str, AnyArray]:
        return {"weights": self._values.copy(), "penalty": np.array([self._penalty])}

    def _set_weights(self, weights: Weights) -> None:
        self._values, self._penalty = np.array(weights["weights"], np.float64), float(weights["penalty"][0])

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        self._topics, width = list(topics), len(self._values)
        self._products = np.zeros((width, width + 1))

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        topics = [self._topics[index] for index in batch]
        columns = np.concatenate([_columns(topic, _units(topic, self.name)) for topic in topics])
        counts = np.concatenate([(judged(topic) > 0).sum(axis=1) for topic in topics])
        self._products += columns.T @ np.column_stack([columns, counts])
        self._solve(_USUAL[0])
        return {"loss": float(np.square(columns @ self._values - counts).mean())}

    def _solve(self, strength: float) -> None:
        """Take the weights of least squares with a ridge."""
        products = self._products[:, :-1]
        ridge = strength * max(np.trace(products) / len(products), _LEAST)  # nothing was read before the first pass
        self._values = np.linalg.solve(products + ridge * np.eye(len(products)), self._products[:, -1])

    def validated(self, validation: Validation) -> float:
        """The measure, with the ridge and then the penalty that are best."""
        self._penalise(_USUAL[1])
        validation.choose(self, STRENGTHS, self._solve)
        return validation.choose(self, PENALTIES, self._penalise)

    def _penalise(self, penalty: float) -> None:
        """Let likeness cost this much."""
        self._penalty = penalty

    def _training_state(self) -> Tree:
        return {"products": self._products}

    def _restore_training(self, state: Tree) -> None:
        self._products = state["products"]

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic."""
        self.check_topics([topic])
        units = _units(topic, f"ranker {self.name!r}")
        return _Progress(np.maximum(_columns(topic, units) @ self._values, _LEAST), units, self._penalty)

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return Stepwise.rank_batch(self, topics, k)


class _Progress(PartialRanking):
    """A ranking in the making, from counts [N] and vectors of length 1 [N, F]."""

    tied: ClassVar[Tied] = TIED

    def __init__(self, counts: ScoreArray, units: FloatArray, penalty: float) -> None:
        self._scores, self._units, self._penalty = counts, units, penalty

    def scores(self) -> ScoreArray:
        return self._scores

    def add(self, document: int) -> None:
        likeness = np.maximum(np.vecdot(self._units, self._units[document]), 0.0)
        self._scores = self._scores * (1.0 - self._penalty * likeness)


def _units(topic: Topic, who: str) -> FloatArray:
    """[N, F] vectors of length 1; zeros stay."""
    return rows_of(topic.require_vectors(who)).unit(slice(None))


def _columns(topic: Topic, units: FloatArray) -> ScoreArray:
    """[N, W] the columns of the regression."""
    query, scores = topic.query_vector, topic.retrieval_scores
    near = np.zeros(len(units)) if query is None else np.vecdot(units, rows_of(query[None]).unit(0))
    standard = np.zeros(len(units))
    if scores is not None and (spread := float(scores.std())) > 0:
        standard = (scores - scores.mean()) / spread
    return np.column_stack([units, near, standard, np.ones(len(units))]).astype(np.float64)
