"""The learner: REINFORCE with a leave-one-out baseline through the simulator of SRD-v0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from srd_agents.networks.checkpoint import load_module, load_optimizer, module_arrays, optimizer_tree
from srd_agents.networks.inputs import chosen_log_policy, log_policy
from srd_agents.networks.learner import NetworkLearner
from srd_agents.reinforce.loss import (
    discounted_returns,
    entropy,
    leave_one_out_advantages,
    reinforce_loss,
)
from srd_agents.reinforce.rollout import Episodes, roll_out
from srd_agents.relational.config import RelationalConfig
from srd_agents.relational.forward import Weights as ForwardWeights
from srd_agents.relational.groups import rows_kept
from srd_agents.relational.network import RelationalNetwork
from srd_agents.relational.padded import PaddedRelations
from srd_agents.relational.ranker import next_scores, pretrained_weights, rank_topics
from srd_agents.storage import Tree, Weights
from srd_gym.core import SelectionCore
from srd_gym.protocols import BoolArray, IntArray, ScoreArray
from srd_gym.topic import Topic, TopicSet

_TOPICS_AT_ONCE = 4
"""Topics of similar size whose episodes are padded to each other; smaller parts waste less on padding."""


class Relational(NetworkLearner[RelationalConfig]):
    """A policy that sees relations only, not vectors: one model serves vectors of any model and width.

    A candidate is described by its retrieval rank and score, its cosine with the query, how close it is to the
    documents ranked so far and to the other candidates, all standardised within the topic
    (`srd_agents.relational.relations`). A network of two layers scores that; REINFORCE with the leave-one-out baseline
    (Kool et al. 2019) trains it through the simulator of SRD-v0. Ranking is numpy only.
    """

    name: str = "relational"
    config_class: ClassVar[type[Any]] = RelationalConfig

    _network: RelationalNetwork
    _optimizer: torch.optim.Adam
    _generator: np.random.Generator
    _core: SelectionCore | None = None
    _relations: PaddedRelations | None = None
    _mean: dict[str, NDArray[Any]] | None = None
    _updates: int = 0
    _forward: ForwardWeights | None = None
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_core", "_relations")

    def check_topics(self, topics: Sequence[Topic]) -> None:
        """Refuse to rank untrained; vectors of any width will do.

        Raises:
            ValueError: not fitted.
        """
        if self.vector_width is None:
            raise ValueError(
                f"ranker {self.name!r} is not trained: call fit, or load a trained folder; "
                "'relational-pretrained' needs no training"
            )

    def score(self, topic: Topic, selected: IntArray, allowed: BoolArray) -> ScoreArray:
        """The score of each candidate as the next document: [N] float64, minus infinity where not allowed."""
        return np.where(allowed, next_scores(self.forward_weights(), topic, selected), -np.inf)

    def forward_weights(self) -> ForwardWeights:
        """The weights that rank."""
        if self._forward is None:
            self._forward = ForwardWeights.of(self._weights())
        return self._forward

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return rank_topics(self.forward_weights(), topics, k)

    def _build(self, vector_width: int) -> None:
        units, second = self.config.units, self.config.second
        if self.config.init == "pretrained":
            units, second = pretrained_weights().hidden.shape
        self._network = RelationalNetwork(units, second)
        self._mean = self._forward = None

    def _weights(self) -> dict[str, NDArray[Any]]:
        if self._mean is not None:
            return {name: array.copy() for name, array in self._mean.items()}
        return super()._weights()

    def _set_weights(self, weights: Weights) -> None:
        super()._set_weights(weights)
        self._mean = self._forward = None

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        if self.config.init == "pretrained":
            load_module(self._network, asdict(pretrained_weights()), "pretrained weights")
        else:
            self._network.initialise(torch.Generator().manual_seed(seed))
        self._leave_out()
        self._generator = np.random.default_rng([seed, 1])
        self._core = SelectionCore(
            topics, reward=self.config.reward, horizon=self.config.horizon, normalizer="candidates"
        )
        self._relations = PaddedRelations(topics)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=self.config.learning_rate)
        self._mean = module_arrays(self._network) if self.config.average else None
        self._updates = 0
        self._forward = None

    def _leave_out(self) -> None:
        """Make the weights of relations that are to be left out 0, and keep them so: they get no gradient."""
        for name, rows in rows_kept(self.config.without).items():
            weights, kept = self._network.get_parameter(name), torch.from_numpy(rows)
            with torch.no_grad():
                weights.mul_(kept)
            weights.register_hook(kept.mul)  # type: ignore[no-untyped-call]

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        if self._core is None or self._relations is None:
            raise RuntimeError("no topics to train on: `fit` prepares them")
        acting = ForwardWeights.of(module_arrays(self._network))
        parts = [
            roll_out(acting, self._core, self._relations, part, self.config.rollouts, self._generator)
            for part in self._relations.by_size(batch, _TOPICS_AT_ONCE)
        ]
        advantages, size = self._advantages(parts)
        self._optimizer.zero_grad()
        spreads = [self._learn(*each, size) for each in zip(parts, advantages, strict=True)]
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), self.config.clip_norm)
        self._optimizer.step()
        self._forward = None
        if self._mean is not None:
            self._updates += 1
            keep = np.float32(min(self.config.average, 1 - 1 / self._updates))
            for name, array in module_arrays(self._network).items():
                self._mean[name] = keep * self._mean[name] + (1 - keep) * array
        paid = [float(part.rewards.sum()) for part in parts]
        return {"return": sum(paid) / (len(batch) * self.config.rollouts), "entropy": sum(spreads)}

    def _advantages(self, parts: Sequence[Episodes]) -> tuple[list[torch.Tensor], int]:
        """Of each part's episodes, divided by their root mean square over all parts; and how many ranks were filled."""
        found, square, filled = [], 0.0, 0
        for part in parts:
            rewards = torch.from_numpy(part.rewards).flatten(0, 1)
            active = torch.from_numpy(part.active).flatten(0, 1)
            found.append(leave_one_out_advantages(discounted_returns(rewards, 1.0), self.config.rollouts) * active)
            square += float(found[-1].square().sum())
            filled += int(active.sum())
        scale = (filled / square) ** 0.5 if square > 0 else 1.0
        return [advantage * scale for advantage in found], filled

    def _learn(self, episodes: Episodes, advantages: torch.Tensor, filled: int) -> float:
        """Add the gradient of some episodes; give their part of the mean entropy."""
        relations = episodes.relations
        fixed = self._network.first_layer(torch.from_numpy(relations.static), torch.from_numpy(relations.context))
        dynamic, position = torch.from_numpy(episodes.dynamic), torch.from_numpy(episodes.position)
        logits = self._network(fixed, dynamic, position, torch.from_numpy(episodes.share)).flatten(0, 1)
        log_pi = log_policy(logits, torch.from_numpy(episodes.allowed).flatten(0, 1))
        active = torch.from_numpy(episodes.active).flatten(0, 1)
        chosen = chosen_log_policy(log_pi, torch.from_numpy(episodes.actions).flatten(0, 1))
        spread = (entropy(log_pi) * active).sum() / filled
        loss = reinforce_loss(chosen, advantages, active).sum() / filled - self.config.entropy * spread
        loss.backward()  # type: ignore[no-untyped-call]
        return float(spread.detach())

    def _training_state(self) -> Tree:
        return {
            "generator": self._generator.bit_generator.state,
            "optimizer": optimizer_tree(self._optimizer),
            "network": module_arrays(self._network),
            "updates": self._updates,
        }

    def _restore_training(self, state: Tree) -> None:
        shown = self._weights()
        load_module(self._network, state["network"], "network in training")
        load_optimizer(self._optimizer, state["optimizer"])
        self._generator.bit_generator.state = state["generator"]
        self._mean = shown if self.config.average else None
        self._updates = state["updates"]
        self._forward = None
