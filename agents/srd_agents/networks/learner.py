"""A learner whose weights are those of one torch module."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from srd_agents.fitting import LearnerConfig
from srd_agents.learner import Learner
from srd_agents.networks.checkpoint import (
    generator_state,
    load_generator,
    load_module,
    load_optimizer,
    module_arrays,
    optimizer_tree,
)
from srd_agents.networks.size import check_fits
from srd_agents.storage import Tree, Weights

C = TypeVar("C", bound=LearnerConfig)


class NetworkLearner(Learner[C]):
    """What learners in torch share: weights, the state of training, and forgetting what only training needed.

    The state is that of `_optimizer` and of `_generator`, where `_prepare` makes them; one that keeps more says so.
    """

    _network: nn.Module
    _optimizer: torch.optim.Optimizer
    _generator: torch.Generator | np.random.Generator
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer",)
    """Attributes that are let go of when training ends."""

    def check_device(self) -> None:
        """Refuse a device that torch does not have here."""
        name: str = getattr(self.config, "device", "cpu")
        try:
            torch.zeros(1, device=name).item()
        except Exception as error:  # torch raises whatever the device's own code raises
            reason = str(error).strip().split("\n")[0]
            raise ValueError(
                f'device must be one that torch has on this machine, got {name!r} ({reason}); "cpu" is always there'
            ) from error

    def check_size(self, vector_width: int) -> None:
        """Refuse options whose network this machine could not train."""

        def build(config: C) -> None:
            twin = copy.copy(self)
            twin.config = config
            twin._build(vector_width)

        check_fits(self.name, self.config, vector_width, build)

    def _weights(self) -> dict[str, NDArray[Any]]:
        return module_arrays(self._network)

    def _set_weights(self, weights: Weights) -> None:
        load_module(self._network, weights, f"weights of ranker {self.name!r}")

    def _training_state(self) -> Tree:
        state: Tree = {}
        if hasattr(self, "_optimizer"):
            state["optimizer"] = optimizer_tree(self._optimizer)
        if hasattr(self, "_generator"):
            state["generator"] = generator_state(self._generator)
        return state

    def _restore_training(self, state: Tree) -> None:
        if hasattr(self, "_optimizer"):
            load_optimizer(self._optimizer, state["optimizer"])
        if hasattr(self, "_generator"):
            load_generator(self._generator, state["generator"])

    def _release(self) -> None:
        self._network.to("cpu")
        for name in self.only_training:
            self.__dict__.pop(name, None)
