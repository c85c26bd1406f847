"""Monte Carlo tree search over rankings (M2Div) on a batch of trees: simulate, expand, evaluate, backward.

`step` takes every tree through one simulation: `simulate` goes down to an edge that was never tried, `expand` puts a
node there, `evaluate` asks the network what it is worth, and `backward` carries that to the root. All trees go in
lockstep. The functions hold no state: everything they know is in the arrays of `Trees`, which they write into.
Arithmetic is elementwise over trees, so a tree comes out the same to the last bit whatever is searched beside it;
`one_tree` does the same sums for one tree alone, 3.5 times as fast.

Shapes: A trees that are searched, E leaves, N candidates, K ranks, D width of the network's state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from srd_agents.mcts.config import MctsConfig
from srd_agents.mcts.tree import MEAN, PRIOR, TRIED, Trees
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import FloatArray

Terminal = Callable[[IntArray, IntArray], ScoreArray]
"""(trees [E], rankings [E, K], -1 behind a list's end) -> [E] the measure of finished lists."""


class Evaluator(Protocol):
    """Interface of a network to a search. Rows must not depend on each other, bit for bit."""

    def initial(self, trees: IntArray) -> FloatArray:
        """[A, D], the state before the first rank."""

    def advance(self, trees: IntArray, states: FloatArray, documents: IntArray) -> FloatArray:
        """[E, D], the states after one more document each (documents: [E])."""

    def values(self, trees: IntArray, states: FloatArray) -> FloatArray:
        """[E], V."""

    def logits(self, trees: IntArray, states: FloatArray) -> FloatArray:
        """[E, N], those of the policy; the search masks the others."""


@dataclass(frozen=True, slots=True)
class Search:
    """State of a search that its functions share."""

    trees: Trees
    """Written to."""
    evaluator: Evaluator
    """The network."""
    config: MctsConfig
    """Options of the search."""
    terminal: Terminal | None = None
    """Value of finished lists; None: V, as for any other node."""


def instantiate(search: Search, which: IntArray, states: FloatArray, rankings: IntArray) -> None:
    """Begin trees anew with a root that is evaluated but has no edges.

    Args:
        search: its trees are written to.
        which: [A] which trees.
        states: [A, D] state of the network at the root.
        rankings: [A, K] documents ranked so far; -1 behind them.
    """
    trees = search.trees
    roots = trees.set_root(which, rankings, (rankings >= 0).sum(1))
    values = search.evaluator.values(which, states)
    trees.state[roots], trees.value[roots] = states, values
    trees.visits[roots], trees.total[roots] = 1, values


def run(search: Search, which: IntArray, simulations: int) -> None:
    """Search until each root has this many simulations, those inherited with a kept subtree included.

    Args:
        search: its trees are instantiated; they are written to.
        which: [A] trees to search; none may be at its end.
        simulations: per tree.
    """
    trees = search.trees
    while True:
        missing = simulations + 1 - trees.visits[trees.root[which]].astype(np.int64)
        if not (missing > 0).any():
            return
        step(search, which[missing > 0])


def step(search: Search, which: IntArray, forced: IntArray | None = None) -> None:
    """One simulation of each tree, evaluated in one call.

    Args:
        search: its trees are written to.
        which: [A].
        forced: [A] the root's edge to take instead of the best; the root must have edges, and no edge before it may be
            untried.
    """
    nodes = expand(search, which, *simulate(search.trees, which, search.config.c_puct, forced))
    backward(search.trees, nodes, search.trees.value[nodes].astype(np.float64))


def simulate(
    trees: Trees, which: IntArray, exploration: float, forced: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """From the roots by argmax Q + lambda p sqrt(N_parent - 1) / (1 + N).

    Ties go to the larger prior, then to the first candidate, whose order the caller has drawn.

    Args:
        trees: read.
        which: [A].
        exploration: lambda.
        forced: [A] the root's edge to take, or None.

    Returns:
        (nodes [A], actions [A]): the untried edge found and its node; action -1 where the descent ended in a node
        without edges, which is a finished list or is to be expanded.
    """
    node, action = trees.root[which], np.full(len(which), -1, np.int64)
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
        action[active[new]] = best[new]
        old = ~new
        active = active[old]
        child = trees.child[block[old], best[old]].astype(np.int64)
        node[active] = child
        block = trees.block[child]
        has = block >= 0
        active, block = active[has], block[has]
    return node, action


def expand(search: Search, which: IntArray, nodes: IntArray, actions: IntArray) -> IntArray:
    """Put a node, evaluated, where each simulation ended; one seen for the second time gets its row of edges first.

    A node that was just given edges has been seen once, so that the bonus is 0 everywhere: its first edge is the best.

    Args:
        search: its trees are written to.
        which: [A] trees.
        nodes: [A] as `simulate` gives them.
        actions: [A] likewise.

    Returns:
        [A] the new nodes; the old one where a finished list was reached again.
    """
    trees = search.trees
    # The others are new edges or finished lists.
    bare = (actions < 0) & (trees.depth[nodes] < trees.length[which])
    if bare.any():
        add_edges(search, which[bare], nodes[bare])
    fresh = np.flatnonzero(trees.block[nodes] >= 0)
    if len(fresh):
        nodes[fresh] = trees.add_nodes(which[fresh], nodes[fresh], np.maximum(actions[fresh], 0))
        evaluate(search, which[fresh], nodes[fresh])
    return nodes


def add_edges(search: Search, which: IntArray, nodes: IntArray) -> None:
    """Give nodes their rows of edges, by falling prior.

    Args:
        search: its trees are written to.
        which: [E] the tree of each node, all different.
        nodes: [E], without edges and not at the end of a list.

    Raises:
        FloatingPointError: logits that are not finite.
    """
    trees = search.trees
    width = trees.document.shape[1]
    # One column more, for the -1 behind a ranking's last document to write into.
    logits = np.empty((len(nodes), width + 1), np.float32)
    logits[:, :width] = search.evaluator.logits(which, trees.state[nodes])
    logits[np.arange(width + 1) >= trees.n_candidates[which, None]] = -np.inf
    logits[np.arange(len(nodes))[:, None], trees.ranking[nodes]] = -np.inf
    logits = logits[:, :width]
    on_offer = logits > -np.inf
    prior = softmax(logits)
    if np.isnan(prior[:, 0]).any():  # one NaN makes a whole row of them
        raise FloatingPointError("the policy's logits are not finite: training diverged; lower the learning rate")
    trees.add_edges(which, nodes, prior, on_offer)


def softmax(logits: FloatArray) -> FloatArray:
    """[E, N] probabilities; 0 where a logit is -inf. A row does not depend on padding behind it."""
    odds: FloatArray = np.exp(logits - logits.max(axis=1, keepdims=True))
    # Added one after the other: how numpy's sum pairs numbers up depends on how many there are.
    odds /= np.add.accumulate(odds, axis=1)[:, -1:]
    return odds


def evaluate(search: Search, which: IntArray, nodes: IntArray) -> None:
    """Fill in state and value of new nodes.

    Args:
        search: its trees are written to.
        which: [E] the tree of each node.
        nodes: [E].
    """
    trees, evaluator, terminal = search.trees, search.evaluator, search.terminal
    before = trees.state[trees.parent[nodes]]
    last = trees.ranking[nodes, trees.depth[nodes] - 1]
    states = evaluator.advance(which, before, last.astype(np.int64))
    trees.state[nodes] = states
    trees.value[nodes] = evaluator.values(which, states)
    if terminal is None:
        return
    finished = np.flatnonzero(trees.depth[nodes] >= trees.length[which])
    if len(finished):
        lists = trees.ranking[nodes[finished]].astype(np.int64)
        trees.value[nodes[finished]] = terminal(which[finished], lists)


def backward(trees: Trees, nodes: IntArray, values: ScoreArray) -> None:
    """Carry values to the roots: every node on the way becomes the mean of what came through it.

    Args:
        trees: written to.
        nodes: [E], of different trees.
        values: [E] float64.
    """
    while len(nodes):
        count = trees.visits[nodes] + 1
        total = trees.total[nodes] + values
        trees.visits[nodes], trees.total[nodes] = count, total
        parent = trees.parent[nodes]
        inner = parent >= 0
        if not inner.all():
            nodes, parent, values = nodes[inner], parent[inner], values[inner]
            count, total = count[inner], total[inner]
        block, action = trees.block[parent], trees.action[nodes]
        trees.edges[block, TRIED, action] = 1 + count
        trees.edges[block, MEAN, action] = total / count
        nodes = parent
