"""A node's row of edges: priors from logits, laid out so that the best untried edge is always the next one.

Shapes: E nodes, N candidates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from srd_agents.mcts.tree import MEAN, PRIOR, TRIED, Trees
from srd_gym.protocols import BoolArray, IntArray

Floats = NDArray[np.float32]

_LEAST = np.float32(1e-30)
"""Priors are at least this, so that a candidate on offer always comes before one that is not."""


def softmax(logits: Floats) -> Floats:
    """[E, N] probabilities; 0 where a logit is -inf. A row does not depend on padding behind it."""
    odds: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
    # Added one after the other: how numpy's sum pairs numbers up depends on how many there are.
    odds /= np.add.accumulate(odds, axis=1)[:, -1:]
    return odds


def write_edges(trees: Trees, blocks: IntArray, prior: Floats, on_offer: BoolArray, unvisited: Floats) -> None:
    """Fill rows of edges, all untried, by falling prior; what is not on offer comes last."""
    bits = np.where(on_offer, np.maximum(prior, _LEAST), np.float32(0)).view(np.uint32)
    # One number a candidate that sorts as wanted: the prior's bits turned over, then the index.
    keys = (~bits).astype(np.uint64) << np.uint64(32) | np.arange(prior.shape[1], dtype=np.uint64)
    keys.sort(axis=1)
    trees.document[blocks] = (keys & np.uint64(0xFFFF)).astype(np.int16)
    falling = (~(keys >> np.uint64(32)).astype(np.uint32)).view(np.float32)
    edges = np.empty((len(blocks), 3, prior.shape[1]), np.float32)
    edges[:, PRIOR], edges[:, TRIED] = falling, 1.0
    edges[:, MEAN] = np.where(falling > 0, unvisited[:, None], -np.inf)
    trees.edges[blocks] = edges
    trees.opened[blocks] = 0
