"""A batch of search trees as arrays: no node objects, one row a node, one row of edges a node that has children.

A node is a ranking, and an action at it is a place in its row of edges. These are laid out by falling prior (ties by
candidate index: callers put candidates in a seeded order first), and since all untried edges of a node look alike but
for their priors, the tried ones are always the first few. So a descent reads only the tried edges and one more, and a
node gets its row of edges only when something passes through it a second time.

Memory: a node takes 36 + 2 K + 4 D bytes and a row of edges 18 N + 8, at most one of each per simulation. With 5,000
simulations, 210 candidates, 32 trees, K = 5 and D = 10 that is at most 3,874 bytes a simulation and 620 MB in all;
pages never written to are not taken from the system.

Shapes: B trees, M nodes a tree at most, N candidates, K ranks to fill, D width of a network's state. A node's number
counts through all trees: tree b owns b * M to (b + 1) * M - 1, for nodes and for rows of edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from srd_gym.dtypes import IntArray
from srd_gym.topic import FloatArray

MOST_CANDIDATES = 2**15 - 1
"""Candidates are stored as int16."""
PRIOR, TRIED, MEAN = 0, 1, 2
"""Rows of `Trees.edges`."""
_LEAST = np.float32(1e-30)
"""Priors are at least this, so that a masked candidate always comes last."""


class Trees:
    """Empty trees with room for a root and this many simulations each; the functions of `search` write into them.

    Args:
        n_candidates: [B], at least 1 each.
        horizon: K; a tree with fewer candidates ends with them.
        state_width: D.
        simulations: per tree; nodes kept from an earlier search count.

    Raises:
        ValueError: more candidates than int16 can number.
    """

    def __init__(self, n_candidates: IntArray, horizon: int, state_width: int, simulations: int) -> None:
        trees, width = len(n_candidates), int(n_candidates.max())
        self.capacity = simulations + 1
        """M."""
        nodes = trees * self.capacity
        if width > MOST_CANDIDATES:
            raise ValueError(
                f"trees hold at most {MOST_CANDIDATES} candidates per topic, got {width}; shorten the topics"
            )
        self.n_candidates = np.asarray(n_candidates, dtype=np.int64)
        """[B]."""
        self.length = np.minimum(horizon, self.n_candidates)
        """[B], ranks that a finished list of each tree has."""
        self.root = np.arange(trees, dtype=np.int64) * self.capacity
        """[B], number of the root node."""
        self.n_nodes = np.zeros(trees, np.int64)
        """[B], nodes in use."""
        self.n_blocks = np.zeros(trees, np.int64)
        """[B], rows of edges in use."""
        self.parent = np.empty(nodes, np.int64)
        """[B M]; -1 for a root."""
        self.action = np.empty(nodes, np.int16)
        """[B M], which of the parent's actions leads here: a place in its row of edges."""
        self.depth = np.empty(nodes, np.int16)
        """[B M], documents ranked."""
        self.visits = np.empty(nodes, np.int32)
        """[B M], simulations that came here, the node's own evaluation included."""
        self.total = np.empty(nodes, np.float64)
        """[B M], sum of what these simulations found."""
        self.value = np.empty(nodes, np.float32)
        """[B M], the node's own evaluation."""
        self.block = np.empty(nodes, np.int64)
        """[B M], its row of edges; -1: none yet."""
        self.ranking = np.empty((nodes, horizon), np.int16)
        """[B M, K], the documents ranked; -1 behind them."""
        self.state = np.empty((nodes, state_width), np.float32)
        """[B M, D], what the network remembers of them."""
        self.document = np.empty((nodes, width), np.int16)
        """[B M, N], the candidate that each edge ranks, by falling prior; what is ranked already and padding come
        last."""
        self.edges = np.empty((nodes, 3, width), np.float32)
        """[B M, 3, N]: prior; 1 + visits; mean value (0 of an untried edge, -inf of a masked one)."""
        self.child = np.empty((nodes, width), np.int32)
        """[B M, N], the node at the end of each edge that was tried."""
        self.opened = np.zeros(nodes, np.int64)
        """[B M], how many of the row's edges were tried."""

    def set_root(self, trees: IntArray, ranking: IntArray, depth: IntArray) -> IntArray:
        """Make these trees single unexpanded, unvisited nodes.

        Args:
            trees: [A].
            ranking: [A, K] documents ranked so far; -1 behind them.
            depth: [A], how many.

        Returns:
            [A] the roots' numbers; their state and value are the caller's to fill.
        """
        roots = trees * self.capacity
        self.root[trees] = roots
        self.n_nodes[trees], self.n_blocks[trees] = 1, 0
        self.parent[roots], self.action[roots], self.depth[roots] = -1, -1, depth
        self.visits[roots], self.total[roots], self.block[roots] = 0, 0.0, -1
        self.ranking[roots] = ranking
        return roots

    def add_nodes(self, trees: IntArray, parents: IntArray, actions: IntArray) -> IntArray:
        """Nodes at the ends of untried edges: no visits, no value yet.

        Args:
            trees: [E], all different.
            parents: [E], nodes with edges.
            actions: [E], the first untried one of each.

        Returns:
            [E] the nodes' numbers.
        """
        nodes: IntArray = trees * self.capacity + self.n_nodes[trees]
        self.n_nodes[trees] += 1
        blocks, depth = self.block[parents], self.depth[parents].astype(np.int64)
        self.child[blocks, actions] = nodes
        self.opened[blocks] = actions + 1
        self.parent[nodes], self.action[nodes], self.depth[nodes] = parents, actions, depth + 1
        self.visits[nodes], self.total[nodes], self.block[nodes] = 0, 0.0, -1
        self.ranking[nodes] = self.ranking[parents]
        self.ranking[nodes, depth] = self.document[blocks, actions]
        return nodes

    def add_edges(self, trees: IntArray, nodes: IntArray, prior: FloatArray, on_offer: NDArray[np.bool_]) -> None:
        """Rows of edges, all untried and worth 0, by falling prior; masked ones come last.

        Args:
            trees: [E] the tree of each node, all different.
            nodes: [E], without edges.
            prior: [E, N].
            on_offer: [E, N].
        """
        blocks = trees * self.capacity + self.n_blocks[trees]
        self.n_blocks[trees] += 1
        self.block[nodes] = blocks
        negative = np.where(on_offer, -np.maximum(prior, _LEAST), np.float32(0))
        order = negative.argsort(axis=1, kind="stable")
        self.document[blocks] = order
        falling = -negative[np.arange(len(order))[:, None], order]
        edges = np.empty((len(blocks), 3, prior.shape[1]), np.float32)
        edges[:, PRIOR], edges[:, TRIED] = falling, 1.0
        edges[:, MEAN] = np.where(falling > 0, 0.0, -np.inf)
        self.edges[blocks] = edges
        self.opened[blocks] = 0

    def root_edges(self, tree: int) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
        """The documents that the tried edges of one root, which has been searched, rank, and the visits of each."""
        block = self.block[self.root[tree]]
        tried = int(self.opened[block])
        return self.document[block, :tried], self.visits[self.child[block, :tried]]

    def keep_subtree(self, tree: int, document: int) -> bool:
        """Make the root's child that ranks this document the root, and forget everything outside its subtree.

        Numbers are given out anew in the old order, so a kept tree is laid out as if it had been alone.

        Returns:
            Whether there was such a child; if not, nothing has changed.
        """
        old_root = int(self.root[tree])
        documents, _ = self.root_edges(tree)
        if not (documents == document).any():
            return False
        first, used = tree * self.capacity, int(self.n_nodes[tree])
        rank = int(self.depth[old_root])
        nodes = first + np.flatnonzero(
            (self.ranking[first : first + used, rank] == document) & (self.depth[first : first + used] > rank)
        )
        number = np.full(used, -1, np.int64)
        number[nodes - first] = first + np.arange(len(nodes))
        blocks = np.sort(self.block[nodes][self.block[nodes] >= 0])
        row = np.full(int(self.n_blocks[tree]), -1, np.int64)
        row[blocks - first] = first + np.arange(len(blocks))
        self._move(nodes, blocks, first)
        places, rows = slice(first, first + len(nodes)), slice(first, first + len(blocks))
        self.parent[places] = np.where(self.depth[places] == rank + 1, -1, number[self.parent[places] - first])
        has = self.block[places] >= 0
        self.block[places][has] = row[self.block[places][has] - first]
        tried = np.arange(self.child.shape[1]) < self.opened[rows, None]
        self.child[rows][tried] = number[self.child[rows][tried] - first]
        self.root[tree], self.n_nodes[tree], self.n_blocks[tree] = first, len(nodes), len(blocks)
        return True

    def _move(self, nodes: IntArray, blocks: IntArray, first: int) -> None:
        """Copy rows to the front of their tree; every row moves towards the front or stays."""
        for name in _NODE:
            array = getattr(self, name)
            array[first : first + len(nodes)] = array[nodes]
        for name in _BLOCK:
            array = getattr(self, name)
            # Piece by piece: a gather of all rows at once would take as much memory again.
            for start in range(0, len(blocks), 256):
                part = blocks[start : start + 256]
                array[first + start : first + start + len(part)] = array[part]


_NODE = ("parent", "action", "depth", "visits", "total", "value", "block", "ranking", "state")
_BLOCK = ("document", "edges", "child", "opened")
