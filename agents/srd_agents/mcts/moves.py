"""From a search to a document: which one to rank, what the search says of all, and the tree after it is ranked.

Shapes: A trees that are searched, N candidates.
"""

from __future__ import annotations

import numpy as np

from srd_agents.mcts.search import Evaluator, plant
from srd_agents.mcts.tree import TRIED, Trees
from srd_gym.protocols import IntArray, ScoreArray


def most_visited(trees: Trees, which: IntArray) -> IntArray:
    """[A] the document of each root's most visited edge; among equals the one of the larger prior.

    Raises:
        ValueError: a root without edges.
    """
    blocks = trees.block[trees.root[which]]
    if (blocks < 0).any():
        raise ValueError("a root without edges has no most visited one; search at least one simulation first")
    best = trees.edges[blocks, TRIED].argmax(axis=1)
    documents: IntArray = trees.document[blocks, best].astype(np.int64)
    return documents


def visit_shares(trees: Trees, which: IntArray) -> ScoreArray:
    """[A, N] float64, pi of the search: how the simulations of each root went to its edges; rows sum to 1."""
    out = np.zeros((len(which), trees.document.shape[1]))
    for row, tree in zip(out, which, strict=True):
        documents, visits = trees.root_edges(int(tree))
        row[documents] = visits / visits.sum()
    return out


def move(trees: Trees, which: IntArray, documents: IntArray, evaluator: Evaluator, *, keep: bool = True) -> None:
    """Rank a document in each tree: its node becomes the root.

    Args:
        trees: written to.
        which: [A].
        documents: [A], on offer at the root.
        evaluator: for roots that must be made anew.
        keep: whether the subtree below is kept.
    """
    for tree, document in zip(which, documents, strict=True):
        if keep and trees.keep_subtree(int(tree), int(document)):
            continue
        one, old = np.array([tree]), trees.root[tree]
        ranking = trees.ranking[old].astype(np.int64)[None]
        ranking[0, trees.depth[old]] = document
        state = evaluator.advance(one, trees.state[old][None], np.array([document]))
        plant(trees, one, state, ranking, evaluator)
