"""The scorer of DALETOR and MO4SRD, and diversity measures as smooth functions of its scores.

The scorer is self-attention over all candidates, equivariant under permutations. Both losses replace "document j is
ranked before i", 0 or 1, by a number in between. Ranks and coverage are sums of it, and the measure of these is
differentiable.

Shapes: B topics, N candidates (rows of padding included), S subtopics, F vector width, D features, W width of the
attention, O outputs of each document.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from srd_agents.networks.attention import AttentionBlock, dense
from srd_agents.networks.features import FEATURES
from srd_agents.supervised.attention_config import AttentionConfig


class SmoothNetwork(nn.Module):
    """Rows of query, document, their product and features; blocks of self-attention; numbers for each document.

    Args:
        width: F.
        config: the sizes of the attention, and whether there are features.
        outputs: O.
    """

    def __init__(self, width: int, config: AttentionConfig, outputs: int) -> None:
        super().__init__()
        hidden = config.width
        # One layer on [q, d_i, q * d_i, features] in parts: nothing is concatenated.
        self.from_query = dense(width, hidden, bias=False)
        self.from_document = dense(width, hidden)
        self.from_product = dense(width, hidden, bias=False)
        self.from_features = dense(len(FEATURES), hidden, bias=False) if config.features else None
        self.blocks = nn.ModuleList(AttentionBlock(hidden, config.heads, 2 * hidden) for _ in range(config.blocks))
        self.norm = nn.LayerNorm(hidden)
        self.out = dense(hidden, outputs)

    def forward(
        self, queries: Tensor, documents: Tensor, features: Tensor, present: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The outputs of each document, and the rows that they are made of.

        Args:
            queries: [B, F].
            documents: [B, N, F].
            features: [B, N, D].
            present: [B, N] bool, the real documents; None: all are.

        Returns:
            ([B, N, O], [B, N, W]); rows of padding are finite and mean nothing.
        """
        rows: Tensor = self.from_document(documents) + self.from_query(queries)[:, None]
        rows = rows + self.from_product(queries[:, None] * documents)
        if self.from_features is not None:
            rows = rows + self.from_features(features)
        for block in self.blocks:
            rows = block(rows, present)
        rows = self.norm(rows)
        return self.out(rows), rows


_LEAST_VARIANCE = 1e-12
"""Below it the difference of two scores counts as certain."""


def before_by_sigmoid(scores: Tensor, temperature: float) -> Tensor:
    """DALETOR's indicator (Yan et al., WWW 2021): sigma((s_j - s_i) / T), that j is ranked before i.

    The paper counts a document's indicator with itself, one half, in rank and coverage, and takes one half off again;
    here it is left out.

    Args:
        scores: [B, N].
        temperature: T, above 0.

    Returns:
        [B, N (i), N (j)], 0 on the diagonal.
    """
    return _without_self(torch.sigmoid((scores[:, None, :] - scores[:, :, None]) / temperature))


def before_by_gaussians(means: Tensor, deviations: Tensor, correlation: Tensor | None = None) -> Tensor:
    """MO4SRD's probability (Yu, AAAI 2022) that j's score is above i's, both Gaussian.

    P(s_j > s_i) = erfc((m_i - m_j) / sqrt(2 (v_i + v_j - 2 rho_ij sd_i sd_j))) / 2.

    Differs from the public code, which leaves the factor 2 of the covariance out.

    Args:
        means: [B, N], m.
        deviations: [B, N], sd, not negative.
        correlation: [B, N, N], rho from -1 to 1; None: scores are independent.

    Returns:
        [B, N (i), N (j)], 0 on the diagonal.
    """
    variance = deviations.square()[:, :, None] + deviations.square()[:, None, :]
    if correlation is not None:
        variance = variance - 2 * correlation * deviations[:, :, None] * deviations[:, None, :]
    apart = (means[:, :, None] - means[:, None, :]) / (2 * variance.clamp(min=_LEAST_VARIANCE)).sqrt()
    return _without_self(torch.erfc(apart) / 2)


def smooth_measure(
    before: Tensor, judgments: Tensor, alpha: float, measure: str, present: Tensor | None = None
) -> Tensor:
    """alpha_DCG, or ERR_IA (as its plain sum), of the whole list by expected ranks and coverage.

    sum_i discount(rank_i) sum_s J_is (1 - alpha)^c_is, with rank_i = 1 + sum_j before_ij and
    c_is = sum_j before_ij J_js; discount(r) = 1 / log2(1 + r) for alpha_DCG, 1 / r for ERR_IA. Where `before` holds 0
    and 1, this is the measure.

    Args:
        before: [B, N (i), N (j)], 0 on the diagonal.
        judgments: [B, N, S], 0 or 1; 0 for padding.
        alpha: from 0 to below 1.
        measure: "alpha_DCG" or "ERR_IA".
        present: [B, N] bool, the real documents; None: all are.

    Returns:
        [B].
    """
    if present is not None:
        before = before * present[:, None, :]
    ranks = 1 + before.sum(2)
    discount = 1 / ranks if measure == "ERR_IA" else 1 / torch.log2(1 + ranks)
    novelty = torch.exp(math.log(1 - alpha) * (before @ judgments))
    return ((judgments * novelty).sum(2) * discount).sum(1)


def _without_self(before: Tensor) -> Tensor:
    """No document comes before itself."""
    return before * (1 - torch.eye(before.shape[-1], dtype=before.dtype, device=before.device))
