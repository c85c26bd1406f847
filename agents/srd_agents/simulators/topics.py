"""A topic set as tensors, padded to the largest topic, which simulators and policies index by topic.

Shapes: T topics, B episodes, N candidates, S subtopics, C subtopics of a document at most, F vector width.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srd_agents.networks.inputs import shared_tensor
from srd_gym.core import TopicArrays
from srd_gym.core.arrays import Topics
from srd_gym.dtypes import BoolArray


class NoTensorFormError(TypeError):
    """A reward or a strategy that only the simulators in numpy have."""


class Covered(NamedTuple):
    """Subtopics that documents cover, as lists: document n of topic t is row t * N + n; the last row covers nothing."""

    subtopics: Tensor
    """[T * N + 1, C] int64 in rising order, then S."""
    counts: Tensor
    """[T * N + 1, C] int32, 1 for a subtopic and 0 behind them."""
    known: NDArray[np.int64]
    """`subtopics` as the host knows them: nothing is copied back from the device."""

    def add(self, coverage: Tensor, documents: Tensor) -> tuple[Tensor, Tensor]:
        """Coverage [B, C] of the subtopics of documents before them, and all coverage [B, S + 1] after them.

        Args:
            coverage: [B, S + 1] int32; the last column is always 0.
            documents: [B] int64 rows.
        """
        subtopics = self.subtopics[documents]
        before = coverage.gather(1, subtopics)
        return before, coverage.scatter(1, subtopics, before + self.counts[documents])


class TopicTensors:
    """`TopicArrays` on a device; what only policies read is copied there when it is first asked for.

    Args:
        topics: a topic set, topics in a list, or their arrays.
        device: as torch names it.

    Raises:
        ValueError: an empty set.
    """

    def __init__(self, topics: Topics, device: str | torch.device = "cpu") -> None:
        self.arrays = TopicArrays.of(topics)
        self.device = torch.device(device)
        self.max_candidates, self.max_subtopics = self.arrays.max_candidates, self.arrays.max_subtopics
        self.n_candidates = self._on_device(self.arrays.n_candidates)
        """[T] int64."""
        self.present = self._on_device(self.arrays.present)
        """[T, N] bool, the real candidates."""
        self.labelled = self._on_device(self.arrays.labelled)
        """[T] bool."""
        self._covered: dict[int, Covered] = {}

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        return f"TopicTensors({self.arrays.topics!r}, device={str(self.device)!r})"

    @cached_property
    def judgments(self) -> Tensor:
        """[T, N, S] int8."""
        return self._on_device(self.arrays.judgments)

    @cached_property
    def documents(self) -> Tensor:
        """[T, N, F] float32; rows of padding are 0."""
        return self._on_device(self.arrays.documents)

    @cached_property
    def queries(self) -> Tensor:
        """[T, F] float32; 0 where a topic has none."""
        return self._on_device(self.arrays.queries)

    @cached_property
    def retrieval_scores(self) -> Tensor:
        """[T, N] float32; 0 where there are none."""
        return self._on_device(self.arrays.retrieval_scores)

    def covered(self, rel: int) -> Covered:
        """Subtopics that documents cover, where the judgment is at least `rel`."""
        if rel not in self._covered:
            subtopics = _lists(self.arrays.covers(rel))
            lists = self._on_device(subtopics)
            self._covered[rel] = Covered(lists, (lists < self.max_subtopics).int(), subtopics)
        return self._covered[rel]

    def _on_device(self, array: NDArray[np.generic]) -> Tensor:
        """The array on the device; on the CPU its own memory."""
        return shared_tensor(array).to(self.device)


def _lists(covers: BoolArray) -> NDArray[np.int64]:
    """[T * N + 1, C], the subtopics of each document in rising order, then S, of covers [T, N, S]."""
    topics, n, width = covers.shape
    flat = covers.reshape(topics * n, width)
    most = max(1, int(flat.sum(axis=1).max(initial=0)))
    lists = np.full((topics * n + 1, most), width)
    document, subtopic = flat.nonzero()
    lists[document, np.arange(len(document)) - np.searchsorted(document, document)] = subtopic
    return lists
