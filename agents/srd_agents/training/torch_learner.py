"""A learner whose weights are those of one torch module."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from srd_agents.training.checkpoint import (
    generator_state,
    load_generator,
    load_module,
    load_optimizer,
    module_arrays,
    optimizer_tree,
)
from srd_agents.training.files import Tree, Weights
from srd_agents.training.learner import Learner
from srd_agents.training.loop import LearnerConfig
from srd_gym.dtypes import AnyArray

C = TypeVar("C", bound=LearnerConfig)


class NetworkLearner(Learner[C]):
    """Base of learners in torch: weights, the state of training, and forgetting what only training needed.

    The state is that of `_optimizer` and of `_generator`, where `_prepare` makes them; one that keeps more says so.
    """

    _network: nn.Module
    _optimizer: torch.optim.Optimizer
    _generator: torch.Generator | np.random.Generator
    only_training: ClassVar[tuple[str, ...]] = ("_optimizer",)

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

    def _descend(self, loss: Tensor, max_grad_norm: float) -> dict[str, Any]:
        """Take one step of the optimizer; the figures (`told`) hold the gradient's length before it is cut."""
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self._network.parameters(), max_grad_norm)
        self._optimizer.step()
        rate = self._optimizer.param_groups[0]["lr"]
        return {"loss": told(loss.detach()), "learning_rate": rate, "grad_norm": told(norm)}

    def _weights(self) -> dict[str, AnyArray]:
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
        super()._release()


def told(figure: Tensor | float) -> Any:
    """A figure of an update as a number; on a device it stays there, so that nothing waits before an epoch ends."""
    return figure.double() if isinstance(figure, Tensor) and figure.device.type != "cpu" else float(figure)
