"""The relational network as what learns, in torch; `srd_agents.relational.ranker` has its formula.

Shapes: B topics, R rankings of each, T ranks, N candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from srd_agents.relational.ranker import fixed_part, network_scores, offered_share, weight_shapes
from srd_agents.relational.relations import Ranked, Relations, position_of
from srd_gym.dtypes import BoolArray, IntArray


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
        return {name: getattr(self, name) for name in weight_shapes(0, 0)}

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
