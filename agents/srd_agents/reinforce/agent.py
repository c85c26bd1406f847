"""The learner: REINFORCE with a leave-one-out baseline through the simulator of SRD-v0."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from srd_agents.heuristic.stepwise import PartialRanking, Stepwise
from srd_agents.networks.directions import Directions
from srd_agents.networks.policy import acting
from srd_agents.reinforce.config import ReinforceConfig
from srd_agents.reinforce.learner import PolicyGradient
from srd_agents.reinforce.many import EpisodesTogether
from srd_agents.reinforce.network import RelationsAndDirections, Standing, standing, tensor_standing
from srd_agents.reinforce.topic_inputs import InputsOfSet, PolicyInputs, TensorsOfSet, inputs_together
from srd_agents.relational.decoding import Draft, rankings_of
from srd_agents.relational.network import RelationalNetwork
from srd_agents.relational.ranker import DraftProgress, pretrained_weights
from srd_agents.relational.relations import DYNAMIC, STATIC
from srd_agents.training.checkpoint import load_module, module_arrays, to_array
from srd_agents.training.files import Tree, Weights
from srd_agents.training.many import ManySeeds
from srd_agents.training.validation import Validation
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.pruning import pruning_from
from srd_gym.topic import Topic, TopicSet

_NUMBERS_AT_ONCE = 1 << 20
"""Numbers of relations in one padded block of episodes (4 MiB), of topics of similar size."""
_NUMBERS_ON_DEVICE = 1 << 27
"""The same where episodes stay on a device: learning then takes about 4 GiB of it."""


class Reinforce(PolicyGradient[ReinforceConfig], ManySeeds[ReinforceConfig], Stepwise):
    """A policy of relations and directions, trained by REINFORCE with the leave-one-out baseline (Kool et al. 2019).

    Relations say what every embedding space says: retrieval rank and score, cosines, neighbours, standardised within
    the topic (`srd_agents.relational.relations`). Directions know the space itself
    (`srd_agents.networks.directions`). A document's score is the sum of both. In part of the updates relations are on
    their own; validation then says whether rankings ask both or relations alone, so that directions that do not
    transfer are left out. Acting and ranking are numpy only.
    """

    name: str = "reinforce"
    config_class: ClassVar[type[Any]] = ReinforceConfig
    together_class = EpisodesTogether

    _network: RelationsAndDirections
    _optimizer: torch.optim.Adam
    _set_inputs: InputsOfSet
    _on_device: TensorsOfSet
    _acting: RelationsAndDirections | None = None
    _mean: dict[str, torch.Tensor] | None = None
    _updates: int = 0
    _updates_an_epoch: int = 1
    _policy: RelationsAndDirections | None = None
    only_training: ClassVar[tuple[str, ...]] = (*PolicyGradient.only_training, "_set_inputs", "_on_device", "_acting")

    def check_topics(self, topics: Sequence[Topic]) -> None:
        """Refuse to rank untrained; a policy of relations alone takes vectors of any width.

        Raises:
            ValueError: not fitted, or topics of another width.
        """
        super().check_topics([] if self.config.parts == "relations" else topics)

    def progress(self, topic: Topic) -> PartialRanking:
        """An empty ranking of the topic; scores are the policy's logits."""
        self.check_topics([topic])
        return DraftProgress(self._standing(inputs_together([topic])))

    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return rankings_of(topics, k, lambda block: self._standing(inputs_together(block)))

    def _standing(self, inputs: PolicyInputs) -> Standing:
        """Empty rankings by the weights that are shown: both parts, or relations alone where validation chose so."""
        if self._policy is None:
            network = copy.deepcopy(self._network).cpu()
            load_module(network, self._weights())
            self._policy = acting(network)
        return standing(self._policy, inputs, alone=not self._policy.directions_count)

    def _build(self, vector_width: int) -> None:
        config = self.config
        sizes = pretrained_weights()["hidden"].shape if config.init == "pretrained" else config.hidden_sizes
        relations = None if config.parts == "directions" else RelationalNetwork(*sizes)
        directions = Directions(vector_width, config.hidden_size, len(STATIC)) if config.parts != "relations" else None
        self._network = RelationsAndDirections(relations, directions)
        self._mean = self._policy = None

    def _weights(self) -> dict[str, AnyArray]:
        return {**super()._weights(), **{name: to_array(part) for name, part in (self._mean or {}).items()}}

    def _set_weights(self, weights: Weights) -> None:
        super()._set_weights(weights)
        self._mean = self._policy = None

    def validated(self, validation: Validation) -> float:
        """The measure of the better of both parts and relations alone, which from now on ranks."""
        return validation.choose(self, (1.0, 0.0) if self.config.parts == "both" else (1.0,), self._count_directions)

    def _count_directions(self, count: float) -> None:
        """Let rankings ask both parts (1), or relations alone (0)."""
        self._network.directions_count.fill_(count)
        self._policy = None

    def _prepare(self, topics: TopicSet, seed: int) -> None:
        self._begin_with(topics, seed)
        pruning = None if self.config.pruning is None else pruning_from(self.config.pruning)
        self._simulate(topics, normalizer="candidates", pruning=pruning)
        self._set_inputs = InputsOfSet(topics)
        if self._simulator is not None:
            self._on_device = TensorsOfSet(self._set_inputs, self.config.device)

    def _begin_with(self, topics: TopicSet, seed: int) -> None:
        self._network.initialise(torch.Generator().manual_seed(seed))
        if self._network.relations is not None and self.config.init == "pretrained":
            load_module(self._network.relations, pretrained_weights(), "pretrained weights")
        if self._network.directions is not None:
            self._network.directions.inputs.fit(topics)
        self._network.to(self.config.device)
        self._generator = np.random.default_rng([seed, 1])
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=self.config.learning_rate, fused=True)
        self._mean = self._parameters() if self.config.ema_decay else None
        self._updates, self._updates_an_epoch = 0, -(-len(topics) // self.config.batch_topics)

    def _parameters(self) -> dict[str, torch.Tensor]:
        """Copies of what is learned, without what is fixed or chosen."""
        return {name: parameter.detach().clone() for name, parameter in self._network.named_parameters()}

    def _begin_update(self) -> None:
        self._policy = self._acting = None
        self._alone = self.config.parts == "both" and self._generator.random() < self.config.relations_only
        for group in self._optimizer.param_groups:
            group["lr"] = self.config.learning_rate * self._step_size()

    def _learns(self, parameter: str) -> bool:
        return not (self._alone and parameter.startswith("directions."))

    def _end_update(self) -> None:
        self._updates += 1
        if self._mean is not None:
            keep = float(np.float32(min(self.config.ema_decay, 1 - 1 / self._updates)))
            for name, parameter in self._network.named_parameters():
                self._mean[name] = keep * self._mean[name] + (1 - keep) * parameter.detach()

    @property
    def _ranks(self) -> int:
        """Ranks of an episode at most."""
        return self._core.horizon

    def _parts(self, batch: IntArray) -> Sequence[IntArray]:
        """Topics of similar size, whose episodes are padded to each other."""
        numbers = int(self._set_inputs.n_candidates[batch].max()) * self._ranks * self.config.rollouts * DYNAMIC
        on_cpu = self._simulator is None or self._simulator.device.type == "cpu"
        most = _NUMBERS_AT_ONCE if on_cpu else _NUMBERS_ON_DEVICE
        return self._set_inputs.by_size(batch, max(1, most // max(numbers, 1)))

    def _see(self, batch: IntArray) -> PolicyInputs:
        return self._set_inputs.of(batch) if self._simulator is None else self._on_device.of(batch)

    def _draft(self, inputs: PolicyInputs, rollouts: int) -> Draft:
        if self._acting is None:
            self._acting = acting(self._network)
        return standing(self._acting, inputs, rollouts, alone=self._alone)

    def _tensor_draft(self, inputs: PolicyInputs, rollouts: int, alone: bool | torch.Tensor) -> Standing:
        return tensor_standing(self._network, inputs, rollouts, alone=alone)

    def _logits(self, inputs: PolicyInputs, actions: IntArray) -> torch.Tensor:
        return self._network.logits(inputs, actions, alone=self._alone)

    def _step_size(self) -> float:
        """The part of the initial learning rate that is left at this update."""
        if not self.config.lr_decay_epochs:
            return 1.0
        gone = min(1.0, self._updates / (self._updates_an_epoch * self.config.lr_decay_epochs))
        return max(0.05, 0.5 * (1 + math.cos(math.pi * gone)))

    def _training_state(self) -> Tree:
        return {**super()._training_state(), "network": module_arrays(self._network), "updates": self._updates}

    def _restore_training(self, state: Tree) -> None:
        super()._restore_training(state)
        self._mean = self._parameters() if self.config.ema_decay else None
        load_module(self._network, state["network"], "network in training")
        self._updates = state["updates"]
