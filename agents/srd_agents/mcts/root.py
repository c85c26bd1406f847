"""Options at a search's root beyond the paper: Gumbel sampling with sequential halving.

Shapes: A trees that are searched, N candidates.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from srd_agents.mcts.search import Search, add_edges, step
from srd_agents.mcts.tree import MEAN, PRIOR, TRIED, Trees
from srd_gym.dtypes import IntArray, ScoreArray

VISITS_OFFSET, VALUE_SCALE = 50.0, 1.0
"""c_visit and c_scale of Danihelka et al. 2022, section 3.4."""
MOST_CONSIDERED = 16
"""Documents that a Gumbel root begins with."""


def run_gumbel(search: Search, which: IntArray, simulations: int, gumbel: ScoreArray) -> tuple[IntArray, ScoreArray]:
    """Search with Gumbel sampling and sequential halving at the root (Danihelka et al., ICLR 2022, its Algorithm 2).

    The candidates with the largest g + logit are tried equally often, then the better half of them, and so on. Below
    the root the selection rule is the usual one, which the paper replaces too.

    Args:
        search: newly instantiated roots, not at their ends. Its trees are written to.
        which: [A].
        simulations: of each tree, at least 1.
        gumbel: [A, N] Gumbel noise; zeros to choose without exploring.

    Returns:
        (documents [A], the move; policies [A, N] float64, the improved policy to learn from).
    """
    trees = search.trees
    add_edges(search, which, trees.root[which])
    blocks = trees.block[trees.root[which]]
    roots = [_Halving(trees, int(block), g, simulations) for block, g in zip(blocks, gumbel, strict=True)]
    # A list, not a generator: every root must plan.
    while any([root.plan() for root in roots]):
        for turn in range(max(len(root.planned) for root in roots)):
            on = [i for i, root in enumerate(roots) if turn < len(root.planned)]
            forced = np.array([roots[i].planned[turn] for i in on])
            step(search, which[on], forced=forced)
        for root in roots:
            root.halve()
    moves = np.array([root.best() for root in roots], np.int64)
    return moves, np.stack([improved_policy(trees, int(tree)) for tree in which])


def improved_policy(trees: Trees, tree: int) -> ScoreArray:
    """softmax(logit + sigma(completed Q)) at a root, [N] float64 (Danihelka et al., equations 10, 11 and 33)."""
    root = int(trees.root[tree])
    block = int(trees.block[root])
    size, tried = int(trees.n_candidates[tree] - trees.depth[root]), int(trees.opened[block])
    prior = trees.edges[block, PRIOR, :size].astype(np.float64)
    q = trees.edges[block, MEAN, :tried].astype(np.float64)
    visits = trees.edges[block, TRIED, :tried].astype(np.float64) - 1
    total, weight = visits.sum(), prior[:tried].sum()
    mixed = (float(trees.value[root]) + total * (prior[:tried] @ q) / max(weight, 1e-30)) / (1 + total)
    completed = np.full(size, mixed)
    completed[:tried] = q
    raised = np.log(np.maximum(prior, 1e-30)) + transformed(completed, visits.max(initial=0))
    odds = np.exp(raised - raised.max())
    out = np.zeros(trees.document.shape[1])
    out[trees.document[block, :size]] = odds / odds.sum()
    return out


def transformed(q: ScoreArray, most_visits: float) -> ScoreArray:
    """sigma(q) = (c_visit + max N) c_scale q (Danihelka et al., equation 8)."""
    return (VISITS_OFFSET + most_visits) * VALUE_SCALE * q


class _Halving:
    """Sequential halving at one root, whose edges it lays out by falling g + logit."""

    def __init__(self, trees: Trees, block: int, gumbel: ScoreArray, simulations: int) -> None:
        self._trees, self._block = trees, block
        self._simulations = self._left = simulations
        size = int(np.isfinite(trees.edges[block, MEAN]).sum())
        score = np.full(trees.document.shape[1], -np.inf)
        documents = trees.document[block, :size]
        score[:size] = np.log(trees.edges[block, PRIOR, :size].astype(np.float64)) + gumbel[documents]
        order = _sort_untried(trees, block, score)
        self._score = score[order]
        self._actions = np.arange(min(MOST_CONSIDERED, simulations, size))
        self._phases = max(1, math.ceil(math.log2(len(self._actions))))
        self.planned: list[int] = []

    def plan(self) -> bool:
        """Lay out the visits of the next phase; whether there are any left."""
        each = max(1, self._simulations // (self._phases * len(self._actions)))
        self.planned = np.tile(self._actions, each)[: self._left].tolist()
        self._left -= len(self.planned)
        return bool(self.planned)

    def halve(self) -> None:
        """Go on with the better half, two at least."""
        if len(self._actions) > 2:
            keep = max(2, (len(self._actions) + 1) // 2)
            value = self._value(self._actions)
            self._actions = np.sort(self._actions[np.argsort(-value, kind="stable")[:keep]])

    def best(self) -> int:
        """The document of the best edge that is still considered."""
        actions = self._actions[self._actions < self._trees.opened[self._block]]
        return int(self._trees.document[self._block, actions[self._value(actions).argmax()]])

    def _value(self, actions: IntArray) -> ScoreArray:
        edges = self._trees.edges[self._block]
        most = float(edges[TRIED].max()) - 1
        return self._score[actions] + transformed(edges[MEAN, actions].astype(np.float64), most)


def _sort_untried(trees: Trees, block: int, score: NDArray[np.floating]) -> IntArray:
    """Lay the untried edges of a row out by falling score, ties by candidate; the order in which they now come, [N]."""
    tried = int(trees.opened[block])
    untried = np.arange(tried, len(score))
    off = ~np.isfinite(trees.edges[block, MEAN, tried:])
    order = untried[np.lexsort((trees.document[block, tried:], -score[tried:], off))]
    whole = np.concatenate([np.arange(tried), order])
    trees.document[block] = trees.document[block, whole]
    trees.edges[block] = trees.edges[block][:, whole]
    return whole
