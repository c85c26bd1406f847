"""Down and up the trees of a search: the paper's selection rule, and the means that come back.

Arithmetic is elementwise over trees; few trees are walked one by one, with the same sums on plain numbers.

Shapes: A trees that are searched, E leaves.
"""

from __future__ import annotations

import math

import numpy as np

from srd_agents.mcts.tree import MEAN, PRIOR, TRIED, Trees
from srd_gym.protocols import IntArray, ScoreArray

_FEW = 4
"""Up to as many trees are descended one by one: slices of single rows cost less than gathering."""


def select(
    trees: Trees, which: IntArray, exploration: float, forced: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Descend from the roots by argmax Q + lambda p sqrt(N_parent - 1) / (1 + N).

    Ties go to the larger prior, then to the first candidate, whose order the caller has drawn.

    Args:
        trees: read.
        which: [A].
        exploration: lambda.
        forced: [A] the root's edge to take, or None.

    Returns:
        (nodes [A], slots [A]): the untried edge found and its node; slot -1 where the descent ended in a node without
        edges, which is a finished list or is to be expanded.
    """
    if len(which) <= _FEW and forced is None:
        found = [_select_one(trees, int(root), exploration) for root in trees.root[which]]
        return np.array([node for node, _ in found], np.int64), np.array([slot for _, slot in found], np.int64)
    node, slot = trees.root[which], np.full(len(which), -1, np.int64)
    block = trees.block[node]
    active = np.flatnonzero(block >= 0)
    block = block[active]
    while len(active):
        opened = trees.opened[block]
        if forced is None:
            visits = trees.visits[node[active]]
            edges = trees.edges[block, :, : min(int(opened.max()) + 1, trees.document.shape[1])]
            bonus = (exploration * np.sqrt(visits - 1.0)).astype(np.float32)
            score = edges[:, PRIOR]
            score *= bonus[:, None]
            score /= edges[:, TRIED]
            score += edges[:, MEAN]
            best = score.argmax(axis=1)
        else:
            best, forced = forced[active], None
        new = best >= opened
        slot[active[new]] = best[new]
        old = ~new
        active = active[old]
        child = trees.child[block[old], best[old]].astype(np.int64)
        node[active] = child
        block = trees.block[child]
        has = block >= 0
        active, block = active[has], block[has]
    return node, slot


def _select_one(trees: Trees, node: int, exploration: float) -> tuple[int, int]:
    """`select` in one tree: the same sums on slices of single rows."""
    width = trees.document.shape[1]
    block = trees.block.item(node)
    while block >= 0:
        opened = trees.opened.item(block)
        edges = trees.edges[block, :, : min(opened + 1, width)]
        bonus = np.float32(exploration * math.sqrt(trees.visits.item(node) - 1.0))
        score = edges[PRIOR] * bonus
        score /= edges[TRIED]
        score += edges[MEAN]
        best = int(score.argmax())
        if best >= opened:
            return node, best
        node = trees.child.item(block, best)
        block = trees.block.item(node)
    return node, -1


def back_up(trees: Trees, nodes: IntArray, values: ScoreArray, visits: int = 1) -> None:
    """Carry values to the roots: every node on the way becomes the mean of what came through it.

    Args:
        trees: written to.
        nodes: [E], of different trees.
        values: [E] float64.
        visits: to count; 0 where virtual loss has counted them.
    """
    if len(nodes) <= _FEW:
        for node, value in zip(nodes.tolist(), values.tolist(), strict=True):
            _back_up_one(trees, node, value, visits)
        return
    while len(nodes):
        count = trees.visits[nodes] + visits
        total = trees.total[nodes] + values
        trees.visits[nodes], trees.total[nodes] = count, total
        parent = trees.parent[nodes]
        inner = parent >= 0
        if not inner.all():
            nodes, parent, values = nodes[inner], parent[inner], values[inner]
            count, total = count[inner], total[inner]
        block, slot = trees.block[parent], trees.slot[nodes]
        trees.edges[block, TRIED, slot] = 1 + count
        trees.edges[block, MEAN, slot] = total / count
        nodes = parent


def _back_up_one(trees: Trees, node: int, value: float, visits: int) -> None:
    """`back_up` in one tree: the same sums on plain numbers."""
    while True:
        count = trees.visits.item(node) + visits
        total = trees.total.item(node) + value
        trees.visits[node], trees.total[node] = count, total
        parent = trees.parent.item(node)
        if parent < 0:
            return
        block, slot = trees.block.item(parent), trees.slot.item(node)
        trees.edges[block, TRIED, slot] = 1 + count
        trees.edges[block, MEAN, slot] = total / count
        node = parent
