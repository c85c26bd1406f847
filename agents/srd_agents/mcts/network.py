"""M2Div's network: an LSTM over the ranked documents, a value and a policy; in torch to learn, in numpy to search.

Shapes: M topics, N candidates, F vector width, H hidden width, E nodes of search trees.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from srd_agents.networks.features import side_by_side
from srd_agents.networks.inputs import Inputs, Standardizer, orthonormal
from srd_gym.dtypes import IntArray
from srd_gym.topic import FloatArray


class SearchNetwork(nn.Module):
    """State s = [c; h] of an LSTM, V(s) = sigma(w's + b), p(d | s) = softmax over the remaining of x_d' U s.

    Feng et al. 2018, equations 1 to 3: c_0 = sigma(V_c q), h_0 = sigma(V_h q); the vectors of ranked documents are fed
    in order.

    Args:
        width: F.
        hidden: H; the paper's is 5.
        order_features: D, columns of the retrieval order that add a linear term to the logits; 0 as in the paper.
    """

    def __init__(self, width: int, hidden: int, order_features: int = 0) -> None:
        super().__init__()
        self.width, self.hidden = width, hidden
        self.standardizer = Standardizer(width)
        self.query_weight = nn.Parameter(torch.zeros(2 * hidden, width))
        """[V_c; V_h], [2H, F]."""
        self.input_weight = nn.Parameter(torch.zeros(4 * hidden, width))
        """[4H, F]."""
        self.recurrent_weight = nn.Parameter(torch.zeros(4 * hidden, hidden))
        """[4H, H]."""
        self.gate_bias = nn.Parameter(torch.zeros(4 * hidden))
        """[4H]."""
        self.scoring_weight = nn.Parameter(torch.zeros(width, 2 * hidden))
        """U, [F, 2H]."""
        self.value_weight = nn.Parameter(torch.zeros(2 * hidden))
        """w, [2H]."""
        self.value_bias = nn.Parameter(torch.zeros(()))
        """b."""
        self.order_weight = nn.Parameter(torch.zeros(order_features)) if order_features else None
        """[D]."""

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weight matrices uniform in [-b, b], b = 1 / sqrt(inputs); biases begin at 0.

        Args:
            generator: on the CPU, so that a seed gives the same start on every device.
        """
        inputs = {"query_weight": 1, "input_weight": 1, "recurrent_weight": 1, "scoring_weight": 0, "value_weight": 0}
        for name, axis in inputs.items():
            parameter = getattr(self, name)
            parameter.uniform_(-1, 1, generator=generator).mul_(parameter.shape[axis] ** -0.5)

    @torch.no_grad()
    def initialise_by_similarity(self, generator: torch.Generator) -> None:
        """Start as a rough MMR: prefer documents near the query and, more weakly, away from those ranked.

        Cells come in pairs with opposite weights b and -b, for H/2 orthonormal random directions b. A pair's difference
        begins as about half the projected query, the forget gate keeps it, and each ranked document takes a part of its
        own projection off; U makes of it a similarity to x. The retrieval order, where the network reads it, begins
        with weights of 1. Everything else is as `initialise` draws it. Not in the paper: see
        `RecurrentPolicy.initialise_by_similarity` of MDP-DIV, which needs it for the same reason.

        Args:
            generator: on the CPU.
        """
        self.initialise(generator)
        if self.order_weight is not None:
            self.order_weight.fill_(1.0)
        size, half, width = self.hidden, self.hidden // 2, self.width
        if not half:
            return
        directions = orthonormal(half, width, generator)
        pairs = torch.cat([directions, -directions])
        cells = slice(0, 2 * half)
        self.query_weight[cells] = pairs
        self.input_weight[: 2 * size] = 0.0
        self.input_weight[2 * size : 2 * size + 2 * half] = -0.1 * pairs
        self.recurrent_weight[: 3 * size] = 0.0
        self.gate_bias[size : 2 * size] = 4.0  # forget nothing
        self.scoring_weight.zero_()
        self.scoring_weight[:, cells] = pairs.T * half**-0.5

    def project(self, inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
        """All of a topic that the recurrence needs; nothing of width F is left.

        Args:
            inputs: queries [M, F] (zeros: none, which gives the state sigma(0)), documents [M, N, F], present [M, N],
                features [M, N, D] where the network reads the retrieval order.

        Returns:
            With gradients to all that they are made of:

            - [M, N, 2H], x'U of each candidate; [M, N, 2H + 1] with what the retrieval order adds, where it is read
            - [M, N, 4H], what each candidate adds to the LSTM's gates (input, forget, cell, output)
            - [M, 2H], [c_0; h_0]
        """
        queries, rows = self.standardizer(inputs.queries, inputs.documents)
        gates = rows @ self.input_weight.T + self.gate_bias
        scoring = rows @ self.scoring_weight
        if self.order_weight is not None and inputs.features is not None:
            scoring = torch.cat([scoring, (inputs.features @ self.order_weight)[..., None]], dim=-1)
        return scoring, gates, torch.sigmoid(queries @ self.query_weight.T)

    def next_state(self, state: Tensor, inputs: Tensor) -> Tensor:
        """One step of the LSTM.

        Args:
            state: [..., 2H], [c; h].
            inputs: [..., 4H], of the documents just ranked.
        """
        cell, output = state[..., : self.hidden], state[..., self.hidden :]
        gates = inputs + output @ self.recurrent_weight.T
        take, forget, new, out = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(take) * torch.tanh(new)
        return torch.cat([cell, torch.sigmoid(out) * torch.tanh(cell)], dim=-1)

    def states(self, initial: Tensor, inputs: Tensor) -> Tensor:
        """The states of whole episodes (teacher forcing): s_0 ... s_{T-1}, [B, T, 2H].

        Args:
            initial: [B, 2H].
            inputs: [B, T, 4H] of the documents ranked; the last one is not needed.
        """
        state, out = initial, [initial]
        for rank in range(inputs.shape[1] - 1):
            state = self.next_state(state, inputs[:, rank])
            out.append(state)
        return torch.stack(out, dim=1)

    def values(self, states: Tensor) -> Tensor:
        """V of states [..., 2H]: [...], between 0 and 1."""
        return torch.sigmoid(states @ self.value_weight + self.value_bias)

    @staticmethod
    def logits(scoring: Tensor, states: Tensor) -> Tensor:
        """x_i' U s, and the order's part, of each candidate [M, N, 2H or 2H + 1] and state [M, L, 2H]: [M, L, N]."""
        width = states.shape[-1]
        logits = states @ scoring[..., :width].transpose(1, 2)
        return logits if scoring.shape[-1] == width else logits + scoring[:, None, :, -1]


class NumpyEvaluator:
    """A network as the search asks for it, for some topics (one a tree). Numpy only, elementwise over nodes.

    Sums over the state run term by term, so that a node's figures depend neither on the nodes evaluated beside it nor
    on padding, to the last bit.

    Args:
        network: it stays as it is while it is searched with.
        projections: (scoring [N_t, 2H or 2H + 1], inputs [N_t, 4H], initial [2H]) of each topic.
    """

    def __init__(self, network: SearchNetwork, projections: list[tuple[FloatArray, FloatArray, FloatArray]]) -> None:
        self._hidden = hidden = network.hidden
        # The small weights that are used at every node: [H, 4H], [2H], a number.
        self._recurrent: FloatArray = np.ascontiguousarray(network.recurrent_weight.detach().cpu().numpy().T)
        self._value: FloatArray = network.value_weight.detach().cpu().numpy().copy()
        self._bias = np.float32(network.value_bias.item())
        # The logistic function of three gates by tanh, without overflow on either side: 0.5 tanh(0.5 x) + 0.5.
        self._scale = np.repeat(np.array([0.5, 0.5, 1, 0.5], np.float32), hidden)
        self._shift = np.repeat(np.array([0.5, 0.5, 0, 0.5], np.float32), hidden)
        # [M, 2H or 2H + 1, N]: every term of a sum over the state is then a whole row.
        scoring = side_by_side([scoring for scoring, _, _ in projections])
        self._scoring: FloatArray = np.ascontiguousarray(scoring.swapaxes(1, 2))
        self._inputs = side_by_side([inputs for _, inputs, _ in projections])
        self._initial = np.stack([initial for _, _, initial in projections])

    def initial(self, trees: IntArray) -> FloatArray:
        """[A, 2H], [c_0; h_0]."""
        return self._initial[trees]

    def advance(self, trees: IntArray, states: FloatArray, documents: IntArray) -> FloatArray:
        """[E, 2H], one step of the LSTM with the documents [E]."""
        size = self._hidden
        gates = self._inputs[trees, documents]
        for unit in range(size):
            gates += states[:, size + unit, None] * self._recurrent[unit]
        gates *= self._scale
        np.tanh(gates, out=gates)
        gates *= self._scale
        gates += self._shift
        out = np.empty_like(states)
        cell = gates[:, size : 2 * size] * states[:, :size]
        cell += gates[:, :size] * gates[:, 2 * size : 3 * size]
        out[:, :size] = cell
        np.multiply(gates[:, 3 * size :], np.tanh(cell), out=out[:, size:])
        return out

    def values(self, trees: IntArray, states: FloatArray) -> FloatArray:
        """[E], V."""
        raised = np.add.accumulate(states * self._value, axis=1)[:, -1] + self._bias
        return np.asarray(0.5 * np.tanh(0.5 * raised) + 0.5, dtype=np.float32)

    def logits(self, trees: IntArray, states: FloatArray) -> FloatArray:
        """[E, N], x'U s, and the order's part."""
        scoring = self._scoring[trees] if len(trees) != 1 else self._scoring[int(trees[0])][None]
        out = scoring[:, 0] * states[:, 0, None]
        for unit in range(1, states.shape[1]):
            out += scoring[:, unit] * states[:, unit, None]
        if scoring.shape[1] > states.shape[1]:
            out += scoring[:, -1]
        return out
