"""The network in torch, for training; `srd_agents.relational.forward` is the same in numpy.

Shapes: B topics, R rankings of each, T ranks, N candidates.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from srd_agents.relational.forward import weight_shapes


class RelationalNetwork(nn.Module):
    """Scores of candidates from their relations.

    Args:
        units: H.
        second: G.
    """

    def __init__(self, units: int, second: int) -> None:
        super().__init__()
        for name, shape in weight_shapes(units, second).items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights (He et al. 2015); the output starts small, so that the first policy is nearly uniform."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                parameter.normal_(0.0, (2 / self._inputs(name)) ** 0.5, generator=generator)
        self.get_parameter("out").normal_(0.0, 0.1 * self.get_parameter("out").numel() ** -0.5, generator=generator)

    def forward(self, fixed: Tensor, dynamic: Tensor, position: Tensor, share: Tensor) -> Tensor:
        """Scores at several ranks at once.

        Args:
            fixed: [B, N, H], of `first_layer`.
            dynamic: [B, R, T, D, N].
            position: [T, P].
            share: [B, N], 1 / (real candidates).

        Returns:
            [B, R, T, N].
        """
        weight = self.get_parameter
        rows = dynamic.transpose(3, 4).reshape(-1, dynamic.shape[3])
        stays = fixed[:, None] + (position @ weight("position"))[None, :, None]
        # Products of matrices with one row a candidate, sums in place: half of the time goes into moving numbers.
        first = (rows @ weight("dynamic")).view(*dynamic.shape[:3], dynamic.shape[4], -1) + stays[:, None]
        first = torch.relu_(first)
        mean = share[:, None, None, None] @ first
        second = (first.flatten(0, 3) @ weight("hidden")).view(*first.shape[:4], -1)
        second = torch.relu_(second + mean @ weight("pooled") + weight("hidden_bias"))
        return second @ weight("out")

    def first_layer(self, static: Tensor, context: Tensor) -> Tensor:
        """The part of the first layer that stays: [B, N, H] from [B, N, D] and [B, C]."""
        weight = self.get_parameter
        return static @ weight("static") + (context @ weight("context") + weight("bias"))[:, None]

    def _inputs(self, name: str) -> int:
        """How many inputs a matrix's layer has."""
        layer = ("hidden", "pooled") if name in ("hidden", "pooled") else ("static", "dynamic", "context", "position")
        return sum(self.get_parameter(part).shape[0] for part in layer)
