"""The learner: REINFORCE with a leave-one-out baseline through the simulator of SRD-v0."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from srd_agents.heuristic.greedy import Progress, Stepwise
from srd_agents.networks.inputs import Inputs, chosen_log_policy, log_policy
from srd_agents.reinforce.config import ReinforceConfig
from srd_agents.reinforce.loss import entropy, leave_one_out_advantages, reinforce_loss, returns_from
from srd_agents.reinforce.network import PolicyNetwork, directed, directions_of
from srd_agents.reinforce.rollout import Episodes, PolicyWeights, SeenTopics, Standing, roll_out, seen_together
from srd_agents.relational.decoding import rankings_of
from srd_agents.relational.network import RelationalNetwork
from srd_agents.relational.ranker import DraftProgress, offered_share, pretrained_weights
from srd_agents.relational.relations import DYNAMIC
from srd_agents.training.checkpoint import load_module, module_arrays, to_array
from srd_agents.training.loop import Validation
from srd_agents.training.options import Tree, Weights
from srd_agents.training.torch_learner import NetworkLearner
from srd_gym.checks import check_integer
from srd_gym.core import SelectionCore
from srd_gym.protocols import IntArray
from srd_gym.pruning import parse_pruning
from srd_gym.topic import Topic, TopicSet

_NUMBERS_AT_ONCE = 1 << 20
"""Of relations at all ranks of the episodes that are padded to each other (4 MiB): topics of similar size."""


class Reinforce(NetworkLearner[ReinforceConfig], Stepwise):
    """A policy of relations and directions, trained by REINFORCE with the leave-one-out baseline (Kool et al. 2019).

    Relations say what every embedding space says: retrieval rank and score, cosines, neighbours, standardised within
    the topic (`srd_agents.relational.relations`). Directions know the space itself
    (`srd_agents.networks.directions`). A document's score is the sum of both. In part of the updates relations are on
    their own; validation then says whether rankings ask both or relations alone, so that directions that do not
    transfer are left out. Acting and ranking are numpy only.
    """

    name: str = "reinforce"
    config_class: ClassVar[type[Any]] = ReinforceConfig

    _network: PolicyNetwork
    _optimizer: torch.optim.Adam
    _generator: np.random.Generator
    _core: SelectionCore
    _known: SeenTopics
    _mean: dict[str, NDArray[Any]] | None = None
    _updates: int = 0
    _updates_an_epoch: int = 1
    _policy: PolicyWeights | None = None
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer", "_core", "_known")

    def check_topics(self, topics: Sequence[Topic]) -> None:
        """Refuse to rank untrained; a policy of relations alone takes vectors of any width.

        Raises:
            ValueError: not fitted, or topics of another width.
        """
        super().check_topics([] if self.config.parts == "relations" else topics)

    def progress(self, topic: Topic) -> Progress:
        """An empty ranking of the topic; scores are the policy's logits."""
        self.check_topics([topic])
        return DraftProgress(Standing(self._ranking_policy(), seen_together([topic])))

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        weights = self._ranking_policy()
        return rankings_of(self.config, topics, k, lambda block, each: Standing(weights, seen_together(block), each))

    def _ranking_policy(self) -> PolicyWeights:
        """The weights that rank: both parts, or relations alone where validation chose so."""
        if self._policy is None:
            arrays = self._weights()
            policy = PolicyWeights.of(arrays)
            self._policy = policy if arrays["directions_count"] else dataclasses.replace(policy, directions=None)
        return self._policy

    def _build(self, vector_width: int) -> None:
        config = self.config
        units, second = config.units, config.second
        if config.init == "pretrained":
            units, second = pretrained_weights()["hidden"].shape
        relations = None if config.parts == "directions" else RelationalNetwork(units, second)
        directions = None if config.parts == "relations" else directions_of(vector_width, config.hidden)
        self._network = PolicyNetwork(relations, directions)
        self._mean = self._policy = None

    def _weights(self) -> dict[str, NDArray[Any]]:
        return {**super()._weights(), **{name: array.copy() for name, array in (self._mean or {}).items()}}

    def _set_weights(self, weights: Weights) -> None:
        super()._set_weights(weights)
        self._mean = self._policy = None

    def validated(self, validation: Validation) -> float:
        """The measure of the better of both parts and relations alone, which from now on ranks."""
        found = {}
        for count in (1.0, 0.0)[: 2 if self.config.parts == "both" else 1]:
            self._network.directions_count.fill_(count)
            self._policy = None
            found[count] = validation.mean(self)
        best = max(found, key=lambda count: found[count])
        self._network.directions_count.fill_(best)
        self._policy = None
        return found[best]

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        self._network.initialise(torch.Generator().manual_seed(seed))
        if self._network.relations is not None and self.config.init == "pretrained":
            load_module(self._network.relations, pretrained_weights(), "pretrained weights")
        if self._network.directions is not None:
            self._network.directions.inputs.fit(topics)
        self._network.to(self.config.device)
        self._generator = np.random.default_rng([seed, 1])
        pruning = None if self.config.pruning is None else parse_pruning(self.config.pruning)
        self._core = SelectionCore(
            topics,
            reward=self.config.reward,
            horizon=self.config.horizon,
            normalizer="candidates",
            pruning=pruning,
        )
        self._known = SeenTopics(topics)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=self.config.learning_rate, fused=True)
        self._mean = self._parameters() if self.config.average else None
        self._updates, self._updates_an_epoch = 0, -(-len(topics) // self.config.batch_topics)

    def _parameters(self) -> dict[str, NDArray[Any]]:
        """Copies of what is learned, without what is fixed or chosen."""
        return {name: to_array(parameter) for name, parameter in self._network.named_parameters()}

    def _update(self, batch: IntArray) -> Mapping[str, float]:
        acting = PolicyWeights.of(module_arrays(self._network))
        if self.config.parts == "both" and self._generator.random() < self.config.alone:
            acting = dataclasses.replace(acting, directions=None)
        parts = []
        for part in self._known.by_size(batch, self._at_once(batch)):
            seen = self._known.of(part)
            parts.append(roll_out(acting, self._core, seen, part, self.config.rollouts, self._generator))
        advantages, filled = self._advantages(parts)
        self._optimizer.zero_grad()
        spreads = [self._learn(acting, *each, filled) for each in zip(parts, advantages, strict=True)]
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), self.config.clip_norm)
        for group in self._optimizer.param_groups:
            group["lr"] = self.config.learning_rate * self._step_size()
        self._optimizer.step()
        self._updates += 1
        self._policy = None
        if self._mean is not None:
            keep = np.float32(min(self.config.average, 1 - 1 / self._updates))
            for name, array in self._parameters().items():
                self._mean[name] = keep * self._mean[name] + (1 - keep) * array
        paid = sum(float(part.rewards.sum()) for part in parts)
        if not all(bool(parameter.isfinite().all()) for parameter in self._network.parameters()):
            paid = math.nan  # the training loop says what that means
        return {
            "return": paid / (len(batch) * self.config.rollouts),
            "entropy": sum(spreads),
        }

    def _at_once(self, batch: IntArray) -> int:
        """Topics whose episodes are padded to each other."""
        candidates = int(self._known.n_candidates[batch].max())
        numbers = candidates * self._core.horizon * self.config.rollouts * DYNAMIC
        return max(1, _NUMBERS_AT_ONCE // max(numbers, 1))

    def _step_size(self) -> float:
        """The part of the first step size that is left at this update."""
        if not self.config.decay_epochs:
            return 1.0
        gone = min(1.0, self._updates / (self._updates_an_epoch * self.config.decay_epochs))
        return max(0.05, 0.5 * (1 + math.cos(math.pi * gone)))

    def _advantages(self, parts: Sequence[Episodes]) -> tuple[list[torch.Tensor], int]:
        """Of each part's episodes, divided by their root mean square over all parts; and how many ranks were filled."""
        found, square, filled = [], 0.0, 0
        for part in parts:
            rewards = torch.from_numpy(part.rewards).flatten(0, 1)
            active = torch.from_numpy(part.active).flatten(0, 1)
            found.append(leave_one_out_advantages(returns_from(rewards), self.config.rollouts) * active)
            square += float(found[-1].square().sum())
            filled += int(active.sum())
        scale = (filled / square) ** 0.5 if square > 0 else 1.0
        return [advantage * scale for advantage in found], filled

    def _learn(self, acting: PolicyWeights, episodes: Episodes, advantages: torch.Tensor, filled: int) -> float:
        """Add the gradient of some episodes to the parts that acted in them; give their part of the mean entropy."""
        place = torch.device(self.config.device)

        def moved(array: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(array).to(place)

        seen, actions = episodes.seen, moved(episodes.actions)
        logits = moved(episodes.scores).requires_grad_()
        log_pi = log_policy(logits.flatten(0, 1), moved(episodes.allowed).flatten(0, 1))
        active = moved(episodes.active).flatten(0, 1)
        chosen = chosen_log_policy(log_pi, actions.flatten(0, 1))
        spread = (entropy(log_pi) * active).sum() / filled
        loss = reinforce_loss(chosen, advantages.to(place), active).sum() / filled - self.config.entropy * spread
        (gradient,) = torch.autograd.grad(loss, logits)
        static = moved(seen.relations.static)
        if acting.relations is not None and self._network.relations is not None:
            context, share = moved(seen.relations.context), moved(offered_share(seen.present))
            seen_at_ranks = (moved(episodes.dynamic), moved(episodes.position), share)
            self._network.relations.learn(static, context, *seen_at_ranks, gradient)
        if acting.directions is not None and self._network.directions is not None:
            inputs = Inputs(moved(seen.queries), moved(seen.documents), moved(seen.present), static)
            directed(self._network.directions, inputs, actions).backward(gradient)  # type: ignore[no-untyped-call]
        return float(spread.detach())

    def _training_state(self) -> Tree:
        return {**super()._training_state(), "network": module_arrays(self._network), "updates": self._updates}

    def _restore_training(self, state: Tree) -> None:
        super()._restore_training(state)
        shown = self._weights()
        load_module(self._network, state["network"], "network in training")
        self._mean = {name: shown[name] for name in self._parameters()} if self.config.average else None
        check_integer("updates", state["updates"], 0)
        self._updates = state["updates"]
