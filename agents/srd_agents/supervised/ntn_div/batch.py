"""Topics and their rankings as padded tensors.

Shapes: B topics, P good and Q bad rankings, K ranks, N candidates, F vector width, D features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.supervised.samples import Samples

_CHUNK_VALUES = 1 << 22
"""Values of tanh held for one backward pass (16 MiB); larger batches go through in pieces."""


class Prepared(NamedTuple):
    """A topic with what is learned from it."""

    vectors: NDArray[np.float32]
    """[N, F]."""
    features: NDArray[np.float32]
    """[N, D]."""
    samples: Samples


class Batch(NamedTuple):
    """B topics as tensors; the P good rankings come first."""

    documents: Tensor
    """[B, N, F]."""
    features: Tensor
    """[B, N, D]."""
    present: Tensor
    """[B, N] bool, the real candidates."""
    rankings: Tensor
    """[B, P + Q, K] int64; padding is any candidate."""
    counted: Tensor
    """[B, P + Q, K] bool, ranks that count."""
    values: Tensor
    """[B, P + Q], the measure of each ranking."""
    real: Tensor
    """[B, P + Q] bool, rankings that are not padding."""
    n_good: int
    """P."""


def pieces(topics: Sequence[Prepared], slices: int) -> Iterator[Sequence[Prepared]]:
    """The topics in pieces that fit the memory of one backward pass; each has at least one."""
    most = max(len(t.vectors) * t.samples.rankings.size for t in topics)
    size = max(1, _CHUNK_VALUES // (most * slices))
    for start in range(0, len(topics), size):
        yield topics[start : start + size]


def padded(topics: Sequence[Prepared], like: Tensor) -> Batch:
    """Topics side by side, padded to the largest.

    Args:
        topics: at least one.
        like: whose device and dtype to take.
    """
    count, n = len(topics), max(len(topic.vectors) for topic in topics)
    good = max(topic.samples.n_good for topic in topics)
    lists = good + max(len(topic.samples.values) - topic.samples.n_good for topic in topics)
    depth = max(topic.samples.rankings.shape[1] for topic in topics)
    documents = np.zeros((count, n, topics[0].vectors.shape[1]), np.float32)
    features = np.zeros((count, n, topics[0].features.shape[1]), np.float32)
    present = np.zeros((count, n), np.bool_)
    rankings = np.zeros((count, lists, depth), np.int64)
    counted = np.zeros((count, lists, depth), np.bool_)
    values = np.zeros((count, lists), np.float32)
    real = np.zeros((count, lists), np.bool_)
    for row, (vectors, given, samples) in enumerate(topics):
        documents[row, : len(vectors)] = vectors
        features[row, : len(vectors)] = given
        present[row, : len(vectors)] = True
        rows = np.r_[: samples.n_good, good : good + len(samples.values) - samples.n_good]
        ranks = slice(0, samples.rankings.shape[1])
        rankings[row, rows, ranks], counted[row, rows, ranks] = samples.rankings, samples.counted
        values[row, rows], real[row, rows] = samples.values, True

    arrays = (documents, features, present, rankings, counted, values, real)
    return Batch._make([*(torch.from_numpy(array).to(like.device) for array in arrays), good])
