"""Torch's modules, optimisers and generators as trees of numpy arrays and JSON values, and back.

`srd_agents.storage` writes such trees as safetensors: nothing is pickled, so a checkpoint cannot run code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from srd_agents.storage import Arrays, Tree, check_like


def module_arrays(module: nn.Module) -> Arrays:
    """Copies of a module's parameters and buffers, name -> array."""
    return {name: to_array(tensor) for name, tensor in module.state_dict().items()}


def load_module(module: nn.Module, arrays: Mapping[str, NDArray[Any]], what: str = "weights") -> None:
    """Copy arrays into a module's parameters and buffers.

    Args:
        module: the module; its tensors stay the same objects, so that an optimiser keeps its hold on them.
        arrays: as `module_arrays` gives them.
        what: where they came from, for the error.

    Raises:
        ValueError: other names or shapes (another vector width or network size), or values that are not finite.
    """
    own = module.state_dict()
    check_like(arrays, {name: tuple(tensor.shape) for name, tensor in own.items()}, what)
    for name, array in arrays.items():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise ValueError(f"{what}: {name} holds NaN or infinity; train again, or go back to an earlier checkpoint")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(torch.from_numpy(np.array(arrays[name])))


def optimizer_tree(optimizer: torch.optim.Optimizer) -> Tree:
    """An optimiser's state: its tensors as arrays, its settings as JSON values."""
    content = optimizer.state_dict()
    state = {
        str(index): {name: to_array(value) if isinstance(value, Tensor) else value for name, value in entry.items()}
        for index, entry in content["state"].items()
    }
    return {"state": state, "groups": content["param_groups"]}


def load_optimizer(optimizer: torch.optim.Optimizer, tree: Tree, what: str = "optimiser state") -> None:
    """Take over what `optimizer_tree` gave.

    Args:
        optimizer: made anew over the same parameters, in the same order.
        tree: the state.
        what: where it came from, for the error.

    Raises:
        ValueError: another number of parameters, or state of other shapes.
    """
    expected = optimizer.state_dict()["param_groups"]
    groups = [{name: _tupled(value) for name, value in group.items()} for group in tree["groups"]]
    if [len(group["params"]) for group in groups] != [len(group["params"]) for group in expected]:
        raise ValueError(f"{what}: belongs to another number of parameters; the file is of another network")
    # JSON has no tuples; the indices of parameters are a list in torch.
    for group in groups:
        group["params"] = list(group["params"])
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for key, entry in tree["state"].items():
        index = int(key)
        if not 0 <= index < len(parameters):
            raise ValueError(f"{what}: holds parameter {index}, but there are {len(parameters)}")
        state[index] = {name: _tensor_of(value) for name, value in entry.items()}
        for name, value in state[index].items():
            if isinstance(value, Tensor) and value.dim() and value.shape != parameters[index].shape:
                raise ValueError(
                    f"{what}: {name} of parameter {index} has shape {tuple(value.shape)}, expected "
                    f"{tuple(parameters[index].shape)}; the file belongs to another vector width or network size"
                )
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def generator_array(generator: torch.Generator) -> NDArray[np.uint8]:
    """The state of a torch generator: uint8 array."""
    return to_array(generator.get_state())


def load_generator(generator: torch.Generator, state: NDArray[np.uint8], what: str = "generator state") -> None:
    """Take over what `generator_array` gave.

    Raises:
        ValueError: not the state of such a generator.
    """
    try:
        generator.set_state(torch.from_numpy(np.array(state, dtype=np.uint8)))
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"{what}: not the state of a torch generator ({error})") from error


def to_array(tensor: Tensor) -> NDArray[Any]:
    """A copy of a tensor as a numpy array."""
    return tensor.detach().cpu().numpy().copy()


def _tensor_of(value: Any) -> Any:
    """Arrays as tensors, everything else as it is."""
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


def _tupled(value: Any) -> Any:
    """Lists that JSON made of tuples (Adam's betas) as tuples again."""
    return tuple(value) if isinstance(value, list) else value
