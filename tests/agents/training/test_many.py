"""Seeds that are trained at once are those that are trained one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from small_topics import judged_topic, refused

from srd_agents.registry import make_ranker
from srd_agents.training.validation import Validation
from srd_gym.topic import TopicSet

SIZES = (12, 7, 4, 9, 12, 12, 30, 8, 12, 11)


def some_topics(sizes: Sequence[int] = SIZES) -> TopicSet:
    return TopicSet([judged_topic(n, seed, 6) for seed, n in enumerate(sizes)], name="sizes")


@pytest.mark.parametrize(("name", "options"), [
    ("mdp-div-batched", {}),
    ("mdp-div-batched", {"reward": "Clicks(model='dbn')", "pruning": "knn:0.3"}),
    ("mdp-div-batched", {"patience": 1, "epochs": 6, "learning_rate": 0.3}),
    ("reinforce", {"ema_decay": 0.5}),
    ("reinforce", {"init": "random", "relations_only": 0.0, "lr_decay_epochs": 0, "reward": "Clicks(model='dbn')"}),
    ("reinforce", {"parts": "relations", "horizon": 3, "pruning": "knn:0.3"}),
    ("reinforce", {"parts": "directions", "patience": 1, "epochs": 6, "learning_rate": 0.01}),
    ("qmix", {}),
    ("qmix", {"epsilon_start": 0.0, "epsilon_end": 0.0, "reward": "Clicks(model='dbn')"}),
    ("qmix", {"patience": 1, "epochs": 6, "replay_capacity": 5, "batch_size": 4}),
    ("ma4div", {"max_candidates": 12, "batch_topics": 7, "n_scores": 4}),
    ("vdn", {}),
    ("iql", {"epsilon_episodes": 100, "standardize": False}),
], ids=str)  # fmt: skip
def test_each_seed_learns_what_it_would_learn_alone(name: str, options: dict[str, Any]) -> None:
    mixed = name in ("reinforce", "mdp-div-batched") or not options
    topics, seeds = some_topics(SIZES if mixed else [12] * 10), (3, 0, 11)
    config = {"epochs": 2, "batch_topics": 3, **options}
    together: Any = make_ranker(name, **config)
    found = together.fit_many(topics[3:], topics[:3], seeds=seeds, measures=["StRecall@5"])
    assert together.vector_width is None
    value = Validation(topics[:3], together.config.validation_measure)
    for seed, ranker in zip(seeds, found, strict=True):
        alone: Any = make_ranker(name, **config)
        history = alone.fit(topics[3:], topics[:3], seed=seed, measures=["StRecall@5"])
        assert (ranker.seed, ranker.history.stopped_by) == (seed, history.stopped_by)
        assert ranker.history.best_epoch == history.best_epoch
        assert value.mean(ranker) == ranker.history.best_validation
        for ours, theirs in zip(ranker.history.records, history.records, strict=True):
            skipped = {"seconds", "cpu_seconds"}
            assert {name: ours[name] for name in theirs if name not in skipped} == pytest.approx(
                {name: theirs[name] for name in theirs if name not in skipped}, rel=5e-3, abs=1e-4
            )
        for part, weights in alone._weights().items():
            apart = np.linalg.norm(ranker._weights()[part] - weights)  # Adam makes steps of rounding too
            assert apart <= 0.02 * np.linalg.norm(weights) + 1e-3, part


def test_seeds_share_nothing_when_they_are_trained() -> None:
    topics = some_topics()
    first, second = make_ranker("mdp-div-batched", epochs=1).fit_many(topics, seeds=range(2))  # type: ignore[attr-defined]
    before = second._weights()
    first._network.query_weight.data.zero_()
    for name, weights in second._weights().items():
        np.testing.assert_array_equal(weights, before[name])


def test_what_cannot_be_is_refused() -> None:
    ranker: Any = make_ranker("mdp-div-batched", epochs=1)
    refused(lambda: ranker.fit_many(some_topics(), seeds=[]), "at least one")
    refused(lambda: ranker.fit_many(some_topics(), seeds=[1, 1]), "each once")
    refused(lambda: ranker.fit_many(some_topics(), seeds=[-1]), "seed")
    own: Any = make_ranker("mdp-div-batched", epochs=1, pruning="knn:0.3+ranker:0.5:step:mmr")
    refused(lambda: own.fit_many(some_topics(), seeds=[1]), "no form in tensors", TypeError)
