"""What the network learns, in torch; `srd_agents.relational.ranker` is how it scores.

Shapes: B topics, R rankings of each, T ranks, N candidates.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from srd_agents.relational.ranker import weight_shapes

_ROWS = 4096
"""Candidates of all rankings and ranks that are learned from at once: what a layer makes of them fits the cache."""


class RelationalNetwork(nn.Module):
    """The weights of `srd_agents.relational.ranker`, as what learns.

    The gradient is written by hand: a few rows go forward and back while they are in the processor's cache, which takes
    half of the time of automatic differentiation.

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
        for layer in (("static", "dynamic", "context", "position"), ("hidden", "pooled")):
            matrices = [self.get_parameter(name) for name in layer]
            inputs = sum(len(matrix) for matrix in matrices)
            for matrix in matrices:
                matrix.normal_(0.0, (2 / inputs) ** 0.5, generator=generator)
        self.get_parameter("out").normal_(0.0, 0.1 * self.get_parameter("out").numel() ** -0.5, generator=generator)

    @torch.no_grad()
    def learn(
        self, static: Tensor, context: Tensor, dynamic: Tensor, position: Tensor, share: Tensor, gradient: Tensor
    ) -> None:
        """Add to the weights' gradients, given that of the scores: what automatic differentiation adds.

        Args:
            static: [B, N, D].
            context: [B, C].
            dynamic: [B, D, T, R, N]; 0 at the first rank.
            position: [T, P].
            share: [B, N], 1 / (real candidates).
            gradient: [B, R, T, N], of the scores.
        """
        weights = dict(self.named_parameters())
        found = {name: torch.zeros_like(parameter) for name, parameter in weights.items()}
        ranks, rankings, n = dynamic.shape[2:]
        at_once = max(1, _ROWS // (rankings * n))
        fixed = static @ weights["static"] + (context @ weights["context"] + weights["bias"])[:, None]
        moved = position @ weights["position"]
        for topic, stays in enumerate(torch.zeros_like(fixed)):
            wanted = gradient[topic].transpose(0, 1)
            for start in (0, *range(1, ranks, at_once)):
                part = slice(start, start + at_once) if start else slice(0, 1)
                rows, here = dynamic[topic, :, part], wanted[part]
                if not start:  # nothing is ranked: rankings are alike
                    rows, here = rows[:, :, :1], here.sum(1, keepdim=True)
                first = _learned(weights, found, rows, fixed[topic] + moved[part, None], share[topic], here)
                found["position"].addmm_(position[part].T, first.sum(1))
                stays += first.sum(0)
            total = stays.sum(0)
            found["bias"] += total
            found["static"].addmm_(static[topic].T, stays)
            found["context"].addr_(context[topic], total)
        for name, parameter in weights.items():
            parameter.grad = found[name] if parameter.grad is None else parameter.grad.add_(found[name])


def _learned(
    weights: Mapping[str, Tensor],
    found: Mapping[str, Tensor],
    dynamic: Tensor,
    stays: Tensor,
    share: Tensor,
    gradient: Tensor,
) -> Tensor:
    """The gradient of some ranks of one topic, added to what is found.

    Args:
        weights: by name.
        found: gradients of them.
        dynamic: [D, T, R, N].
        stays: [T, N, H], what the first layer adds to it: alike in all rankings.
        share: [N].
        gradient: [T, R, N], of the scores.

    Returns:
        [T, N, H], of `stays`.
    """
    ranks, rankings, n = gradient.shape
    shape, out = (ranks * rankings, n, -1), weights["out"]
    rows, wanted = dynamic.reshape(len(dynamic), -1), gradient.reshape(-1, 1)
    first = stays[:, None].expand(-1, rankings, -1, -1).contiguous().flatten(0, 2)
    first.addmm_(rows.T, weights["dynamic"]).relu_()
    mean = torch.matmul(share, first.view(shape))
    second = torch.addmm(weights["hidden_bias"], mean, weights["pooled"])
    second = second[:, None].expand(-1, n, -1).contiguous().flatten(0, 1)
    second.addmm_(first, weights["hidden"]).relu_()
    found["out"].addmv_(second.T, wanted[:, 0])
    # From here on without the factor `out`, which waits for smaller products.
    back = second.sign_().mul_(wanted)
    sums = back.view(shape).sum(1)
    found["hidden_bias"].addcmul_(sums.sum(0), out)
    found["pooled"].addcmul_(mean.T @ sums, out)
    found["hidden"].addcmul_(first.T @ back, out)
    of_mean = (sums * out) @ weights["pooled"].T
    at_first = (of_mean[:, None] * share[:, None]).flatten(0, 1)
    at_first.addmm_(back, (weights["hidden"] * out).T).mul_(first.sign_())
    found["dynamic"].addmm_(rows, at_first)
    return at_first.view(ranks, rankings, n, -1).sum(1)
