"""What `make speed` measures: the cases of the speed table, with the peers they are held against.

Shapes: N candidates, F vector width, K ranks, T topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from srd_agents.registry import RANKERS, make_ranker
from srd_agents.reinforce.config import ReinforceConfig
from srd_agents.training.learner import Learner
from srd_gym.data import load_topics
from srd_gym.data.synthetic import generate
from srd_gym.measures import measure, references
from srd_gym.topic import TopicSet
from studies.speed.cores import core_cases
from studies.speed.environments import environment_cases
from studies.speed.heuristics import heuristic_cases
from studies.speed.large import large_cases
from studies.speed.machine import limit
from studies.speed.pruning import pruning_cases
from studies.speed.race import Contender, Outcome, against, compared, race
from studies.speed.relational import relational_cases
from studies.speed.sb3 import sb3_rollout
from studies.speed.scoring import WIDTHS, qmix_ranking, qmix_update
from studies.speed.search import TREES, search
from studies.speed.smooth import smooth_cases

PUBLISHED_EPISODE = 0.115
"""Seconds of processor time an episode of MDP-DIV's published Python code takes: 10 steps, 210 candidates, F = 100."""
PUBLISHED_RANKING = 0.017
"""Seconds it takes to rank the top 10 of 210."""

_REINFORCE_BEFORE = 500
"""Episodes of `reinforce` a second before its training was made faster, which the goal is three times."""
_REINFORCE_PRODUCTS, _RANKING_PRODUCTS = 22e6, 12e6
"""Multiply-adds in products of an episode of `reinforce`, 10 steps, and of its ranking the top 10 of 210."""
_SERP_GOAL, _SERP_SECONDS, _SERP_EPOCHS = 0.92, 5.0, 6
_RANKINGS = 100_000
_HORIZON = 10


def topics_of(count: int, candidates: int | tuple[int, int], width: int = 100) -> TopicSet:
    """Generated topics of a given size, like those of the TREC Web Track."""
    pair = (candidates, candidates) if isinstance(candidates, int) else candidates
    return generate("web", n_topics=count, seed=0, width=width, candidates=pair)


def scoring(depth: int, *, rounds: int, size: float = 1.0) -> Outcome:
    """alpha_nDCG@10 of rankings of 200 candidates, against pyndeval's evaluator on pre-parsed qrels.

    Args:
        depth: documents of each list that both get: 200 (all) or 10.
        rounds: how many count.
        size: share of the full work, for tests.

    Raises:
        ImportError: pyndeval is not installed.
    """
    import pyndeval

    topics = topics_of(50, 200, width=2)
    count = max(len(topics), int(_RANKINGS * size))
    rng = np.random.default_rng(0)
    owner = np.arange(count) % len(topics)
    rankings = np.argsort(rng.random((count, 200)), axis=1)[:, :depth].astype(np.int64)
    width = topics.max_subtopics
    judgments = np.zeros((len(topics), 200, width), dtype=np.int8)
    for i, topic in enumerate(topics):
        if topic.judgments is not None:
            judgments[i, :, : topic.n_subtopics] = topic.judgments
    bound = measure("alpha_nDCG@10").bind(references(topics, "candidates"), depth, width)

    def ours() -> int:
        bound.score_rankings(rankings, judgments, owner)
        return count

    lists = min(count, max(len(topics), int(2_000 * size)))
    lines = [
        (topics[i].query_id, topics[i].doc_ids[j], float(depth - rank))
        for i, ranking in zip(owner[:lists], rankings[:lists], strict=True)
        for rank, j in enumerate(ranking)
    ]
    qrels = [
        (topic.query_id, name, doc_id, int(grade))
        for topic in topics
        if topic.judgments is not None
        for doc_id, row in zip(topic.doc_ids, topic.judgments, strict=True)
        for name, grade in zip(topic.subtopic_ids, row, strict=True)
    ]
    evaluator = pyndeval.RelevanceEvaluator(qrels, ["alpha-nDCG@10"])

    def theirs() -> int:
        for _ in evaluator.evaluate_iter(lines):
            pass
        return lists

    what = f"alpha_nDCG@10 of {count:,} rankings, " + ("200 documents each" if depth == 200 else f"top {depth} only")
    return race(
        what,
        "rankings/s",
        Contender(name="srd_gym", run=ours),
        Contender(name="pyndeval RelevanceEvaluator", run=theirs),
        target=30 if depth == 200 else 5,
        rounds=rounds,
    )


def training(name: str, *, rounds: int, size: float = 1.0) -> Outcome:
    """Episodes of training: 10 steps, 210 candidates, F = 100, against the rate of MDP-DIV's published code."""
    topics = topics_of(64, 210).trainable()
    what, target, passes = {
        "mdp-div": ("MDP-DIV training, the paper's one-topic updates", 20.0, 4),
        "mdp-div-batched": ("MDP-DIV training, batched", 40_000 * PUBLISHED_EPISODE, 8),
        "reinforce": ("reinforce training, relations and directions", 3 * _REINFORCE_BEFORE * PUBLISHED_EPISODE, 1),
    }[name]
    epochs = max(1, int(passes * size))
    config = RANKERS.find(name).configure(epochs=epochs, horizon=_HORIZON)
    episodes = epochs * len(topics) * int(getattr(config, "rollouts", 1))

    def run() -> int:
        learner = make_ranker(name, epochs=epochs, horizon=_HORIZON)
        if isinstance(learner, Learner):
            learner.fit(topics, None, seed=0)
        return episodes

    return against(
        f"{what}, 10 steps, N = 210, F = 100",
        "episodes/s",
        run,
        1 / PUBLISHED_EPISODE,
        source="published code",
        target=target,
        rounds=rounds,
        limit=limit(multiply_adds=_products(config)),
    )


def _products(config: Any) -> float:
    """Multiply-adds in products of an episode's training: acting and twice as many in the gradient."""
    if isinstance(config, ReinforceConfig):
        return _REINFORCE_PRODUCTS
    # Candidates by two matrices, once for all episodes of a topic; each state by the candidates.
    projected = 210 * 100 * 2 * config.hidden / getattr(config, "rollouts", 1)
    return float(3 * (projected + _HORIZON * 210 * config.hidden))


def learning(*, rounds: int, size: float = 1.0) -> Outcome:
    """`reinforce` on 700 topics of serp until 300 unseen ones have alpha_nDCG@10 of 0.92, validation not counted.

    Args:
        rounds: seeds.
        size: share of topics and epochs, for tests.
    """
    topics = load_topics("synthetic:serp:1000:0")
    seen, unseen = topics[: max(10, int(700 * size))], topics[1_000 - max(10, int(300 * size)) :]

    def trained(seed: int) -> float:
        learner = make_ranker("reinforce", epochs=max(1, int(_SERP_EPOCHS * size)))
        if not isinstance(learner, Learner):
            raise TypeError("reinforce names another ranker here")
        for record in learner.fit(seen, unseen, seed=seed).records:
            if record["validation"] >= _SERP_GOAL:
                return 1 / float(record["cpu_seconds"])
        return 0.0  # not in these epochs

    return compared(
        f"reinforce, trainings until {_SERP_GOAL} on unseen topics of serp",
        "trainings/s",
        [trained(seed) for seed in range(rounds)],
        f"{_SERP_SECONDS:g} s a training",
        [1 / _SERP_SECONDS] * rounds,
        target=1.0,
    )


_BATCH_SECONDS = {"mdp-div": 0.00005, "reinforce": 0.0001}
"""What a topic of a batch should take at most."""


def ranking(name: str, *, batch: bool, rounds: int, size: float = 1.0) -> Outcome:
    """Ranking the top 10 of 210, alone or in batches, against the time of MDP-DIV's published code."""
    topics = topics_of(198, 210).trainable()
    learner = make_ranker(name, epochs=1)
    if isinstance(learner, Learner):
        learner.fit(topics[:20], None, seed=0)
    repeats = max(1, int(5 * size))
    chosen = list(topics)

    def alone() -> int:
        for _ in range(repeats):
            for topic in chosen:
                learner.rank(topic, _HORIZON)
        return repeats * len(chosen)

    def together() -> int:
        for _ in range(repeats):
            learner.rank_batch(chosen, _HORIZON)
        return repeats * len(chosen)

    return against(
        f"{'' if name == 'mdp-div' else f'{name}, '}top 10 of 210, {'198 topics at once' if batch else 'one topic'}",
        "topics/s",
        together if batch else alone,
        1 / PUBLISHED_RANKING,
        source="published code",
        target=PUBLISHED_RANKING / (_BATCH_SECONDS[name] if batch else 0.001),
        rounds=rounds,
        limit=limit(multiply_adds=_RANKING_PRODUCTS) if name == "reinforce" else None,
    )


def all_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The cases of the table: a name to show while it runs, and the case.

    Args:
        rounds: rounds that count, for each.
        size: share of the full work, for tests.
    """
    yield "scoring full lists", lambda: scoring(200, rounds=rounds, size=size)
    yield "scoring top 10", lambda: scoring(10, rounds=rounds, size=size)
    yield from environment_cases(rounds, size)
    yield "training, paper", lambda: training("mdp-div", rounds=rounds, size=size)
    yield "training, batched", lambda: training("mdp-div-batched", rounds=rounds, size=size)
    yield "training, reinforce", lambda: training("reinforce", rounds=rounds, size=size)
    yield "training, reinforce to 0.92", lambda: learning(rounds=rounds, size=size)
    for name in _BATCH_SECONDS:
        yield f"{name} ranking alone", partial(ranking, name, batch=False, rounds=rounds, size=size)
        yield f"{name} ranking in batches", partial(ranking, name, batch=True, rounds=rounds, size=size)
    yield from heuristic_cases(rounds, size)
    yield from large_cases(rounds, size)
    yield from smooth_cases(rounds, size)
    yield from relational_cases(rounds, size)
    for width in WIDTHS:
        yield f"qmix update, F = {width}", partial(qmix_update, width, rounds=rounds, size=size)
        yield f"qmix ranking alone, F = {width}", partial(qmix_ranking, width, batch=False, rounds=rounds, size=size)
        yield (
            f"qmix ranking in batches, F = {width}",
            partial(qmix_ranking, width, batch=True, rounds=rounds, size=size),
        )
    for trees in (TREES, 1):
        many = f"{trees} topics" if trees > 1 else "one topic"
        yield f"m2div search, {many}", partial(search, trees, training=False, rounds=rounds, size=size)
    yield "m2div search in training", partial(search, TREES, training=True, rounds=rounds, size=size)
    yield from pruning_cases(rounds, size)
    yield "sb3 rollout", partial(sb3_rollout, 64, rounds=rounds, size=size)
    yield from core_cases(rounds, size)
