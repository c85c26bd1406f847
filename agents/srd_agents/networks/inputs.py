"""Inputs of networks, in shared memory, shifted, scaled and padded; and the choice that their logits stand for.

Shapes: T topics of a set, B topics of a batch, N candidates, F vector width.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from srd_agents.networks.features import order_features, query_vectors, side_by_side
from srd_gym.core import TopicArrays
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.topic import Topic, TopicSet

MASKED_LOGIT = -1e9
"""Logit of a masked candidate: its probability is exactly 0 and, unlike minus infinity, its
probability times its log-probability is 0 too, and not NaN."""
_WHO = "a learned ranker"


class Inputs(NamedTuple):
    """Inputs of a network for B topics."""

    queries: Tensor
    """[B, F]; a row of zeros where a topic has no query vector."""
    documents: Tensor
    """[B, N, F]; rows of padding may hold anything finite."""
    present: Tensor | None = None
    """[B, N] bool, the real documents; None: all are."""
    features: Tensor | None = None
    """[B, N, D], what the network reads beside the vectors (`srd_agents.networks.features`); None: nothing."""


class ShiftAndScale(nn.Module):
    """A fixed shift and scale of the vectors, part of the model: x becomes (x - shift) / scale.

    Args:
        width: F.
    """

    shift: Tensor
    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(width))
        self.register_buffer("scale", torch.ones(()))

    def fit(self, topics: TopicSet) -> None:
        """Take the mean and the overall deviation of these topics' documents."""
        shift, scale = mean_and_deviation(topics)
        self.shift.copy_(torch.from_numpy(shift))
        self.scale.fill_(scale)


class Standardizer(ShiftAndScale):
    """Shifts and scales vectors before a network sees them."""

    def forward(self, queries: Tensor, documents: Tensor) -> tuple[Tensor, Tensor]:
        """The shifted and scaled queries [B, F] and documents [B, N, F]; a query of zeros (none) stays as it is."""
        inverse, documents = 1.0 / self.scale, documents - self.shift
        queries = (queries - self.shift) * inverse * (queries != 0).any(1)[:, None]
        documents *= inverse
        return queries, documents


class InputTensors:
    """The vectors of a topic set as tensors on a device; on the CPU they share the topics' memory.

    Args:
        arrays: the topic set.
        like: whose device and dtype to take.
        order: whether the network reads the retrieval order (`srd_agents.networks.features.ORDER_FEATURES`).
    """

    def __init__(self, arrays: TopicArrays, like: Tensor, *, order: bool = False) -> None:
        self.n_candidates = arrays.n_candidates
        self._order: Tensor | None = None
        if order:
            columns = side_by_side([order_features(topic) for topic in arrays.topics])
            self._order = torch.from_numpy(columns).to(like.device, like.dtype)
        vectors = (shared_tensor(topic.require_vectors(_WHO)) for topic in arrays.topics)
        self._documents = [rows.to(like.device, like.dtype) for rows in vectors]
        self._queries = shared_tensor(arrays.queries).to(like.device, like.dtype)
        self.present = shared_tensor(arrays.present).to(like.device)
        """[T, N] bool, the real documents."""

    def batch(self, topics: IntArray) -> Inputs:
        """Inputs of a network for these topics ([B] int64), padded to the largest of them; a view of a single one."""
        counts = self.n_candidates[topics]
        most = int(counts.max())
        equal = int(counts.min()) == most
        rows = [self._documents[topic] for topic in topics.tolist()]
        if len(rows) == 1:
            documents = rows[0][None]
        else:
            documents = torch.stack(rows) if equal else nn.utils.rnn.pad_sequence(rows, batch_first=True)
        chosen = torch.from_numpy(topics).to(documents.device, non_blocking=True)
        return Inputs(
            self._queries[chosen],
            documents,
            None if equal else self.present[:, :most][chosen],
            None if self._order is None else self._order[:, :most][chosen],
        )


def inputs_of(
    topics: Sequence[Topic],
    like: Tensor,
    vectors: Sequence[NDArray[np.float32]] | None = None,
    features: Sequence[NDArray[np.float32]] | None = None,
) -> Inputs:
    """Inputs of a network for topics that have document vectors of one width, padded to the largest.

    Args:
        topics: at least one.
        like: whose device and dtype to take.
        vectors: the candidates of each in another order; None: as they are.
        features: of each, [N, D]; None: nothing.
    """
    vectors = [topic.require_vectors(_WHO) for topic in topics] if vectors is None else vectors
    documents = vectors[0][None] if len(vectors) == 1 else side_by_side(vectors)
    real = np.arange(documents.shape[1]) < np.array([[len(rows)] for rows in vectors])
    return Inputs(
        torch.from_numpy(query_vectors(topics, documents.shape[2])).to(like.device, like.dtype),
        shared_tensor(documents).to(like.device, like.dtype),
        None if real.all() else torch.from_numpy(real).to(like.device),
        None if features is None else torch.from_numpy(side_by_side(features)).to(like.device, like.dtype),
    )


def shared_tensor(array: AnyArray) -> Tensor:
    """A tensor on the array's own memory; never write to it where the array is read-only."""
    if array.flags.writeable:
        return torch.from_numpy(array)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)


def mean_and_deviation(topics: TopicSet) -> tuple[NDArray[np.float32], float]:
    """Mean vector of all candidates, and one deviation for all columns: the root of their mean variance.

    One deviation, not one a column: the geometry stays as it is, and rare columns are not blown up.

    Args:
        topics: with vectors of width F.

    Returns:
        ([F] float32, positive float; 1 where all vectors are the same).
    """
    count = sum(topic.n_candidates for topic in topics)
    sums = np.empty((len(topics), topics.require_vectors(_WHO)))
    for row, topic in zip(sums, topics, strict=True):
        topic.require_vectors(_WHO).sum(axis=0, dtype=np.float64, out=row)
    mean = sums.sum(axis=0) / count
    squares = sum(float(np.square(topic.require_vectors(_WHO) - mean).sum()) for topic in topics)
    deviation = float(np.sqrt(squares / (count * len(mean))))
    return mean.astype(np.float32), deviation if deviation > 0 else 1.0


def orthonormal(count: int, width: int, generator: torch.Generator) -> Tensor:
    """Random directions to start weights from: [count, width]; each `width` of them are orthonormal."""
    drawn = [torch.randn(width, width, generator=generator) for _ in range(0, count, width)]
    return torch.cat([torch.linalg.qr(block)[0].T for block in drawn])[:count]


def log_policy(logits: Tensor, allowed: Tensor) -> Tensor:
    """Log of the softmax over the allowed candidates.

    Args:
        logits: [..., N].
        allowed: [..., N] bool.

    Returns:
        [..., N]; about `MASKED_LOGIT` where not allowed.
    """
    return torch.log_softmax(logits.masked_fill(~allowed, MASKED_LOGIT), dim=-1)


def chosen_log_policy(log_probabilities: Tensor, actions: Tensor) -> Tensor:
    """Log pi of the documents ranked: [...] of [..., N] by [...] int64."""
    return log_probabilities.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
