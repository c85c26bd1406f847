"""Monte Carlo tree search over rankings (M2Div) on a batch of trees: select, expand, evaluate, back up.

Functions without state of their own: everything they know lies in the arrays of `Trees`, which they write into. All
trees take one simulation at a time in lockstep. Arithmetic is elementwise over trees, so a tree comes out the same to
the last bit whatever is searched beside it.

Shapes: A trees that are searched, E leaves, N candidates, K ranks, D width of the network's state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from srd_agents.mcts.descent import back_up, select
from srd_agents.mcts.edges import Floats, softmax, write_edges
from srd_agents.mcts.tree import Trees
from srd_gym.protocols import BoolArray, IntArray, ScoreArray

Terminal = Callable[[IntArray, IntArray], ScoreArray]
"""(trees [E], rankings [E, K], -1 behind a list's end) -> [E] the measure of finished lists."""


class Evaluator(Protocol):
    """What a search asks of a network. Rows must not depend on each other, to the last bit."""

    @property
    def state_width(self) -> int:
        """D."""

    def initial(self, trees: IntArray) -> Floats:
        """[A, D], the state before the first rank."""

    def advance(self, trees: IntArray, states: Floats, documents: IntArray) -> Floats:
        """[E, D], the states after one more document each (documents: [E])."""

    def values(self, trees: IntArray, states: Floats) -> Floats:
        """[E], V."""

    def logits(self, trees: IntArray, states: Floats) -> Floats:
        """[E, N], those of the policy; the search masks what is not on offer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How trees are searched."""

    exploration: float = 3.0
    """Lambda of the selection rule."""
    unvisited: Literal["zero", "parent"] = "zero"
    """The value that stands for an untried edge: 0, as in the paper, or the V of the node it leaves."""
    leaves: int = 1
    """Leaves of a tree sought before they are evaluated together; above 1 with virtual loss."""


class Leaves:
    """Where one simulation of each tree ended."""

    __slots__ = ("node", "slot", "trees")

    def __init__(self, trees: IntArray, node: IntArray, slot: IntArray) -> None:
        self.trees = trees
        """[E]."""
        self.node = node
        """[E] the last node that was there already (or is, once `_open` has run, the new one)."""
        self.slot = slot
        """[E] which of its edges is tried for the first time; -1: the node is a finished list or has no edges yet."""


def plant(trees: Trees, which: IntArray, states: Floats, rankings: IntArray, evaluator: Evaluator) -> None:
    """Begin trees anew with a root that is evaluated but has no edges.

    Args:
        trees: written to.
        which: [A] which trees.
        states: [A, D] state of the network at the root.
        rankings: [A, K] documents ranked so far; -1 behind them.
        evaluator: gives the root's V.
    """
    roots = trees.set_root(which, rankings, (rankings >= 0).sum(1))
    values = evaluator.values(which, states)
    trees.state[roots], trees.value[roots] = states, values
    trees.visits[roots], trees.total[roots] = 1, values


def run(
    trees: Trees,
    which: IntArray,
    simulations: int,
    evaluator: Evaluator,
    search: Search,
    terminal: Terminal | None = None,
) -> None:
    """Search until each root has this many simulations, those inherited with a kept subtree included.

    Args:
        trees: planted; written to.
        which: [A] trees to search; none may be at its end.
        simulations: per tree.
        evaluator: the network.
        search: how.
        terminal: what finished lists are worth; None: V, as for any other node.
    """
    while True:
        missing = simulations + 1 - trees.visits[trees.root[which]].astype(np.int64)
        active = which[missing > 0]
        if not len(active):
            return
        step(trees, active, evaluator, search, terminal, missing=missing[missing > 0])


def step(
    trees: Trees,
    which: IntArray,
    evaluator: Evaluator,
    search: Search,
    terminal: Terminal | None = None,
    *,
    missing: IntArray | None = None,
    forced: IntArray | None = None,
) -> None:
    """One simulation of each tree (several with `search.leaves`), evaluated in one call.

    Args:
        trees: written to.
        which: [A].
        evaluator: the network.
        search: how.
        terminal: see `run`.
        missing: [A] simulations of each tree at most, at least 1; None: `search.leaves`.
        forced: [A] the root's edge to take instead of the best; the root must have edges, and no edge before it may be
            untried.
    """
    if search.leaves == 1:
        groups = [_found(trees, which, search, forced)]
    else:
        groups = _several(trees, which, search, missing, forced)
    together = groups[0] if len(groups) == 1 else _joined(groups)
    expand(trees, together.trees, together.node, evaluator, search, only=_unexpanded(trees, together))
    created = [_open(trees, group) for group in groups]
    nodes = created[0] if len(created) == 1 else np.concatenate(created)
    evaluate(trees, together.trees, nodes, evaluator, terminal)
    for new, group in zip(created, groups, strict=True):
        at = np.where(new >= 0, new, group.node)
        back_up(trees, at, trees.value[at].astype(np.float64), visits=int(search.leaves == 1))


def expand(
    trees: Trees,
    which: IntArray,
    nodes: IntArray,
    evaluator: Evaluator,
    search: Search,
    only: BoolArray | None = None,
) -> None:
    """Give nodes their rows of edges, by falling prior.

    Args:
        trees: written to.
        which: [E] the tree of each node.
        nodes: [E], all different; without edges and not at the end of a list.
        evaluator: gives the logits.
        search: says what untried edges are worth.
        only: [E] bool, the nodes to expand; None: all.

    Raises:
        FloatingPointError: logits that are not finite.
    """
    if only is not None:
        if not only.any():
            return
        which, nodes = which[only], nodes[only]
    width = trees.document.shape[1]
    # One column more, for the -1 behind a ranking's last document to write into.
    logits = np.empty((len(nodes), width + 1), np.float32)
    logits[:, :width] = evaluator.logits(which, trees.state[nodes])
    logits[np.arange(width + 1) >= trees.n_candidates[which, None]] = -np.inf
    np.put_along_axis(logits, trees.ranking[nodes].astype(np.int64), -np.inf, axis=1)
    logits = logits[:, :width]
    on_offer = logits > -np.inf
    prior = softmax(logits)
    if np.isnan(prior[:, 0]).any():  # one NaN makes a whole row of them
        raise FloatingPointError("the policy's logits are not finite: training diverged; lower the learning rate")
    blocks = which * trees.capacity + trees.n_blocks[which] + _turn(which)
    np.add.at(trees.n_blocks, which, 1)
    trees.block[nodes] = blocks
    unvisited = trees.value[nodes] if search.unvisited == "parent" else np.zeros(len(nodes), np.float32)
    write_edges(trees, blocks, prior, on_offer, unvisited)


def evaluate(trees: Trees, which: IntArray, nodes: IntArray, evaluator: Evaluator, terminal: Terminal | None) -> None:
    """Fill in state and value of new nodes.

    Args:
        trees: written to.
        which: [E] the tree of each node.
        nodes: [E]; -1: nothing to do there.
        evaluator: the network.
        terminal: what finished lists are worth; None: V.
    """
    new = nodes >= 0
    if not new.all():
        which, nodes = which[new], nodes[new]
    if not len(nodes):
        return
    before = trees.state[trees.parent[nodes]]
    last = np.take_along_axis(trees.ranking[nodes], trees.depth[nodes, None].astype(np.int64) - 1, axis=1)[:, 0]
    states = evaluator.advance(which, before, last.astype(np.int64))
    trees.state[nodes] = states
    trees.value[nodes] = evaluator.values(which, states)
    if terminal is None:
        return
    finished = np.flatnonzero(trees.depth[nodes] >= trees.length[which])
    if len(finished):
        lists = trees.ranking[nodes[finished]].astype(np.int64)
        trees.value[nodes[finished]] = terminal(which[finished], lists)


def _found(trees: Trees, which: IntArray, search: Search, forced: IntArray | None) -> Leaves:
    node, slot = select(trees, which, search.exploration, forced)
    return Leaves(which, node, slot)


def _several(
    trees: Trees, which: IntArray, search: Search, missing: IntArray | None, forced: IntArray | None
) -> list[Leaves]:
    """Leaves of several descents per tree; each counts at once as a visit that found 0 (virtual loss).

    A descent that ends where an earlier one waits is dropped: it does not count as a simulation.
    """
    groups = []
    for turn in range(search.leaves):
        if turn and missing is not None:
            keep = missing > turn
            which, missing = which[keep], missing[keep]
            forced = None if forced is None else forced[keep]
        if not len(which):
            break
        found = _found(trees, which, search, forced)
        free = (found.slot >= 0) | ~trees.waiting[found.node]
        leaves = Leaves(found.trees[free], found.node[free], found.slot[free])
        fresh = np.flatnonzero(leaves.slot >= 0)
        at = leaves.node.copy()
        if len(fresh):
            at[fresh] = _new_nodes(trees, leaves.trees[fresh], leaves.node[fresh], leaves.slot[fresh])
        trees.waiting[at] = True
        back_up(trees, at, np.zeros(len(at)))
        leaves.node = at
        groups.append(leaves)
    return groups


def _joined(groups: list[Leaves]) -> Leaves:
    return Leaves(*(np.concatenate([getattr(group, name) for group in groups]) for name in ("trees", "node", "slot")))


def _unexpanded(trees: Trees, leaves: Leaves) -> BoolArray:
    """[E] which leaves are to be expanded: the others are new edges or finished lists."""
    unfinished: BoolArray = (leaves.slot < 0) & (trees.depth[leaves.node] < trees.length[leaves.trees])
    return unfinished


def _open(trees: Trees, leaves: Leaves) -> IntArray:
    """The new nodes of some leaves, [E]; -1 where a finished list was reached again.

    A node that was just expanded has been seen once, so that the bonus is 0 everywhere: its first edge is the best.
    """
    out = np.full(len(leaves.node), -1, np.int64)
    held = trees.waiting[leaves.node]
    made = held & (leaves.slot >= 0)
    out[made] = leaves.node[made]
    trees.waiting[leaves.node[held]] = False
    fresh = np.flatnonzero(~made & (trees.block[leaves.node] >= 0))
    if len(fresh):
        slots = np.maximum(leaves.slot[fresh], 0)
        nodes = out[fresh] = _new_nodes(trees, leaves.trees[fresh], leaves.node[fresh], slots)
        trees.visits[nodes] += held[fresh]
    return out


def _new_nodes(trees: Trees, which: IntArray, parents: IntArray, slots: IntArray) -> IntArray:
    """Nodes at the ends of untried edges, [E], in different trees: no visits, no value yet."""
    nodes: IntArray = which * trees.capacity + trees.n_nodes[which]
    trees.n_nodes[which] += 1
    blocks, depth = trees.block[parents], trees.depth[parents].astype(np.int64)
    trees.child[blocks, slots] = nodes
    trees.opened[blocks] = slots + 1
    trees.parent[nodes], trees.slot[nodes], trees.depth[nodes] = parents, slots, depth + 1
    trees.visits[nodes], trees.total[nodes], trees.block[nodes] = 0, 0.0, -1
    trees.waiting[nodes] = False
    trees.ranking[nodes] = trees.ranking[parents]
    trees.ranking[nodes, depth] = trees.document[blocks, slots]
    return nodes


def _turn(which: IntArray) -> IntArray:
    """[E] how many entries of the same tree come before each."""
    if len(which) == 1 or (which[1:] > which[:-1]).all():
        return np.zeros(len(which), np.int64)
    order = np.argsort(which, kind="stable")
    ranked = which[order]
    out = np.empty(len(which), np.int64)
    out[order] = np.arange(len(which)) - np.searchsorted(ranked, ranked)
    return out
