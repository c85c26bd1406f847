"""A small learner without torch, on which the training loop and the laws of learners are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_agents.training.learner import Learner, LearnerConfig
from srd_gym.dtypes import IntArray
from srd_gym.topic import Topic, TopicSet


@dataclass(frozen=True, kw_only=True)
class NoisyLinearConfig(LearnerConfig):
    """Options of the toy."""

    rate: float = 0.1
    """Step width."""
    noise: float = 0.5
    """Deviation of what is added to every step."""
    epochs: int = 6
    """Passes."""
    batch_topics: int = 3
    """Topics per update."""


class NoisyLinear(Learner[NoisyLinearConfig]):
    """Ranks by a linear score; learns the mean of relevant minus the mean of all documents, with noise."""

    name = "noisy-linear"
    config_class = NoisyLinearConfig

    def _build(self, vector_width: int) -> None:
        self.w = np.zeros(vector_width)

    def _weights(self) -> dict[str, NDArray[Any]]:
        return {"w": self.w.copy()}

    def _set_weights(self, weights: Mapping[str, NDArray[Any]]) -> None:
        self.w = np.array(weights["w"])

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.w = self.generator.normal(size=self.w.shape)
        self.topics, self.momentum, self.updates = topics, np.zeros_like(self.w), 0

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        self.updates += 1
        for index in batch:
            topic = self.topics[int(index)]
            good = (topic.judgments >= 1).any(axis=1)
            step = topic.doc_vectors[good].mean(axis=0) - topic.doc_vectors.mean(axis=0)
            noise = self.config.noise * self.generator.normal(size=self.w.shape)
            self.momentum = 0.9 * self.momentum + step + noise
            self.w = self.w + self.config.rate * self.momentum
        return {"length": float(np.linalg.norm(self.w))}

    def _training_state(self) -> dict[str, Any]:
        return {
            "momentum": self.momentum,
            "generator": self.generator.bit_generator.state,
            "nested": {"updates": self.updates},
        }

    def _restore_training(self, state: dict[str, Any]) -> None:
        self.momentum = state["momentum"]
        self.generator.bit_generator.state = state["generator"]
        self.updates = state["nested"]["updates"]

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return [np.argsort(-(topic.doc_vectors @ self.w), kind="stable")[:k] for topic in topics]
