"""The relational network as what learns, in torch; `srd_agents.relational.ranker` has its formula.

Shapes: B topics, R rankings of each, T ranks, N candidates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from srd_agents.networks.policy import gather_rows
from srd_agents.relational.ranker import fixed_part, network_scores, offered_share, weight_shapes
from srd_agents.relational.relations import LIMIT, NEAR, Ranked, Relations, position_of
from srd_gym.dtypes import BoolArray, IntArray

_NAMES = tuple(weight_shapes(0, 0))


class RelationalNetwork(nn.Module):
    """The weights of `srd_agents.relational.ranker`.

    Args:
        first: H, units of the first layer.
        second: G, units of the second.
    """

    def __init__(self, first: int, second: int) -> None:
        super().__init__()
        for name, shape in weight_shapes(first, second).items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))

    def weights(self) -> dict[str, Any]:
        """By name, as the formula takes them."""
        return {name: getattr(self, name) for name in _NAMES}

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights (He et al. 2015); the output starts small, so that the first policy is nearly uniform."""
        for layer in (("static", "dynamic", "context", "position"), ("hidden", "pooled")):
            matrices = [self.get_parameter(name) for name in layer]
            inputs = sum(len(matrix) for matrix in matrices)
            for matrix in matrices:
                matrix.normal_(0.0, (2 / inputs) ** 0.5, generator=generator)
        self.get_parameter("out").normal_(0.0, 0.1 * self.get_parameter("out").numel() ** -0.5, generator=generator)

    def logits(self, relations: Relations, present: BoolArray, actions: IntArray) -> Tensor:
        """Scores at all ranks of known rankings, [B, R, T, N].

        Args:
            relations: of the topics.
            present: [B, N], real candidates.
            actions: [B, R, T] int64, the candidates ranked.
        """
        weights, (_, rankings, ranks) = self.weights(), actions.shape
        share = offered_share(present)
        ranked = Ranked(relations, share, rankings)
        dynamic = np.empty((*ranked.features.shape[:2], ranks - 1, *ranked.features.shape[2:]), np.float32)
        for rank in range(ranks - 1):
            ranked.add(actions[..., rank])
            dynamic[:, :, rank] = ranked.features
        position = np.stack([position_of(rank) for rank in range(ranks)])[:, None, None]
        arrays = (relations.static, relations.context, dynamic, position, share[:, None, None, None])
        static, context, features, at, mean = (torch.from_numpy(array).to(weights["out"].device) for array in arrays)
        fixed = fixed_part(weights, static, context)[:, None, None]
        begin = network_scores(weights, fixed, None, at[:1], mean)  # rankings begin alike
        further = network_scores(weights, fixed, features.permute(0, 2, 3, 4, 1), at[1:], mean)
        return torch.cat([begin.expand(-1, -1, rankings, -1), further], dim=1).transpose(1, 2)


class _State(NamedTuple):
    """`srd_agents.relational.relations.Ranked` as a value."""

    nearest: Tensor
    """[B, R, N]."""
    total: Tensor
    """[B, R, N], sums of similarities."""
    near: Tensor
    """[B, 2, R, N]."""
    uncovered: Tensor
    """[B, 2, R, M]."""
    features: Tensor | None = None
    """[B, D, R, N]; None where nothing is ranked."""
    size: int = 0


class TensorRelated:
    """`srd_agents.relational.ranker.Related` of tensors on any device, with the gradients of the weights.

    Args:
        weights: by name.
        relations: `Relations` of the topics, of tensors.
        share: [B, N], 1 / (real candidates), 0 for padding.
        rankings: R.
    """

    def __init__(self, weights: dict[str, Tensor], relations: Any, share: Tensor, rankings: int) -> None:
        self._weights, self._relations, self._share = weights, relations, share
        self._fixed = fixed_part(weights, relations.static, relations.context)[:, None]
        unit, ramps = relations.unit, relations.ramps
        self._to_anchors = ramps.permute(0, 2, 3, 1)
        self._neighbours = ramps.sum(3).clamp(min=1e-3).transpose(1, 2)[:, :, None]
        shape = (len(unit), rankings, unit.shape[1])
        zeros = unit.new_zeros(shape)
        ones = unit.new_ones(len(unit), 2, rankings, ramps.shape[3])
        self._state = _State(zeros - float(LIMIT), zeros, zeros[:, None].expand(-1, 2, -1, -1), ones)

    def scores(self) -> Tensor:
        """[B, R, N], of every candidate as the next document, ranked ones included."""
        features, size = self._state.features, self._state.size
        dynamic = None if features is None else features.permute(0, 2, 3, 1)  # rankings begin alike
        # Three numbers that the host knows: nothing is copied to the device for them.
        position = torch.stack([self._share.new_full((), float(number)) for number in position_of(size)])
        scores: Tensor = network_scores(self._weights, self._fixed, dynamic, position, self._share[:, None, None])
        return scores.expand(-1, self._state.nearest.shape[1], -1)

    @torch.no_grad()
    def add(self, chosen: Tensor) -> None:
        """Put these candidates, [B, R] int64, at the next rank."""
        state, relations, (count, rankings) = self._state, self._relations, chosen.shape
        size, most = state.size + 1, float(LIMIT)
        rows = gather_rows(relations.unit, chosen) @ relations.unit.transpose(1, 2)
        rows = ((rows - relations.mean[:, None, None]) * relations.scale[:, None, None]).clamp(-most, most)
        nearest, total = torch.maximum(state.nearest, rows), state.total + rows
        near = state.near + torch.stack([rows > float(level) for level in NEAR], 1).to(rows.dtype)
        to_anchors = gather_rows(relations.ramps.flatten(2), chosen).view(count, rankings, 2, -1).transpose(1, 2)
        uncovered = torch.minimum(state.uncovered, 1 - to_anchors)
        fresh = uncovered @ self._to_anchors
        share = self._share[:, :, None]
        rest = nearest - nearest @ share
        rest = rest / (rest.square() @ share).sqrt().clamp(min=1e-3) * 0.5
        features = torch.cat([
            torch.stack([nearest / 3, total / size, rows / 3], 1), near / size, near.log1p(), rest[:, None],
            (fresh * relations.weight[:, None, None, None]).log1p() / 3, 1 - fresh / self._neighbours,
        ], 1)  # fmt: skip
        self._state = _State(nearest, total, near, uncovered, features, size)
