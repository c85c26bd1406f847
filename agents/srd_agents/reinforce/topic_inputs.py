"""Topics as the policy of `reinforce` sees them: relations and vectors, side by side.

Shapes: B topics, N candidates, F vector width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from srd_agents.heuristic.greedy import in_blocks
from srd_agents.networks.features import query_vectors, side_by_side
from srd_agents.networks.inputs import Inputs, shared_tensor
from srd_agents.relational.ranker import relations_of
from srd_agents.relational.relations import ANCHORS, STATIC, Array, Relations
from srd_agents.training.many import mapped
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.topic import Topic

KEPT = 2**29
"""Bytes of relations that are kept for the next time; those of further topics are computed whenever asked for."""


class PolicyInputs(NamedTuple):
    """B topics as the policy sees them, padded to the largest."""

    relations: Relations
    documents: Array
    """[B, N, F]; rows of padding are 0."""
    queries: Array
    """[B, F]; zeros where a topic has no query vector."""
    present: BoolArray
    """[B, N], the real candidates."""

    def of_directions(self) -> Inputs:
        """Inputs of the embedding features, as arrays."""
        present = None if self.present.all() else self.present.astype(self.documents.dtype)
        arrays: Any = (self.queries, self.documents, present, self.relations.static)
        return Inputs(*arrays)


def inputs_together(topics: Sequence[Topic]) -> PolicyInputs:
    """Topics of equal size and width.

    Raises:
        ValueError: a topic without document vectors.
    """
    documents = np.stack([topic.require_vectors("a learned ranker") for topic in topics])
    queries = query_vectors(topics, documents.shape[2])
    return PolicyInputs(relations_of(topics), documents, queries, np.ones(documents.shape[:2], np.bool_))


class TensorsOfSet:
    """A topic set as the policy sees it, as tensors on a device: all of it, padded, where there is room.

    Args:
        inputs: the set.
        device: where.
    """

    def __init__(self, inputs: InputsOfSet, device: str) -> None:
        self._inputs, self._device = inputs, torch.device(device)
        self._all: PolicyInputs | None = None
        if inputs.padded_bytes <= KEPT:
            self._all = self._moved(inputs.of(np.arange(len(inputs.n_candidates))))

    def of(self, batch: IntArray) -> PolicyInputs:
        """Some topics, padded to the largest of them; the arrays are tensors."""
        if self._all is None:
            return self._moved(self._inputs.of(batch))
        most, n = int(self._inputs.n_candidates[batch].max()), int(self._inputs.n_candidates.max())
        chosen = torch.from_numpy(batch).to(self._device, non_blocking=True)
        taken = mapped(self._all, lambda part: (part[:, :most] if part.shape[1:2] == (n,) else part)[chosen])
        return PolicyInputs(*taken)

    def _moved(self, inputs: PolicyInputs) -> PolicyInputs:
        moved = mapped(inputs, lambda part: shared_tensor(part).to(self._device, non_blocking=True))
        return PolicyInputs(*moved)


class InputsOfSet:
    """A topic set as the policy sees it: each topic's relations are taken alone, so that padding changes nothing.

    Args:
        topics: with document vectors.
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        self._topics = list(topics)
        self._width: int = topics[0].require_vectors("a learned ranker").shape[1]
        self._queries = query_vectors(topics, self._width)
        self.n_candidates = np.array([topic.n_candidates for topic in topics])
        self._anchors = min(int(self.n_candidates.max()), ANCHORS)
        self._kept: dict[int, list[Array]] = {}
        self._room = KEPT

    @property
    def padded_bytes(self) -> int:
        """Bytes of the whole set, padded to its largest topic."""
        columns = 2 * self._width + len(STATIC) + 2 * self._anchors
        return 4 * columns * len(self.n_candidates) * int(self.n_candidates.max())

    def by_size(self, batch: IntArray, count: int) -> list[IntArray]:
        """The topics of a batch in parts of at most `count`, small topics with small ones."""
        rising = batch[np.argsort(self.n_candidates[batch], kind="stable")]
        return [rising[start : start + count] for start in range(0, len(batch), count)]

    def of(self, batch: IntArray) -> PolicyInputs:
        """Some topics, padded to the largest of them."""
        found = Relations(*[side_by_side(parts) for parts in zip(*self._of_each(batch), strict=True)])
        # Padding of ramps goes by the whole set, so that products with them do not depend on the batch.
        more = self._anchors - found.ramps.shape[3]
        if more:
            found = found._replace(ramps=np.pad(found.ramps, [(0, 0), (0, 0), (0, 0), (0, more)]))
        documents = side_by_side([self._topics[index].require_vectors("a learned ranker") for index in batch])
        present = np.arange(documents.shape[1]) < self.n_candidates[batch][:, None]
        return PolicyInputs(found, documents, self._queries[batch], present)

    def _of_each(self, batch: IntArray) -> list[list[Array]]:
        """The relations of each topic, without padding."""
        found, new = self._kept, [index for index in batch.tolist() if index not in self._kept]
        if new:
            computed = in_blocks(new, [(int(self.n_candidates[index]),) for index in new], 4096, self._computed)
            found = found | dict(zip(new, computed, strict=True))
        return [found[index] for index in batch.tolist()]

    def _computed(self, block: Sequence[int]) -> list[list[Array]]:
        """The relations of topics of one size; kept, where there is room."""
        relations = relations_of([self._topics[index] for index in block])
        rows = [[part[place] for part in relations] for place in range(len(block))]
        self._room -= sum(part.nbytes for part in relations)
        if self._room >= 0:
            self._kept |= dict(zip(block, rows, strict=True))
        return rows
