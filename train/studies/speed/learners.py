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
from srd_gym.data import load_topics
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.pruning import KNN
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


def learning(goal: float, size: float) -> Work:
    """`reinforce` on 700 topics of serp until 300 unseen ones have this alpha_nDCG@10; a seed each round."""
    topics, seeds = load_topics("synthetic:serp:1000:0"), iter(range(1_000))
    seen, unseen = topics[: share(size, 700, 10)], topics[1_000 - share(size, 300, 10) :]

    def trained() -> float:
        records = learner("reinforce", epochs=share(size, 6)).fit(seen, unseen, seed=next(seeds)).records
        # 0: not in these epochs. Validation is not counted.
        return next((1 / float(record["cpu_seconds"]) for record in records if record["validation"] >= goal), 0.0)

    return Work(trained)


def ranking(name: str, batch: bool, size: float) -> Work:
    """Ranking the top 10 of 210, alone or 198 topics at once."""
    topics, ranker = web(198, _N).trainable(), learner(name, epochs=1)
    ranker.fit(topics[:20], None, seed=0)
    work = partial(ranker.rank_batch, list(topics), _HORIZON) if batch else one_by_one(ranker, list(topics), _HORIZON)
    least = limit(multiply_adds=_RANKING_PRODUCTS) if name == "reinforce" else None
    return Work(timed(work, len(topics), share(size, 5)), None, least)


def daletor(batch: int, size: float) -> Work:
    """Gradient updates of DALETOR; the rate is in topics."""
    topics, ranker = web(batch, _TREC_N).trainable(), learner("daletor", batch_topics=batch)
    ranker.prepare(topics)
    return Work(timed(lambda: ranker._update(np.arange(batch, dtype=np.int64)), batch, share(size, 40 / batch)))


def _qmix(width: int) -> tuple[Any, TopicSet]:
    """QMIX with first weights, ready to be stepped: the defaults, or at F = 1024 the paper's sizes; and its topics."""
    ranker = learner("ma4div", state="documents", max_candidates=None) if width == 1024 else learner("qmix")
    topics = judged(256, 15, width)
    ranker.prepare(topics)
    return ranker, topics


def qmix_update(width: int, size: float) -> Work:
    """Gradient updates of 256 topics with 15 documents.

    At F = 64 with the defaults, which learn from eight joint actions of each topic at once; at F = 1024 with the
    paper's setting.
    """
    from srd_agents.qmix.replay import Visits

    ranker, topics = _qmix(width)
    batch = np.arange(len(topics))
    actions, rewards = ranker.play(batch, epsilon=0.5)
    work = partial(ranker.learn, Visits(batch, actions, rewards.astype(np.float32)))
    return Work(timed(work, 1, share(size, 10 if width == 64 else 3)), None, limit(multiply_adds=multiply_adds(work)))


def qmix_ranking(width: int, batch: bool, size: float) -> Work:
    """Rankings of 15 documents, one topic at a time or 256 at once."""
    ranker, topics = _qmix(width)
    work = partial(ranker.rank_batch, list(topics), 10) if batch else partial(ranker.rank, topics[0], 10)
    count = len(topics) if batch else 1
    least = limit(multiply_adds=multiply_adds(work) / count)
    return Work(timed(work, count, share(size, 20 if batch else 100)), None, least)


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


def evaluations(size: float) -> Work:
    """Candidates on offer in an episode under kNN(30), against those of an unpruned one: counted, not timed."""
    topics = web(share(size, 20), _TREC_N)

    def episodes(pruning: KNN | None) -> float:
        """Episodes per 1,000 candidates on offer, for random actions."""
        core = SelectionCore(topics, horizon=_HORIZON, pruning=pruning)
        core.reset(np.arange(len(topics)))
        rng, offered = np.random.default_rng(0), 0
        while not core.done.all():
            offered += int(core.allowed[~core.done].sum())
            core.step(np.where(core.allowed, rng.random(core.allowed.shape), -1.0).argmax(axis=1))
        return 1_000 * len(topics) / offered

    return Work(partial(episodes, KNN(0.3)), partial(episodes, None))


def ntn_scores(size: float) -> Work:
    """NTN-DIV's scores of all candidates after ten were ranked, with 100 slices and drawn weights."""
    import torch

    from srd_agents.networks.features import FEATURES
    from srd_agents.supervised.ntn_div.network import NtnNetwork
    from srd_agents.supervised.ntn_div.scoring import TensorScorer
    from srd_agents.training.checkpoint import module_arrays

    network = NtnNetwork(_F, 100, "max", len(FEATURES))
    network.initialise(similarity=False, generator=torch.Generator().manual_seed(0))
    work = partial(TensorScorer(module_arrays(network), "max").scores, web(1, _TREC_N)[0], np.arange(_HORIZON))
    return Work(timed(work, times=share(size, 200)))


def ntn_training(size: float) -> Work:
    """NTN-DIV trained on as many topics of as many candidates as a fold of TREC has."""
    topics, epochs = web(share(size, 118, 2), _TREC_N), share(size, 16)
    return Work(timed(lambda: learner("ntn", slices=7, epochs=epochs, patience=0).fit(topics)))
