"""Stochastic policies with a state, written once: the same three methods act, rank and are learned by autograd.

A policy that is written for numpy too (with the functions below, which take arrays and tensors alike) acts and ranks in
numpy, whose calls take a fraction of torch's where a state has a few numbers.

Shapes: M topics, R rankings of each, L states of each, T ranks, N candidates, H numbers of a state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from srd_agents.networks.attention import initialise
from srd_agents.networks.inputs import Inputs, shared_tensor
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.topic import TopicSet

ModuleT = TypeVar("ModuleT", bound=nn.Module)


class StatePolicy(ABC, nn.Module):
    """Scores of the next document that depend on the documents ranked so far through a state."""

    serves_numpy: ClassVar[bool] = False
    """Whether the three methods work on arrays of numpy as well as on tensors."""

    @abstractmethod
    def begin(self, topics: Inputs) -> tuple[Any, Any]:
        """Inputs that stay while M topics are ranked (of any kind), and their states before the first rank, [M, H]."""

    @abstractmethod
    def scores(self, fixed: Any, states: Any) -> Any:
        """Logits of all candidates as the next document: [M, L, N] of states [M, L, H]."""

    @abstractmethod
    def next_state(self, fixed: Any, states: Any, chosen: Any) -> Any:
        """The states after these documents: [M, R, H] of states [M, R, H] and candidates [M, R] int64."""

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the initial weights: those of linear layers, unless a policy says more."""
        initialise(self, generator)

    def fit(self, topics: TopicSet) -> None:
        """Take what is fixed from the training topics, such as a shift and a scale; nothing, unless a policy does."""

    def logits(self, topics: Inputs, actions: Tensor) -> Tensor:
        """Logits at all ranks of known rankings, [M, R, T, N], for learning.

        Args:
            topics: M topics.
            actions: [M, R, T] int64, the candidates ranked.
        """
        (n_topics, rankings, ranks), (fixed, first) = actions.shape, self.begin(topics)
        states = [first[:, None].expand(-1, rankings, -1)]
        for chosen in actions.unbind(2)[:-1]:
            states.append(self.next_state(fixed, states[-1], chosen))
        logits: Tensor = self.scores(fixed, torch.stack(states, 2).flatten(1, 2))
        return logits.view(n_topics, rankings, ranks, -1)


class Steps:
    """R rankings of each of M topics in progress (a `srd_agents.relational.decoding.Draft`); no gradient is wanted.

    Args:
        policy: what `acting` gave.
        topics: M topics, as arrays.
        rankings: R.
    """

    def __init__(self, policy: StatePolicy, topics: Inputs, rankings: int) -> None:
        self._policy = policy
        self._fixed, first = policy.begin(topics if _is_twin(policy) else on(next(policy.parameters()).device, topics))
        self._states = first[:, None][:, [0] * rankings]

    def scores(self) -> NDArray[np.float32]:
        """[M, R, N]."""
        return to_numpy(self._policy.scores(self._fixed, self._states))

    def add(self, chosen: IntArray) -> None:
        """Put these candidates, [M, R] int64, at the next rank."""
        taken = chosen if _is_array(self._states) else torch.from_numpy(chosen).to(self._states.device)
        self._states = self._policy.next_state(self._fixed, self._states, taken)


class TensorSteps:
    """`Steps` of tensors, with gradients where they are wanted.

    Args:
        policy: the network.
        topics: M topics, as tensors.
        rankings: R.
    """

    def __init__(self, policy: StatePolicy, topics: Inputs, rankings: int) -> None:
        self._policy = policy
        self._fixed, first = policy.begin(topics)
        self._states = first[:, None].expand(-1, rankings, -1)

    def scores(self) -> Tensor:
        """[M, R, N]."""
        scores: Tensor = self._policy.scores(self._fixed, self._states)
        return scores

    def add(self, chosen: Tensor) -> None:
        """Put these candidates, [M, R] int64, at the next rank."""
        self._states = self._policy.next_state(self._fixed, self._states, chosen)


def acting(network: ModuleT) -> ModuleT:
    """The network as it acts: itself where it is written for torch alone, else with numpy's arrays in place of tensors.

    Where tensors are on the CPU, the arrays are their own memory, but for linear layers, which are copied. Methods
    serve as they are.
    """
    return _in_arrays(network) if not isinstance(network, StatePolicy) or network.serves_numpy else network


def on(place: torch.device, topics: Inputs) -> Inputs:
    """Arrays as tensors on a device."""
    return Inputs(*(None if part is None else shared_tensor(part).to(place) for part in topics))  # type: ignore[arg-type]


def in_numpy(topics: Inputs) -> Inputs:
    """Tensors as arrays."""
    return Inputs(*(None if part is None else to_numpy(part) for part in topics))  # type: ignore[arg-type]


def _in_arrays(network: Any) -> Any:
    """A module of arrays, or the array of a tensor."""
    if not isinstance(network, nn.Module):
        return network if network is None else network.detach().cpu().numpy()
    if isinstance(network, nn.Linear):
        return _Dense(network)
    twin: Any = object.__new__(type(network))
    values = {name: value for name, value in vars(network).items() if not name.startswith("_")}
    for name in (*network._parameters, *network._buffers, *network._modules):
        values[name] = _in_arrays(getattr(network, name))
    vars(twin).update(values)
    return twin


class _Dense:
    """A linear layer of arrays, ready to multiply with from the left."""

    def __init__(self, layer: nn.Linear) -> None:
        self.weight, self.bias = _in_arrays(layer.weight), _in_arrays(layer.bias)
        self._turned = np.ascontiguousarray(self.weight.T).T

    def __call__(self, values: NDArray[np.float32]) -> Any:
        return linear(values, self._turned, self.bias)


def to_numpy(values: Any) -> AnyArray:
    """The numbers of a tensor without gradient, or an array as it is."""
    array: AnyArray = values if _is_array(values) else values.cpu().numpy()
    return array


# Functions for formulas that serve both arrays of numpy and tensors of torch.


def _is_twin(policy: nn.Module) -> bool:
    return "_parameters" not in vars(policy)


def _is_array(values: Any) -> bool:
    return isinstance(values, np.ndarray)


def linear(values: Any, weight: Any, bias: Any = None) -> Any:
    """[..., O] of [..., I], by weights [O, I] and biases [O].

    On arrays each topic has a product of its own, so that its numbers do not depend on the others.
    """
    if not _is_array(values):
        return functional.linear(values, weight, bias)
    product = values @ weight.T if values.ndim > 2 else (values[:, None] @ weight.T)[:, 0]
    if bias is not None:
        product += bias
    return product


def sigmoid(values: Any) -> Any:
    """The logistic function, without overflow; in place, of arrays."""
    if not _is_array(values):
        return values.sigmoid()
    values *= 0.5
    np.tanh(values, out=values)
    values *= 0.5
    values += 0.5
    return values


def joined(parts: Sequence[Any]) -> Any:
    """Side by side along the last axis."""
    return np.concatenate(parts, axis=-1) if _is_array(parts[0]) else torch.cat(list(parts), dim=-1)


def larger(one: Any, other: Any) -> Any:
    """The larger of two numbers each."""
    return np.maximum(one, other) if _is_array(one) else torch.maximum(one, other)


def largest(rows: Any) -> Any:
    """[M, H] over the candidates of [M, N, H]."""
    return rows.max(axis=1) if _is_array(rows) else rows.amax(1)


def gather_rows(rows: Any, chosen: Any) -> Any:
    """[M, R, H], the rows of [M, N, H] that are chosen, [M, R] int64."""
    if _is_array(rows):
        return rows[np.arange(len(rows))[:, None], chosen]
    return rows.gather(1, chosen[..., None].expand(-1, -1, rows.shape[2]))


def given(queries: Any) -> Any:
    """[M, 1] bool, which queries are not zeros, which stand for none."""
    return (queries != 0).any(1)[:, None]
