from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_topics import random_topics, refused, seeds

from srd_agents.mcts.config import MctsConfig
from srd_agents.mcts.one_tree import run_one
from srd_agents.mcts.rollout import OrderedTopic, Planner, most_visited, move, play_episodes, seeded_order, visit_shares
from srd_agents.mcts.root import improved_policy, run_gumbel
from srd_agents.mcts.search import Search, instantiate, run
from srd_agents.mcts.tree import PRIOR, Trees
from srd_agents.registry import make_ranker
from srd_agents.training.validation import Validation
from srd_gym.core import SelectionCore
from srd_gym.data.synthetic import generate
from srd_gym.dtypes import IntArray
from srd_gym.topic import TopicSet


class Table:
    """Test-only network: the state is a running number of the documents so far; figures are a hash of it.

    With `flat`, V is constant and the policy uniform. It counts how often states are advanced.
    """

    calls = 0

    def __init__(self, width: int, keys: NDArray[Any], flat: bool = False) -> None:
        self._width, self._keys, self._flat = width, np.asarray(keys, dtype=np.float64), flat

    def initial(self, trees: IntArray) -> NDArray[np.float32]:
        return (self._keys[trees, None] * np.float32(0.37)).astype(np.float32)

    def advance(self, trees: IntArray, states: NDArray[np.float32], documents: IntArray) -> NDArray[np.float32]:
        self.calls += 1
        return np.asarray(np.mod(states * np.float32(1.7) + (documents[:, None] + 1) * np.float32(0.13), 1), np.float32)

    def values(self, trees: IntArray, states: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._flat:
            return np.full(len(states), 0.5, np.float32)
        found: NDArray[np.float32] = np.mod(states[:, 0] * np.float32(7.3), np.float32(1))
        return found

    def logits(self, trees: IntArray, states: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._flat:
            return np.zeros((len(states), self._width), np.float32)
        return np.mod(states * np.float32(3.1) + np.arange(self._width, dtype=np.float32) * np.float32(0.61), 1) * 3


def started(
    counts: list[int], horizon: int, simulations: int, *, keys: Any = None, network: Any = None, **options: Any
) -> tuple[Search, IntArray]:
    every = np.arange(len(counts))
    network = network or Table(max(counts), every + 1 if keys is None else keys)
    config = MctsConfig(**({"root": "puct"} | options))
    search = Search(Trees(np.array(counts), horizon, 1, simulations), network, config)
    instantiate(search, every, network.initial(every), np.full((len(counts), horizon), -1))
    return search, every


def export(trees: Trees, tree: int) -> dict[str, NDArray[Any]]:
    """One tree, node by node, in numbers that do not depend on the trees beside it; the root's document is -1."""
    first = tree * trees.capacity
    nodes = slice(first, first + int(trees.n_nodes[tree]))
    parent = trees.parent[nodes]
    inner = parent >= 0
    edge = trees.block[parent[inner]], trees.action[nodes][inner]
    document, prior = np.full(len(parent), -1, np.int64), np.ones(len(parent), np.float32)
    document[inner], prior[inner] = trees.document[edge], trees.edges[edge[0], PRIOR, edge[1]]
    found = {"parent": np.where(inner, parent - first, -1), "document": document, "prior": prior}
    found |= {"visits": trees.visits[nodes].copy(), "value": trees.value[nodes].copy()}
    return found | {"mean": trees.total[nodes] / trees.visits[nodes]}


def same(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize("gumbel", [False, True])
@given(seed=seeds, count=st.integers(1, 5), horizon=st.integers(1, 5))
@settings(max_examples=8)
def test_enough_simulations_find_the_best_list_there_is(gumbel: bool, seed: int, count: int, horizon: int) -> None:
    """Against brute force over all lists, with true measures at the horizon and a network that knows nothing."""
    topics = random_topics(seed, 3, n=count)
    core = SelectionCore(topics, reward="alpha_nDCG", horizon=horizon)
    bound = core.bound
    length = min(horizon, count)
    lists = np.array(list(itertools.permutations(range(count), length)))
    ordered = [OrderedTopic.of(topic) for topic in topics]
    network = Table(count, np.ones(3), flat=True)
    batch = np.arange(len(topics))
    best = np.array([bound.score_rankings(lists, core.arrays.judgments, np.full(len(lists), t)).max() for t in batch])
    worst = np.inf
    for simulations in (500, 4000, 32_000, 128_000):
        config = MctsConfig(horizon=horizon, root="gumbel" if gumbel else "puct", c_puct=1.0)
        planner = Planner(config=config, simulations=simulations, rng=np.random.default_rng(seed))
        played, found = play_episodes(core, batch, ordered, planner, network)
        assert played.active.sum() == 3 * length
        worst = float((best - found).max())
        if worst < 0.005:  # means are backed up, not maxima: lists closer than that take long to tell apart
            break
    assert worst < 0.005


@given(data=st.data())
@settings(max_examples=15)
def test_a_tree_searched_in_a_batch_equals_the_same_tree_alone(data: Any) -> None:
    counts = data.draw(st.lists(st.integers(2, 30), min_size=2, max_size=9))
    horizon, simulations = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 120))

    def begun(counts: list[int], keys: list[int]) -> tuple[Search, IntArray]:
        return started(counts, horizon, simulations, keys=keys)

    search, every = begun(counts, list(range(1, len(counts) + 1)))
    run(search, every, simulations)
    first = most_visited(search.trees, every)
    # And once more below the kept subtrees.
    for again in (False, True):
        if again:
            move(search, every, first)
            run(search, every, simulations)
        for tree, count in enumerate(counts):
            alone, one = begun([count], [tree + 1])
            run_one(alone, one, simulations)
            if again:
                move(alone, one, first[[tree]])
                run_one(alone, one, simulations)
            same(export(search.trees, tree), export(alone.trees, 0))


def by_the_book(
    network: Any, tree: int, count: int, horizon: int, simulations: int
) -> tuple[dict[tuple[int, ...], int], dict[tuple[int, ...], float]]:
    """The paper's search with dicts, one node and one candidate at a time: visits and value of each ranking."""
    length = min(horizon, count)
    visits: dict[tuple[int, ...], int] = {}
    total: dict[tuple[int, ...], float] = {}
    state: dict[tuple[int, ...], NDArray[np.float32]] = {(): network.initial(np.array([tree]))}

    def value_of(node: tuple[int, ...]) -> float:
        if node not in state:
            state[node] = network.advance(np.array([tree]), state[node[:-1]], np.array([node[-1]]))
        return float(network.values(np.array([tree]), state[node])[0])

    visits[()], total[()] = 1, value_of(())
    for _ in range(simulations):
        node: tuple[int, ...] = ()
        while node in visits and len(node) < length:
            left = [i for i in range(count) if i not in node]
            logits = network.logits(np.array([tree]), state[node])[0].astype(np.float64)[left]
            prior = np.exp(logits - logits.max())
            prior /= prior.sum()
            scores = []
            for p, i in zip(prior, left, strict=True):
                child = (*node, i)
                q = total[child] / visits[child] if child in visits else 0.0
                scores.append((q + 3.0 * p * (visits[node] - 1) ** 0.5 / (1 + visits.get(child, 0)), p, -i))
            node = (*node, left[scores.index(max(scores))])
        found = value_of(node)
        for depth in range(len(node) + 1):
            visits[node[:depth]] = visits.get(node[:depth], 0) + 1
            total[node[:depth]] = total.get(node[:depth], 0.0) + found
    return visits, total


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("count", "horizon"), [(2, 1), (4, 3), (7, 5), (20, 2)])
def test_the_search_is_the_papers_rule_written_out(count: int, horizon: int, flat: bool) -> None:
    counts = [count, 12, count, 1]
    table = Table(max(counts), np.array([0.3, 1.7, 2.9, 4.1]), flat=flat)
    search, every = started(counts, horizon, 150, network=table)
    run(search, every, 150)
    trees, network = search.trees, search.evaluator
    np.testing.assert_allclose(visit_shares(trees, every).sum(1), 1)
    for tree in every:
        visits, total = by_the_book(network, tree, counts[tree], horizon, 150)
        nodes = tree * trees.capacity + np.arange(trees.n_nodes[tree])
        rankings = [tuple(trees.ranking[node, : trees.depth[node]].tolist()) for node in nodes]
        assert dict(zip(rankings, trees.visits[nodes].tolist(), strict=True)) == visits
        np.testing.assert_allclose(trees.total[nodes], [total[ranking] for ranking in rankings], rtol=1e-5)


def ranked_by_a_network_that_knows_nothing(topics: TopicSet, *, gumbel: bool) -> list[IntArray]:
    counts = np.array([topic.n_candidates for topic in topics])
    config = MctsConfig(root="gumbel" if gumbel else "puct")
    planner = Planner(config=config, simulations=40, rng=np.random.default_rng(0))
    network = Table(int(counts.max()), np.ones(len(counts)), flat=True)
    played = planner.play(network, counts, 5)
    orders = [seeded_order(topic) for topic in topics]
    return [order[row[active]] for order, row, active in zip(orders, played.documents, played.active, strict=True)]


@pytest.mark.parametrize("gumbel", [False, True])
def test_a_network_that_knows_nothing_gains_nothing_from_the_order(gumbel: bool) -> None:
    """V constant, policy uniform, candidates in ideal order: the leak of the published files."""
    topics = generate("serp", n_topics=120, seed=1)
    ideal = topics.replace(topic.take(np.argsort(-topic.judgments.sum(1), kind="stable")) for topic in topics)
    judge = Validation(ideal, "alpha_nDCG@5")
    given_order, given_ideal = (ranked_by_a_network_that_knows_nothing(ts, gumbel=gumbel) for ts in (topics, ideal))
    for topic, other, one, two in zip(topics, ideal, given_order, given_ideal, strict=True):
        assert [topic.doc_ids[i] for i in one] == [other.doc_ids[i] for i in two]
    assert abs(judge.score(given_ideal).mean() - judge.mean(make_ranker("random"))) < 0.07


@given(seed=seeds, counts=st.lists(st.integers(1, 20), min_size=1, max_size=5), simulations=st.integers(1, 50))
def test_sequential_halving_spends_its_budget_on_what_it_considers(
    seed: int, counts: list[int], simulations: int
) -> None:
    keys = np.random.default_rng(seed).random(len(counts))
    search, every = started(counts, 3, simulations, keys=keys)
    trees = search.trees
    gumbel = np.random.default_rng(seed).gumbel(size=(len(counts), max(counts)))
    moves, policies = run_gumbel(search, every, simulations, gumbel)
    assert (trees.visits[trees.root] == simulations + 1).all()
    np.testing.assert_allclose(policies.sum(1), 1)
    for tree, count in enumerate(counts):
        documents, visits = trees.root_edges(tree)
        assert len(documents) == min(16, count, simulations)
        # The last ones considered were tried equally often, but for one visit where the budget ran out.
        assert moves[tree] in documents[visits >= visits.max() - 1]
        block = int(trees.block[trees.root[tree]])
        logits = np.log(trees.edges[block, PRIOR, :count].astype(np.float64))
        candidates = trees.document[block, :count]
        best = np.argsort(-(logits + gumbel[tree, candidates]))[: len(documents)]
        assert set(documents.tolist()) == set(candidates[best].tolist())
        assert (policies[tree, count:] == 0).all()


def test_the_improved_policy_prefers_what_was_found_better() -> None:
    search, every = started([4], 2, 40, network=Table(4, np.ones(1), flat=True))
    search = replace(search, terminal=lambda _, lists: (lists[:, 0] == 2).astype(np.float64))
    run_gumbel(search, every, 40, np.zeros((1, 4)))
    assert improved_policy(search.trees, 0).argmax() == 2


def test_the_largest_search_asked_for_fits_and_larger_trees_are_refused() -> None:
    trees = Trees(np.full(32, 210), 5, 10, 5000)
    taken = sum(part.nbytes for part in vars(trees).values() if isinstance(part, np.ndarray) and len(part) > 32)
    assert taken == 32 * 5001 * (18 * 210 + 8 + 36 + 2 * 5 + 4 * 10) < 1e9
    refused(lambda: Trees(np.array([40_000]), 5, 10, 1), "at most 32767")


def test_leaves_of_all_trees_are_evaluated_in_one_call() -> None:
    network = Table(30, np.arange(32))
    search, every = started([30] * 32, 5, 40, network=network)
    run(search, every, 40)
    assert (search.trees.visits[search.trees.root] == 41).all()
    assert network.calls <= 40
