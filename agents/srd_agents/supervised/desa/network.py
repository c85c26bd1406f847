"""The scorer of DESA, and its list-pairwise loss.

Shapes: B topics, N candidates and S subtopics (rows of padding included), F vector width, D features of a document,
R features of a document and a subtopic, W width of the attention, C contexts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from srd_agents.networks.attention import AttentionBlock, dense
from srd_agents.networks.features import FEATURES, ORDER_FEATURES
from srd_agents.networks.inputs import ShiftAndScale
from srd_agents.supervised.desa.config import DesaConfig
from srd_gym.dtypes import IntArray
from srd_gym.measures import BoundMeasure
from srd_gym.topic import GradeArray

NEARNESS = ("cosine", *ORDER_FEATURES)
"""R: the cosine of a document and a subtopic, and what the order by it says."""
_LEAST_WEIGHT = 1e-9
"""Least weight of a topic's pairs: divides 0 by something where there are none."""
_LEAST_SPREAD = 1e-3
"""Least deviation of a feature that is scaled; one that is the same everywhere stays as it is."""
_FIRST_OTHERS = 0.01
"""Factor of the initial weights in the score, but those of the features."""


class DesaInputs(NamedTuple):
    """Network inputs of B topics."""

    documents: Tensor
    """[B, N, F]."""
    present: Tensor
    """[B, N] bool, the real documents."""
    features: Tensor
    """[B, N, D]."""
    subtopics: Tensor
    """[B, S, F]; a row of zeros says nothing."""
    named: Tensor
    """[B, S] bool, the real subtopics, at least one a topic."""
    nearness: Tensor
    """[B, S, N, R]."""


class DesaNetwork(ShiftAndScale):
    """Scores of documents in the light of all documents and all subtopics.

    Self-attention encodes documents, and a stack of its own subtopics; every document then attends to the subtopics.
    A linear layer scores [features, encoding, attention to subtopics, its nearness to them]. There are no positions,
    and nearness is pooled over subtopics: by attention weights that the encodings of the subtopics give, and by the
    largest. Permuted documents therefore have permuted scores, and permuted subtopics the same ones.

    Args:
        width: F.
        config: the sizes.
    """

    feature_center: Tensor
    feature_spread: Tensor
    near_center: Tensor
    near_spread: Tensor

    def __init__(self, width: int, config: DesaConfig) -> None:
        super().__init__(width)
        hidden = config.width
        self.heads = config.heads

        def blocks() -> nn.ModuleList:
            return nn.ModuleList(
                AttentionBlock(hidden, config.heads, config.feed_forward) for _ in range(config.blocks)
            )

        self.from_document, self.from_subtopic = dense(width, hidden), dense(width, hidden)
        self.document_blocks, self.subtopic_blocks = blocks(), blocks()
        self.document_norm, self.subtopic_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.asks, self.offers, self.attended = dense(hidden, hidden), dense(hidden, 2 * hidden), dense(hidden, hidden)
        self.near, self.weight = dense(len(NEARNESS), 1), dense(hidden, 1)
        count = len(FEATURES) * config.features
        self.out = dense(count + 2 * hidden + 2, 1)
        for name, size in (("feature", count), ("near", len(NEARNESS))):
            self.register_buffer(f"{name}_center", torch.zeros(size))
            self.register_buffer(f"{name}_spread", torch.ones(size))

    @torch.no_grad()
    def start_by_relevance(self, features: NDArray[np.floating], nearness: NDArray[np.floating]) -> None:
        """Standardise the features, and let the first scores be their sum: a rough order of relevance.

        Encodings know directions of the vector space, which few training topics fit by heart; features carry over.

        Args:
            features: [M, D] of training documents.
            nearness: [P, R] of training documents and subtopics.
        """
        for values, center, spread in (
            (features, self.feature_center, self.feature_spread),
            (nearness, self.near_center, self.near_spread),
        ):
            center.copy_(torch.from_numpy(values.mean(axis=0)))
            deviation = values.std(axis=0)
            spread.copy_(torch.from_numpy(np.where(deviation > _LEAST_SPREAD, deviation, 1)))
        self.out.weight *= _FIRST_OTHERS
        self.out.weight[:, : features.shape[1]] = 1.0

    def forward(self, inputs: DesaInputs) -> Tensor:
        """Scores, [B, N]; those of padding are finite and mean nothing."""
        documents = self.from_document((inputs.documents - self.shift) / self.scale)
        told = (inputs.subtopics != 0).any(-1, keepdim=True)
        subtopics = self.from_subtopic((inputs.subtopics - self.shift) / self.scale * told)
        for block in self.document_blocks:
            documents = block(documents, inputs.present)
        for block in self.subtopic_blocks:
            subtopics = block(subtopics, inputs.named)
        documents, subtopics = self.document_norm(documents), self.subtopic_norm(subtopics)
        attended = self._attended(documents, subtopics, inputs.named)
        near = self.near((inputs.nearness - self.near_center) / self.near_spread)[..., 0]
        missing = ~inputs.named[..., None]
        weights = torch.softmax(self.weight(subtopics).masked_fill(missing, -math.inf), dim=1)
        pooled = (weights * near).sum(1)
        largest = near.masked_fill(missing, -math.inf).amax(1)
        features = (inputs.features - self.feature_center) / self.feature_spread
        parts = [features, documents, attended, pooled[..., None], largest[..., None]]
        scores: Tensor = self.out(torch.cat(parts, dim=-1))[..., 0]
        return scores

    def _attended(self, documents: Tensor, subtopics: Tensor, named: Tensor) -> Tensor:
        """Attention of each document to the subtopics: [B, N, W]."""

        def by_head(rows: Tensor) -> Tensor:
            return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)

        keys, values = self.offers(subtopics).chunk(2, dim=-1)
        taken = functional.scaled_dot_product_attention(
            by_head(self.asks(documents)),
            by_head(keys.contiguous()),
            by_head(values.contiguous()),
            attn_mask=named[:, None, None, :],
        )
        rows: Tensor = self.attended(taken.transpose(1, 2).flatten(2))
        return rows


def context_gains(bound: BoundMeasure, judgments: GradeArray, ideal: IntArray) -> NDArray[np.float64]:
    """Gain of each candidate after each beginning of the ideal ranking, of 0 to C - 1 documents: [C, N].

    Args:
        bound: the measure, for this topic alone and at least C ranks.
        judgments: [N, S].
        ideal: [C] candidates, the greedy ideal ranking.

    Returns:
        float64, NaN for the candidates in the beginning.
    """
    covers = bound.covers(judgments)
    count = len(ideal)
    coverage = np.zeros((count, covers.shape[1]), np.int64)
    np.cumsum(covers[ideal[:-1]], axis=0, out=coverage[1:])
    gains = bound.candidate_gains(np.broadcast_to(covers, (count, *covers.shape)), coverage, np.arange(count), 0)
    places = np.full(len(covers), count)
    places[ideal] = np.arange(count)
    gains[np.arange(count)[:, None] > places] = np.nan
    return gains


def pair_weights(gains: NDArray[np.float64]) -> NDArray[np.float32]:
    """Weight of scoring candidate a above b: [N (a), N (b)] float32.

    After each beginning C, a pair of candidates that are not in C weighs what a adds to the measure more than b:
    alpha_DCG(C + [a]) - alpha_DCG(C + [b]), where that is positive. Scores do not see C, so that the weights of all
    beginnings add up.

    Args:
        gains: [C, N], as `context_gains` gives them.
    """
    more = gains[:, :, None] - gains[:, None, :]
    weights: NDArray[np.float32] = np.where(more > 0, more, 0).sum(axis=0).astype(np.float32)
    return weights


def list_pairwise_loss(scores: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean of -log sigma(f_a - f_b) over the pairs of each topic, and the mean of that over topics.

    The loss of DSSA (Jiang et al., SIGIR 2017), which DESA takes over, with the weights of a topic's pairs scaled to
    sum to 1.

    Args:
        scores: [B, N], f.
        weights: [B, N (a), N (b)], not negative, 0 for padding; a topic without a positive one has loss 0.
    """
    losses = functional.softplus(scores[:, None, :] - scores[:, :, None]) * weights
    return (losses.sum((1, 2)) / weights.sum((1, 2)).clamp(min=_LEAST_WEIGHT)).mean()
