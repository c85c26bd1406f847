"""The policy in torch: what it predicts of documents, and its logits in the light of those ranked.

Shapes: B topics, N candidates (rows of padding included), F vector width, D features, S predicted subtopics, H width of
the part beside predictions, R rankings in progress of a topic.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from srd_agents.networks.attention import dense, initialise
from srd_agents.networks.inputs import ShiftAndScale
from srd_agents.networks.policy import gather_rows
from srd_agents.subtopics.features import FEATURES

_HIDDEN = 32
"""Units between features and relevance."""
_COVERAGE, _SHARPNESS = 0.8, 8.0
"""Initial share of coverage in a score, and the initial factor of scores as logits."""


class Seen(NamedTuple):
    """Inputs of B topics."""

    documents: Tensor
    """[B, N, F], rows of length 1."""
    query: Tensor
    """[B, F], of length 1, or zeros."""
    features: Tensor
    """[B, N, D]."""
    present: Tensor
    """[B, N] bool, the real documents."""


class Predicted(NamedTuple):
    """Predictions of B topics."""

    subtopics: Tensor
    """[B, N, S], logits of relevance to each subtopic, given that the document is relevant to one."""
    relevance: Tensor
    """[B, N], logits of relevance to any."""
    relevant: Tensor
    """[B, N], its probability."""
    covers: Tensor
    """[B, N, S], probabilities of relevance to each."""
    rows: Tensor | None
    """[B, N, H], encodings; None where there is no part beside predictions. So are the following."""
    keys: Tensor | None
    """[B, N, H]."""
    value: Tensor | None
    """[B, N]."""
    whole: Tensor | None
    """[B, 1, H], the mean encoding of the real documents."""


class Ranked(NamedTuple):
    """R rankings in progress of each of B topics."""

    uncovered: Tensor
    """[B, R, S], the share of each subtopic that the documents ranked leave uncovered."""
    rows: Tensor
    """[B, R, H], the sum of their encodings."""
    length: int
    """Documents ranked."""


class SubtopicNetwork(ShiftAndScale):
    """Scores as xQuAD's, (1 - a) P(relevant) + a sum_s P(s) * uncovered_s, with all of it predicted and learned.

    P(relevant) reads the features and the predicted subtopics of a document, P(s) is P(relevant) times a logistic
    regression on its vector. A document ranked leaves 1 - u P(s) of what was uncovered of s. Beside it, where there is
    a part of H units, the product of each document's key with what the documents ranked ask for; it begins at 0.

    Args:
        width: F.
        subtopics: S.
        hidden_size: H; 0: no part beside predictions.
    """

    center: Tensor
    spread: Tensor

    def __init__(self, width: int, subtopics: int, hidden_size: int) -> None:
        super().__init__(width)
        self.hidden_size = hidden_size
        self.subtopics = dense(width, subtopics) if subtopics else None
        self.relevance = nn.Sequential(
            dense(len(FEATURES) + subtopics + bool(subtopics), _HIDDEN), nn.ReLU(), dense(_HIDDEN, 1)
        )
        self.coverage = nn.Parameter(torch.tensor(math.log(_COVERAGE / (1 - _COVERAGE))))
        self.fading = nn.Parameter(torch.tensor(0.0))
        self.sharpness = nn.Parameter(torch.tensor(math.log(_SHARPNESS)))
        self.register_buffer("center", torch.zeros(len(FEATURES)))
        self.register_buffer("spread", torch.ones(len(FEATURES)))
        if hidden_size:
            self.from_document, self.from_difference = dense(width, hidden_size), dense(width, hidden_size)
            self.from_features, self.key = dense(len(FEATURES), hidden_size), dense(hidden_size, hidden_size)
            self.asked = dense(hidden_size, hidden_size)
            self.ask = nn.Sequential(dense(2 * hidden_size + subtopics, hidden_size), nn.ReLU(), self.asked)
            self.value = dense(hidden_size, 1)
            self.correction = dense(hidden_size, subtopics) if subtopics else None

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights; what corrects predictions and scores begins at 0."""
        initialise(self, generator)
        if self.hidden_size:
            for layer in (self.value, self.correction, self.asked):
                if layer is not None:
                    layer.weight.zero_()

    def predict(self, seen: Seen) -> Predicted:
        """Predictions of the documents, for each by itself and in its list."""
        subtopics = seen.documents[..., :0]
        if self.subtopics is not None:
            subtopics = self.subtopics((seen.documents - self.shift) / self.scale)
        features = (seen.features - self.center) / self.spread
        rows = keys = value = whole = None
        if self.hidden_size:
            difference = seen.documents - seen.query[:, None]
            mixed = self.from_document(seen.documents) + self.from_difference(difference) + self.from_features(features)
            rows = torch.relu(mixed)
            if self.correction is not None:
                subtopics = subtopics + self.correction(rows)
            keys, value = self.key(rows), self.value(rows)[..., 0]
            shares = seen.present / seen.present.sum(1, keepdim=True)
            whole = torch.einsum("bnh,bn->bh", rows, shares)[:, None]
        each = subtopics.sigmoid()
        read = [features, each, each.amax(2, keepdim=True)] if each.shape[2] else [features]
        relevance = self.relevance(torch.cat(read, dim=2))[..., 0]
        relevant = relevance.sigmoid()
        return Predicted(subtopics, relevance, relevant, relevant[..., None] * each, rows, keys, value, whole)

    def begin(self, predicted: Predicted, rollouts: int) -> Ranked:
        """Empty rankings."""
        count, _, subtopics = predicted.covers.shape
        like = predicted.covers
        return Ranked(like.new_ones(count, rollouts, subtopics), like.new_zeros(count, rollouts, self.hidden_size), 0)

    def logits(self, predicted: Predicted, ranked: Ranked) -> Tensor:
        """[B, R, N] of every document as the next one; those of documents ranked and of padding mean nothing."""
        share = self.coverage.sigmoid() if predicted.covers.shape[2] else 0.0
        worth = (1 - share) * predicted.relevant[:, None] + share * torch.einsum(
            "bns,brs->brn", predicted.covers, ranked.uncovered
        )
        logits = worth * self.sharpness.exp()
        if predicted.keys is None or predicted.value is None or predicted.whole is None:
            return logits
        whole = predicted.whole.expand_as(ranked.rows)
        asked = self.ask(torch.cat([ranked.rows / max(1, ranked.length), whole, ranked.uncovered], dim=2))
        logits = logits + torch.einsum("bnh,brh->brn", predicted.keys, asked) / math.sqrt(self.hidden_size)
        return logits + predicted.value[:, None]

    def add(self, predicted: Predicted, ranked: Ranked, documents: Tensor) -> Ranked:
        """The rankings with one more document each, [B, R] int64."""
        covered = gather_rows(predicted.covers, documents)
        uncovered = ranked.uncovered * (1 - self.fading.sigmoid() * covered)
        rows = ranked.rows if predicted.rows is None else ranked.rows + gather_rows(predicted.rows, documents)
        return Ranked(uncovered, rows, ranked.length + 1)
