"""Rankers that learn, for the speed table: training, searching and ranking.

Shapes: N candidates, F vector width, K ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from srd_agents.registry import RANKERS
from srd_gym.core import SelectionCore
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.topic import TopicSet
from studies.speed.race import Work, learner, limit, multiply_adds, share, timed
from studies.speed.rankings import one_by_one
from studies.speed.topics import judged, web

_HORIZON, _F = 10, 100
_N = 210
"""Candidates, as in the published figures of MDP-DIV and M2Div."""
_TREC_N = 211
_REINFORCE_PRODUCTS, _RANKING_PRODUCTS = 22e6, 12e6
"""Multiply-adds in products of an episode of `reinforce`, 10 steps, and of its ranking the top 10 of 210."""
_SIMULATIONS, _SEARCH_HORIZON = 5_000, 5
_PAPERS_QMIX = partial(learner, "ma4div", state="documents", max_candidates=None)


def training(name: str, epochs: int, size: float) -> Work:
    """Episodes of training, 10 steps each."""
    topics, epochs = web(64, _N).trainable(), share(size, epochs)
    config: Any = RANKERS.find(name).configure(epochs=epochs, horizon=_HORIZON)
    rollouts = int(getattr(config, "rollouts", 1))
    products = _REINFORCE_PRODUCTS
    if name != "reinforce":
        # Candidates by two matrices, once for all episodes of a topic; each state by them. The gradient: twice.
        products = 3.0 * _N * config.hidden_size * (2 * _F / rollouts + _HORIZON)

    def work() -> None:
        learner(name, epochs=epochs, horizon=_HORIZON).fit(topics, None, seed=0)

    return Work(timed(work, epochs * len(topics) * rollouts), None, limit(multiply_adds=products))


def ranking(name: str, size: float) -> Work:
    """Ranking the top 10 of 210, one topic at a time."""
    topics, ranker = web(198, _N).trainable(), learner(name, epochs=1)
    ranker.fit(topics[:20], None, seed=0)
    least = limit(multiply_adds=_RANKING_PRODUCTS) if name == "reinforce" else None
    return Work(timed(one_by_one(ranker, list(topics), _HORIZON), len(topics), share(size, 5)), None, least)


def daletor(size: float) -> Work:
    """Gradient updates of DALETOR, one topic each."""
    topics, ranker = web(1, _TREC_N).trainable(), learner("daletor", batch_topics=1)
    ranker.prepare(topics)
    return Work(timed(lambda: ranker._update(np.zeros(1, dtype=np.int64)), times=share(size, 40)))


def _qmix() -> tuple[Any, TopicSet]:
    """QMIX at the paper's sizes with first weights, ready to be stepped, and its topics."""
    ranker, topics = _PAPERS_QMIX(), judged(256, 15, 1_024)
    ranker.prepare(topics)
    return ranker, topics


def qmix_update(size: float) -> Work:
    """Gradient updates of 256 topics with 15 documents."""
    from srd_agents.qmix.replay import Visits

    ranker, topics = _qmix()
    batch = np.arange(len(topics))
    actions, rewards = ranker.play(batch, epsilon=0.5)
    work = partial(ranker.learn, Visits(batch, actions, rewards.float()))
    return Work(timed(work, times=share(size, 3)), None, limit(multiply_adds=multiply_adds(work)))


def qmix_ranking(batch: bool, size: float) -> Work:
    """Rankings of 15 documents, one topic at a time or 256 at once."""
    ranker, topics = _qmix()
    work = partial(ranker.rank_batch, list(topics), 10) if batch else partial(ranker.rank, topics[0], 10)
    count = len(topics) if batch else 1
    least = limit(multiply_adds=multiply_adds(work) / count)
    return Work(timed(work, count, share(size, 20 if batch else 100)), None, least)


def qmix_epoch() -> None:
    """An epoch of QMIX in the paper's setting for DU-DIV; its replay is as large at the first visit as at the last."""
    topics = judged(4_473, 15, 1_024)
    _PAPERS_QMIX(epochs=1).fit(topics[100:], topics[:100], seed=0)


def searched(count: int, simulations: int = _SIMULATIONS, *, training: bool = False) -> Callable[[], Any]:
    """One search of fresh trees with M2Div's network (LSTM of 5 cells, first weights), horizon 5, PUCT.

    Args:
        count: topics searched at once.
        simulations: of each.
        training: whether finished lists are worth their true measure, as in training (the published code's rate is of
            training), or V as when topics are ranked.
    """
    import torch

    from srd_agents.mcts.config import MctsConfig
    from srd_agents.mcts.network import NumpyEvaluator, SearchNetwork
    from srd_agents.mcts.rollout import Planner
    from srd_agents.networks.inputs import inputs_of

    topics, network = list(web(count, _N)), SearchNetwork(_F, hidden=5)
    network.initialise(torch.Generator().manual_seed(0))
    with torch.inference_mode():
        projection = [part.numpy() for part in network.project(inputs_of(topics, torch.zeros(1)))]
    evaluator = NumpyEvaluator(network, list(zip(*projection, strict=True)))
    core = SelectionCore(topics, reward="alpha_nDCG", horizon=_SEARCH_HORIZON)
    bound, judgments = core.bound, core.arrays.judgments
    planner = Planner(config=MctsConfig(root="puct", horizon=_SEARCH_HORIZON), simulations=simulations)

    def worth(trees: IntArray, lists: IntArray) -> ScoreArray:
        if bound is None:
            raise TypeError("alpha_nDCG is a measure")  # for the type checker
        return bound.score_rankings(lists, judgments, trees)

    return lambda: planner.play(evaluator, core.arrays.n_candidates, 1, worth if training else None)


def search(trees: int, training: bool, size: float) -> Work:
    """Simulations of new trees."""
    simulations = share(size, _SIMULATIONS)
    return Work(timed(searched(trees, simulations, training=training), trees * simulations))


def ntn_training(size: float) -> Work:
    """NTN-DIV trained on as many topics of as many candidates as a fold of TREC has."""
    topics, epochs = web(share(size, 118, 2), _TREC_N), share(size, 16)
    return Work(timed(lambda: learner("ntn", slices=7, epochs=epochs, patience=0).fit(topics)))
