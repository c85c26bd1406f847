"""What `make speed` measures of M2Div: simulations a second, and the memory of the largest search of the paper.

The paper's network (LSTM of 5 cells, untrained) and its search: horizon 5, 5,000 simulations of a tree, PUCT.

Shapes: N candidates, F vector width, K ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from studies.speed.race import Outcome, against

if TYPE_CHECKING:
    from srd_agents.mcts.network import NumpyEvaluator
    from srd_agents.mcts.search import Terminal
    from srd_agents.mcts.tree import Trees

PUBLISHED_SIMULATIONS = 1_000.0
"""Simulations a second of processor time of the published code, one thread: 700 to 1,000, of which we take the best."""
SIMULATIONS = 5_000
CANDIDATES = 210
TREES = 32
HORIZON = 5
_WIDTH, _CELLS = 100, 5
_TARGETS = {TREES: 50.0, 1: 60.0}


def search(trees: int, *, training: bool, rounds: int, size: float = 1.0) -> Outcome:
    """Simulations of new trees, against the published code's rate.

    Args:
        trees: topics searched at once, 32 or 1.
        training: whether finished lists are worth their true measure, as in training (the published code's rate is of
            training), or V as when topics are ranked.
        rounds: how many count.
        size: share of the full work, for tests.
    """
    simulations = max(1, int(SIMULATIONS * size))
    work = _searched(trees, simulations, training=training)

    def run() -> int:
        work()
        return trees * simulations

    how = "true measure of finished lists" if training else "V at the leaves"
    many = f"{trees} topics at once" if trees > 1 else "one topic"
    return against(
        f"M2Div simulations, {many}, {how}, K = {HORIZON}, N = {CANDIDATES}",
        "simulations/s",
        run,
        PUBLISHED_SIMULATIONS,
        source="published code, at its best",
        target=_TARGETS[trees],
        rounds=rounds,
    )


def largest_search(trees: int = TREES, simulations: int = SIMULATIONS) -> Trees:
    """One search of the size that memory is stated for; its trees."""
    return _searched(trees, simulations, training=False)()


def bytes_per_simulation() -> int:
    """What a simulation of that search takes at most."""
    from srd_agents.mcts.tree import Trees

    trees = Trees(np.full(TREES, CANDIDATES), HORIZON, 2 * _CELLS, SIMULATIONS)
    arrays = [part for part in vars(trees).values() if isinstance(part, np.ndarray) and len(part) > TREES]
    return sum(array.nbytes for array in arrays) // (TREES * trees.capacity)


def _searched(count: int, simulations: int, *, training: bool) -> Callable[[], Trees]:
    """A runner of one search of fresh trees."""
    from srd_agents.mcts.config import MctsConfig
    from srd_agents.mcts.one_tree import run_one
    from srd_agents.mcts.search import Search, instantiate, run
    from srd_agents.mcts.tree import Trees

    topics = generate("web", n_topics=count, seed=0, width=_WIDTH, candidates=(CANDIDATES, CANDIDATES))
    evaluator = _evaluator(topics)
    terminal = _worth(topics) if training else None
    every, config = np.arange(count), MctsConfig()

    def work() -> Trees:
        trees = Trees(np.full(count, CANDIDATES), HORIZON, evaluator.state_width, simulations)
        search = Search(trees, evaluator, config, terminal)
        instantiate(search, every, evaluator.initial(every), np.full((count, HORIZON), -1))
        (run if count > 1 else run_one)(search, every, simulations)
        return trees

    return work


def _evaluator(topics: TopicSet) -> NumpyEvaluator:
    """The paper's network with first weights, on these topics."""
    import torch

    from srd_agents.mcts.network import NumpyEvaluator, SearchNetwork
    from srd_agents.networks.inputs import Inputs

    network = SearchNetwork(_WIDTH, hidden=_CELLS)
    network.initialise(torch.Generator().manual_seed(0))
    documents = torch.from_numpy(np.stack([topic.doc_vectors for topic in topics if topic.doc_vectors is not None]))
    queries = torch.from_numpy(np.stack([topic.query_vector for topic in topics if topic.query_vector is not None]))
    with torch.inference_mode():
        projection = network.project(Inputs(queries, documents, None))
    scoring, inputs, initial = (part.numpy() for part in projection)
    return NumpyEvaluator(network, list(zip(scoring, inputs, initial, strict=True)))


def _worth(topics: TopicSet) -> Terminal:
    """The true measure of finished lists."""
    from srd_gym.core import SelectionCore
    from srd_gym.protocols import IntArray, ScoreArray

    core = SelectionCore(topics, reward="alpha_nDCG", horizon=HORIZON)
    bound = core.bound
    if bound is None:
        raise TypeError("alpha_nDCG is a measure")  # for the type checker

    def worth(trees: IntArray, lists: IntArray) -> ScoreArray:
        return bound.score_rankings(lists, core.arrays.judgments, trees)

    return worth
