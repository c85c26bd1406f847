"""Torch's modules, optimizers and generators as trees of numpy arrays and JSON values, and back.

`srd_agents.training.options` writes such trees as safetensors: nothing is pickled, so a checkpoint cannot run code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from srd_agents.training.files import Arrays, Tree, check_like
from srd_gym.dtypes import AnyArray


def module_arrays(module: nn.Module) -> Arrays:
    """Copies of a module's parameters and buffers, name -> array."""
    return {name: to_array(tensor) for name, tensor in module.state_dict().items()}


def load_module(module: nn.Module, arrays: Mapping[str, AnyArray], what: str = "weights") -> None:
    """Copy arrays into a module's parameters and buffers.

    Args:
        module: the module; its tensors stay the same objects, so that an optimizer keeps its hold on them.
        arrays: as `module_arrays` gives them.
        what: where they came from, for the error.

    Raises:
        ValueError: other names or shapes (another vector width or network size), or values that are not finite.
    """
    own = module.state_dict()
    check_like(arrays, {name: tuple(tensor.shape) for name, tensor in own.items()}, what)
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(torch.from_numpy(np.array(arrays[name])))


def optimizer_tree(optimizer: torch.optim.Optimizer) -> Tree:
    """An optimizer's state as arrays, and the order of its parameters; its options are those of the config."""
    content = optimizer.state_dict()
    state = {
        str(index): {name: to_array(value) for name, value in entry.items()}
        for index, entry in content["state"].items()
    }
    return {"state": state, "parameters": [group["params"] for group in content["param_groups"]]}


def load_optimizer(optimizer: torch.optim.Optimizer, tree: Tree) -> None:
    """Take over what `optimizer_tree` gave.

    Args:
        optimizer: made anew over the same parameters, in the same order, with the options of the config.
        tree: the state.

    Raises:
        ValueError: parameters of another number or order.
    """
    groups = optimizer.state_dict()["param_groups"]
    if tree["parameters"] != [group["params"] for group in groups]:
        raise ValueError("optimizer state: belongs to other parameters, or to the same in another order")
    state = {
        int(index): {name: torch.from_numpy(np.array(value)) for name, value in entry.items()}
        for index, entry in tree["state"].items()
    }
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def generator_state(generator: torch.Generator | np.random.Generator) -> Any:
    """The state of a generator: torch's as a uint8 array, numpy's as JSON values."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return to_array(generator.get_state())


def load_generator(generator: torch.Generator | np.random.Generator, state: Any) -> None:
    """Take over what `generator_state` gave."""
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    else:
        generator.set_state(torch.from_numpy(np.array(state, dtype=np.uint8)))


def to_array(tensor: Tensor) -> AnyArray:
    """A copy of a tensor as a numpy array."""
    return tensor.detach().cpu().numpy().copy()
