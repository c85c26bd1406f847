"""What the linear rankers share: options, weights on named columns, gradient steps, saving, resuming. Numpy only."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from srd_agents.config import Count, Positive
from srd_agents.learner import Learner, LearnerConfig
from srd_agents.storage import Tree, Weights, check_like
from srd_gym.protocols import ScoreArray
from srd_gym.topic import Topic, TopicSet


@dataclass(frozen=True, kw_only=True)
class LinearConfig(LearnerConfig):
    """What all linear rankers share."""

    batch_topics: Count = 2
    """Topics per update."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """"sgd" is the papers' plain gradient descent."""
    learning_rate: Positive = 0.03
    """Step size."""
    clip_norm: Positive = 10.0
    """Length that a step's gradient is cut to."""
    depth: Count = 20
    """Ranks that it learns from: rankings and likelihoods are truncated here."""


@dataclass(frozen=True, kw_only=True)
class ColumnsConfig(LinearConfig):
    """Those that read columns."""

    columns: str = ""
    """The topics' own columns to read as well (names of `feature_names`, separated by commas); one named
    "relation:..." is a position whose differences are a relation of documents."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(not name for name in self.columns.split(",")) and self.columns:
            raise ValueError(f"columns must be names separated by commas, got {self.columns!r}")

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names in `columns`."""
        return tuple(name.strip() for name in self.columns.split(",")) if self.columns else ()


C = TypeVar("C", bound=LinearConfig)
P = TypeVar("P")

_FIRST_DECAY, _SECOND_DECAY, _LEAST_DEVIATION = 0.9, 0.999, 1e-8
"""Of Adam (Kingma & Ba 2015), its authors' values."""


class LinearLearner(Learner[C], Generic[C, P]):
    """A learner with one weight a column, W in all; P is what it keeps of a training topic."""

    _values: ScoreArray
    _adam: dict[str, Any]
    """What Adam remembers: running means of the gradient ("first") and of its square ("second"), [W], and "steps"."""
    _topics: list[P]

    # What a linear learner implements.

    @abstractmethod
    def weight_names(self) -> tuple[str, ...]:
        """Names of the W weights."""

    @abstractmethod
    def _prepared(self, topic: Topic, generator: np.random.Generator) -> P:
        """What is learned from a topic; the generator is for this learner's draws, topic by topic."""

    @abstractmethod
    def _loss(self, prepared: P) -> tuple[float, ScoreArray]:
        """The loss of a topic and its gradient, [W]."""

    # What it then has.

    @property
    def weights_by_name(self) -> dict[str, float]:
        """What it has learned: name of the column -> weight.

        Raises:
            ValueError: not trained.
        """
        self.check_topics([])
        return dict(zip(self.weight_names(), self._values.tolist(), strict=True))

    def _build(self, vector_width: int) -> None:
        self._values = np.zeros(len(self.weight_names()))

    def _weights(self) -> dict[str, NDArray[Any]]:
        return {"weights": self._values.copy()}

    def _set_weights(self, weights: Weights) -> None:
        values = np.array(weights["weights"], np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"weights of ranker {self.name!r} hold NaN or infinity; train again")
        self._values = values

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        self._values = np.random.default_rng([seed, 0x11E4]).random(len(self._values))
        zeros = np.zeros(len(self._values))
        self._adam = {"first": zeros, "second": zeros, "steps": 0}
        generator = np.random.default_rng([seed, 0x5A3B])
        self._topics = [self._prepared(topic, generator) for topic in topics]

    def _update(self, batch: np.ndarray[Any, np.dtype[np.int64]]) -> Mapping[str, float]:
        """One step along the mean gradient of the batch's topics."""
        losses = [self._loss(self._topics[index]) for index in batch]
        gradient = np.mean([gradient for _, gradient in losses], axis=0)
        length = float(np.sqrt(gradient @ gradient))
        gradient = gradient * min(1.0, self.config.clip_norm / max(length, 1e-300))
        if self.config.optimizer == "adam":
            gradient = self._adams_direction(gradient)
        self._values = self._values - self.config.learning_rate * gradient
        return {"loss": float(np.mean([loss for loss, _ in losses]))}

    def _adams_direction(self, gradient: ScoreArray) -> ScoreArray:
        """[W], what the step size multiplies, with one more gradient taken into the running means."""
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
        adam = state["adam"]
        check_like(
            {name: adam[name] for name in ("first", "second")},
            {name: self._values.shape for name in ("first", "second")},
            "training state",
        )
        self._adam = {**adam, "steps": int(adam["steps"])}

    def _release(self) -> None:
        for name in ("_topics", "_adam"):
            self.__dict__.pop(name, None)
