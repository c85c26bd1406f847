"""A learner whose weights are those of one torch module."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
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

C = TypeVar("C", bound=LearnerConfig)

_COPIES = 4
"""Copies that training holds of every weight: itself, its gradient and two means of Adam."""
_MOST_TENSORS = 1_000
"""Most tensors of a network: each costs time, however small it is."""


class NetworkLearner(Learner[C]):
    """Base of learners in torch: weights, the state of training, and forgetting what only training needed.

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
        """Refuse options whose network could not be trained in the memory of this machine.

        Args:
            vector_width: F.

        Raises:
            ValueError: the message names the option that is furthest above its default.
        """
        limit, twin = _memory() // _COPIES, copy.copy(self)
        if _fits(lambda: twin._build(vector_width), limit):
            return
        defaults = _counts(type(self.config)())
        times = {name: value / (defaults.get(name) or 1) for name, value in _counts(self.config).items()}
        most = max(times, key=times.__getitem__, default="")
        named = f"{most} = {getattr(self.config, most)}" if times.get(most, 0) > 1 else ""
        raise ValueError(
            f"ranker {self.name!r} needs more memory than there is: its network for vectors of width {vector_width} "
            f"takes over {limit:,} bytes (a quarter of this machine's memory) or has over {_MOST_TENSORS:,} tensors; "
            f"make {f'{named} smaller' if named else 'the vectors shorter'}"
        )

    def _descend(self, loss: Tensor, max_grad_norm: float) -> dict[str, float]:
        """Take one step of the optimizer; the figures hold the gradient's length before it is cut."""
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self._network.parameters(), max_grad_norm)
        self._optimizer.step()
        rate = self._optimizer.param_groups[0]["lr"]
        return {"loss": float(loss.detach()), "learning_rate": rate, "grad_norm": float(norm)}

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


def _counts(config: Any) -> dict[str, int]:
    """The options that are whole numbers, or lists of such: name -> the number, or the largest one."""
    largest = {name: max(value) if type(value) in (tuple, list) else value for name, value in vars(config).items()}
    return {name: value for name, value in largest.items() if type(value) is int}


def _fits(build: Callable[[], None], limit: int) -> bool:
    """Whether what is built takes at most so many bytes; on torch's device "meta" tensors have sizes but no memory."""
    taken = 0

    def count(_module: nn.Module, _name: str, tensor: Tensor | None) -> None:
        nonlocal taken
        if tensor is not None and tensor.is_meta:  # others belong to other threads
            taken += max(tensor.nbytes, limit // _MOST_TENSORS)
        if taken > limit:
            raise MemoryError

    hook = nn.modules.module.register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"):
            build()
    except MemoryError:
        return False
    except (RuntimeError, TypeError, OverflowError) as error:
        if re.search("[Oo]verflow", str(error)):  # of the size itself
            return False
        raise
    finally:
        hook.remove()
    return True


def _memory() -> int:
    """Bytes of this machine's memory; 1 TiB where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**40
