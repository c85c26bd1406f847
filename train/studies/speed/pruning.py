"""What `make speed` measures of pruning: candidates evaluated, distance matrices, and NTN-DIV's scores and training.

Shapes: N candidates, F vector width, z slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.core import SelectionCore
from srd_gym.data.synthetic import generate
from srd_gym.protocols import Pruning
from srd_gym.pruning import KNN
from srd_gym.pruning.knn import neighbour_distances
from srd_gym.topic import TopicSet
from studies.speed.race import Contender, Figure, Outcome, against, race

if TYPE_CHECKING:
    from srd_agents.supervised.ntn_div.network import NtnNetwork

CANDIDATES, HORIZON, WIDTH = 211, 10, 100
SLICES = 100
SCORING_LIMIT = 0.005
"""Seconds that scores of N = 211 may take, with z = 100 and ten documents ranked."""
PUBLISHED_TRAINING = 5 * 3600.0
"""Seconds that NTN-DIV's published code needs for a fold of TREC; it says "over 5 hours"."""
TRAINING_LIMIT = 300.0
"""Seconds that ours may take."""

_DOCUMENTS, _DISTANCE_WIDTH = 1_000, 384
_TRAINING_TOPICS, _EPOCHS = 118, 16


def pruning_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The cases: a name to show while it runs, and the case.

    Args:
        rounds: rounds that count, for each; NTN-DIV's training is run once.
        size: share of the full work, for tests.
    """
    yield "pruning evaluations", partial(evaluations, size=size)
    yield "pruning distances", partial(distances, rounds=rounds, size=size)
    yield "pruning ntn-div scores", partial(ntn_scores, rounds=rounds, size=size)
    yield "pruning ntn-div training", partial(ntn_training, size=size)


def evaluations(*, size: float = 1.0) -> Outcome:
    """Candidates on offer in an episode under kNN(30), against those of an unpruned one; counted, so without spread.

    Args:
        size: share of the full work, for tests.
    """
    topics = _topics(max(1, int(20 * size)))
    ours, theirs = (1_000 / _offered(topics, pruning) for pruning in (KNN(0.3), None))
    return Outcome(
        what=f"evaluations of an episode with kNN(30), N = {CANDIDATES}, {HORIZON} ranks (counted)",
        unit="episodes per 1,000 evaluations",
        ours=Figure.of([ours]),
        peer="no pruning",
        theirs=Figure.of([theirs]),
        ratio=Figure.of([ours / theirs]),
        target=3,
    )


def distances(*, rounds: int, size: float = 1.0) -> Outcome:
    """The distance matrix of 1,000 documents of width 384, against one product of two matrices of that size.

    Args:
        rounds: how many count.
        size: share of the full work, for tests.
    """
    rng = np.random.default_rng(0)
    one, other = (rng.standard_normal((_DOCUMENTS, _DISTANCE_WIDTH), dtype=np.float32) for _ in range(2))
    repeats = max(1, int(20 * size))

    def ours() -> int:
        for _ in range(repeats):
            neighbour_distances(one, "euclidean")
        return repeats

    def theirs() -> int:
        for _ in range(repeats):
            np.matmul(one, other.T)
        return repeats

    return race(
        f"distances of {_DOCUMENTS:,} documents, F = {_DISTANCE_WIDTH}",
        "matrices/s",
        Contender(name="neighbour_distances", run=ours),
        Contender(name="one matrix product", run=theirs),
        target=1 / 1.5,
        rounds=rounds,
    )


def ntn_scores(*, rounds: int, size: float = 1.0) -> Outcome:
    """NTN-DIV's scores of all candidates after ten were ranked, with 100 slices, against the limit set for them.

    Args:
        rounds: how many count.
        size: share of the full work, for tests.
    """
    from srd_agents.networks.features import FEATURES
    from srd_agents.supervised.ntn_div.network import NtnNetwork
    from srd_agents.supervised.ntn_div.scoring import TensorScorer

    topic, ranked = _topics(1)[0], np.arange(HORIZON)
    weights = _drawn_weights(NtnNetwork(WIDTH, SLICES, "max", len(FEATURES)))
    scorer = TensorScorer(weights, "max")
    repeats = max(1, int(200 * size))

    def ours() -> int:
        for _ in range(repeats):
            scorer.scores(topic, ranked)
        return repeats

    return against(
        f"NTN-DIV scores, z = {SLICES}, N = {CANDIDATES}, {HORIZON} ranked, F = {WIDTH}",
        "scorings/s",
        ours,
        1 / SCORING_LIMIT,
        source=f"limit of {1_000 * SCORING_LIMIT:g} ms",
        target=1,
        rounds=rounds,
    )


def ntn_training(*, size: float = 1.0) -> Outcome:
    """NTN-DIV trained on as many topics of as many candidates as a fold of TREC has, once, against the published hours.

    Args:
        size: share of the full work, for tests.
    """
    from srd_agents.registry import make_ranker
    from srd_agents.supervised.ntn_div.agent import NtnDiv

    topics = _topics(max(2, int(_TRAINING_TOPICS * size)))
    epochs = max(1, int(_EPOCHS * size))

    def ours() -> int:
        learner = make_ranker("ntn-div", slices=7, epochs=epochs, patience=0)
        if not isinstance(learner, NtnDiv):
            raise TypeError("ntn-div names another ranker here")
        learner.fit(topics)
        return 1

    return against(
        f"NTN-DIV training, z = 7, {_TRAINING_TOPICS} topics, N = {CANDIDATES}, F = {WIDTH}, {_EPOCHS} epochs",
        "trainings/s",
        ours,
        1 / PUBLISHED_TRAINING,
        source="published code, over 5 hours",
        target=PUBLISHED_TRAINING / TRAINING_LIMIT,
        rounds=1,
    )


def _topics(count: int) -> TopicSet:
    """Generated topics with as many candidates as TREC's have."""
    return generate("web", n_topics=count, seed=0, width=WIDTH, candidates=(CANDIDATES, CANDIDATES))


def _offered(topics: TopicSet, pruning: Pruning | None) -> float:
    """Candidates on offer, summed over the ranks of an episode, for random actions: the mean over topics."""
    core = SelectionCore(topics, horizon=HORIZON, pruning=pruning)
    core.reset(np.arange(len(topics)))
    rng, total = np.random.default_rng(0), 0
    while not core.done.all():
        total += int(core.allowed[~core.done].sum())
        core.step(np.where(core.allowed, rng.random(core.allowed.shape), -1.0).argmax(axis=1))
    return total / len(topics)


def _drawn_weights(network: NtnNetwork) -> dict[str, NDArray[Any]]:
    """Weights that mean nothing: what scoring costs does not depend on them."""
    import torch

    from srd_agents.training.checkpoint import module_arrays

    network.initialise(similarity=False, generator=torch.Generator().manual_seed(0))
    return module_arrays(network)
