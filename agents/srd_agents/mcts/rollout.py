"""Whole lists by search: episodes of self-improvement, played in the simulator, and rankings that read no labels.

Shapes: B topics (one tree each), N candidates of the largest, K ranks, T ranks of the longest list. Candidates are in
seeded order (`OrderedTopic`). A trees that are searched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from srd_agents.mcts.config import MctsConfig
from srd_agents.mcts.one_tree import run_one
from srd_agents.mcts.root import run_gumbel
from srd_agents.mcts.search import Evaluator, Search, Terminal, instantiate, run
from srd_agents.mcts.tree import TRIED, Trees
from srd_agents.networks.features import side_by_side
from srd_gym.core import SelectionCore
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.topic import FloatArray, Topic


def seeded_order(topic: Topic) -> IntArray:
    """A shuffle of the candidates that depends on ids alone.

    The published code breaks ties by index on files in ideal order, which leaks the labels; with this order a
    permutation of the candidates changes nothing.

    Args:
        topic: with N candidates.

    Returns:
        [N] int64, candidate indices in the new order.
    """
    key = hashlib.blake2b(f"0 {topic.query_id}".encode(), digest_size=16).digest()
    digests = [hashlib.blake2b(name.encode(), key=key, digest_size=8).digest() for name in topic.doc_ids]
    return np.argsort(np.frombuffer(b"".join(digests), ">u8"), kind="stable").astype(np.int64)


@dataclass(frozen=True, slots=True)
class OrderedTopic:
    """A topic's vectors with its candidates in seeded order."""

    order: IntArray
    """[N], place -> candidate."""
    documents: FloatArray
    """[N, F] in that order."""
    topic: Topic
    """The topic itself."""

    @classmethod
    def of(cls, topic: Topic) -> OrderedTopic:
        """The topic as networks and trees see it.

        Raises:
            ValueError: it has no vectors.
        """
        order = seeded_order(topic)
        documents = np.ascontiguousarray(topic.require_vectors("a learned ranker")[order])
        return cls(order, documents, topic)


class Played(NamedTuple):
    """Outcome of search on B topics."""

    documents: IntArray
    """[B, T] the documents ranked, as places in the seeded order; 0 behind a list's end."""
    policies: ScoreArray
    """[B, T, N] what the search says to do at each rank: pi, the policy's target."""
    active: BoolArray
    """[B, T] whether the rank was filled."""
    allowed: BoolArray
    """[B, T, N] the documents that are not masked at each rank."""


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Choose one document after the other by search."""

    config: MctsConfig
    simulations: int
    """At each rank, at least 1."""
    rng: np.random.Generator | None = None
    """Explores: Gumbel roots belong to training alone; None: no exploring, as at ranking time."""

    def play(
        self, evaluator: Evaluator, n_candidates: IntArray, most_ranks: int, terminal: Terminal | None = None
    ) -> Played:
        """Fill the first ranks of B lists, a search before each.

        Args:
            evaluator: the network on these topics.
            n_candidates: [B].
            most_ranks: stop after so many, or at the lists' ends.
            terminal: what finished lists are worth; None: V of the network, as at ranking time.
        """
        every = np.arange(len(n_candidates))
        states, empty = evaluator.initial(every), np.full((len(every), self.config.horizon), -1, np.int64)
        trees = Trees(n_candidates, self.config.horizon, states.shape[1], self.simulations)
        search = Search(trees, evaluator, self.config, terminal)
        instantiate(search, every, states, empty)
        ranks = min(int(trees.length.max()), most_ranks)
        width = trees.document.shape[1]
        documents = np.zeros((len(every), ranks), np.int64)
        policies = np.zeros((len(every), ranks, width))
        active = np.arange(ranks) < trees.length[:, None]
        allowed = np.zeros((len(every), ranks, width), np.bool_)
        offered = np.arange(width) < n_candidates[:, None]
        for rank in range(ranks):
            on = np.flatnonzero(active[:, rank])
            allowed[:, rank] = offered
            chosen, policies[on, rank] = self._choose(search, on, offered[on])
            documents[on, rank] = chosen
            offered[on, chosen] = False
            if rank + 1 < ranks:
                further, keep = active[on, rank + 1], self.rng is None or self.config.root == "puct"
                move(search, on[further], chosen[further], keep=keep)
        return Played(documents, policies, active, allowed)

    def _choose(self, search: Search, on: IntArray, offered: BoolArray) -> tuple[IntArray, ScoreArray]:
        """The document for the next rank of each tree, and the policy to learn."""
        if self.rng is not None and self.config.root == "gumbel":
            return run_gumbel(search, on, self.simulations, self.rng.gumbel(size=offered.shape))
        (run_one if len(on) == 1 else run)(search, on, self.simulations)
        return most_visited(search.trees, on), visit_shares(search.trees, on)


def most_visited(trees: Trees, which: IntArray) -> IntArray:
    """[A] the document of each root's most visited edge; among equals the one of the larger prior."""
    blocks = trees.block[trees.root[which]]
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


def move(search: Search, which: IntArray, documents: IntArray, *, keep: bool = True) -> None:
    """Rank a document in each tree: its node becomes the root.

    Args:
        search: its trees are written to.
        which: [A].
        documents: [A], allowed at the root.
        keep: whether the subtree below is kept.
    """
    trees = search.trees
    for tree, document in zip(which, documents, strict=True):
        if keep and trees.keep_subtree(int(tree), int(document)):
            continue
        one, old = np.array([tree]), trees.root[tree]
        ranking = trees.ranking[old].astype(np.int64)[None]
        ranking[0, trees.depth[old]] = document
        state = search.evaluator.advance(one, trees.state[old][None], np.array([document]))
        instantiate(search, one, state, ranking)


def play_episodes(
    core: SelectionCore, batch: IntArray, topics: Sequence[OrderedTopic], planner: Planner, evaluator: Evaluator
) -> tuple[Played, ScoreArray]:
    """Search through episodes of training topics; the simulator gives every list its worth.

    Args:
        core: the simulator.
        batch: [B] topics of the simulator.
        topics: the same.
        planner: how.
        evaluator: the network on these topics.

    Returns:
        (what was played, [B] the measure of each finished list).
    """
    bound, places = core.bound, side_by_side([topic.order for topic in topics])

    def paid(which: IntArray, lists: IntArray) -> ScoreArray:
        core.reset(batch[which])
        for documents in lists.T:
            core.step(places[which, documents])  # of lists that have ended it looks at nothing
        return core.returns()

    def worth(trees: IntArray, lists: IntArray) -> ScoreArray:
        if bound is None:  # a reward of the user's own: only playing a list tells what it pays
            return paid(trees, lists)
        rankings = np.where(lists >= 0, places[trees[:, None], lists], -1)
        return bound.score_rankings(rankings, core.arrays.judgments, batch[trees])

    played = planner.play(evaluator, core.arrays.n_candidates[batch], core.horizon, worth)
    return played, paid(np.arange(len(batch)), played.documents)
