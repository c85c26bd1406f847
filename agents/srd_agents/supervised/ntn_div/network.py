"""The scoring function of NTN-DIV, what rankings are worth to it, and the two losses made of that.

Xia, Xu, Lan, Guo, Cheng, "Modeling Document Novelty with Neural Tensor Network for Search Result Diversification",
SIGIR 2016: f(v, S) = w'v + mu' max_{s in S} tanh(v' W^{[1:z]} s), the maximum taken slice by slice, the second term 0
while S is empty.

Shapes: B topics, P rankings of each, K ranks, N candidates, F vector width, Z slices, D features.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from srd_agents.networks.inputs import ShiftAndScale, chosen_log_policy, log_policy
from srd_agents.supervised.samples import Pooling


class NtnNetwork(ShiftAndScale):
    """w, W and mu, the weights of the features, and a fixed shift and scale of the vectors.

    W^{[k]} = A^{[k]} + c_k I: the same tensors as the paper's, but how much of plain similarity there is in a slice is
    one number, which can be learned from few topics. Vectors enter as (x - shift) / scale, and v' W s is divided by F:
    sizes then depend on neither the vectors' length nor their width.

    Args:
        width: F.
        slices: Z.
        pooling: "max", "min" or "mean" over the documents ranked so far.
        features: D.
    """

    def __init__(self, width: int, slices: int, pooling: Pooling, features: int) -> None:
        super().__init__(width)
        self.width, self.slices, self.pooling = width, slices, pooling
        self.tensor = nn.Parameter(torch.zeros(width, width, slices))
        """W less its similarity part, [F of the ranked document, F of the candidate, Z]."""
        self.similarity_weight = nn.Parameter(torch.zeros(slices))
        """c, [Z]: slice k of W is this tensor's plus c_k times the identity."""
        self.slice_weight = nn.Parameter(torch.zeros(slices))
        """mu, [Z]."""
        self.vector_weight = nn.Parameter(torch.zeros(width))
        """w, [F]."""
        self.feature_weight = nn.Parameter(torch.zeros(features))
        """[D]."""

    @torch.no_grad()
    def initialise(self, *, similarity: bool, generator: torch.Generator) -> None:
        """Draw the initial weights.

        Args:
            similarity: the first slice begins as the similarity of two documents and counts against a candidate, the
                others small; the features count for it: a rough MMR. Otherwise all of them are drawn, as in the paper.
            generator: on the CPU.
        """
        drawn = torch.randn(self.tensor.shape, generator=generator)
        self.slice_weight.copy_(torch.randn(self.slices, generator=generator) / self.slices**0.5)
        self.vector_weight.zero_()
        self.feature_weight.fill_(1.0)
        self.tensor.copy_(drawn * (0.1 if similarity else 1.0))
        if similarity:
            self.slice_weight.mul_(0.1)
            self.tensor[:, :, 0] = 0.0
            self.similarity_weight[0] = 1.0
            self.slice_weight[0] = -1.0

    def forward(self, documents: Tensor, features: Tensor, rankings: Tensor) -> Tensor:
        """The score of every candidate at every rank of known rankings (teacher forcing).

        Args:
            documents: [B, N, F]; rows of padding may hold anything finite.
            features: [B, N, D].
            rankings: [B, P, K] int64.

        Returns:
            [B, P, K, N].
        """
        points = (documents - self.shift) / self.scale
        relevance = points @ self.vector_weight + features @ self.feature_weight
        lists, ranks = rankings.shape[1:]
        n = points.shape[1]
        out = relevance[:, None, None].expand(-1, lists, 1, n)
        if ranks == 1:
            return out
        places = rankings[:, :, :-1].reshape(len(points), -1, 1).expand(-1, -1, self.width)
        ranked = points.gather(1, places)
        diagonal = torch.eye(self.width, device=points.device)[..., None] * self.similarity_weight
        products = ranked @ (self.tensor + diagonal).view(self.width, -1) / self.width
        products = points[:, None] @ products.view(len(points), -1, self.width, self.slices)
        novelty = self._pooled(products.view(len(points), lists, ranks - 1, n, self.slices)) @ self.slice_weight
        return torch.cat([out, relevance[:, None, None] + novelty], dim=2)

    def _pooled(self, products: Tensor) -> Tensor:
        """tanh, pooled over the first 1, 2, ... documents: [B, P, K - 1, N, Z] to the same."""
        ranks = products.shape[2]
        if self.pooling == "mean":
            counts = torch.arange(1, ranks + 1, device=products.device, dtype=products.dtype)
            return torch.tanh(products).cumsum(2) / counts[:, None, None]
        # tanh rises, so it may follow the pooling: fewer values to keep for the gradient.
        pool = torch.maximum if self.pooling == "max" else torch.minimum
        pooled = [products[:, :, 0]]
        for rank in range(1, ranks):
            pooled.append(pool(pooled[-1], products[:, :, rank]))
        return torch.tanh(torch.stack(pooled, dim=2))


def candidates_on_offer(rankings: Tensor, present: Tensor) -> Tensor:
    """Which candidates are left at each rank of known rankings.

    Args:
        rankings: [B, P, K] int64.
        present: [B, N] bool, the real candidates.

    Returns:
        [B, P, K, N] bool: real, and not ranked before.
    """
    ranked = torch.nn.functional.one_hot(rankings, present.shape[1])
    before = ranked.cumsum(2) - ranked
    return (before == 0) & present[:, None, None]


def ranking_log_likelihood(scores: Tensor, rankings: Tensor, on_offer: Tensor, counted: Tensor) -> Tensor:
    """F(y) of R-LTR (Zhu et al., SIGIR 2014): sum over ranks of the log probability of the document ranked there.

    Args:
        scores: [B, P, K, N], of each candidate given the documents ranked before.
        rankings: [B, P, K] int64.
        on_offer: [B, P, K, N] bool.
        counted: [B, P, K] bool, the ranks that count.

    Returns:
        [B, P].
    """
    return torch.where(counted, chosen_log_policy(log_policy(scores, on_offer), rankings), 0.0).sum(-1)


def margin_loss(good: Tensor, bad: Tensor, good_values: Tensor, bad_values: Tensor) -> Tensor:
    """PAMM's perceptron (Xu et al., TIST 2017): pairs whose likelihoods differ by less than their measures do.

    The gradient is that of F(y-) - F(y+), summed over pairs with F(y+) - F(y-) <= E(y+) - E(y-), and divided by the
    number of pairs.

    Args:
        good: [P], F of the good rankings of a topic.
        bad: [Q], F of bad ones.
        good_values: [P], E of good ones.
        bad_values: [Q].

    Returns:
        A scalar; 0 where there is no pair.
    """
    margin = good[:, None] - bad
    violated = margin.detach() <= good_values[:, None] - bad_values
    return -(margin * violated).sum() / max(1, margin.numel())
