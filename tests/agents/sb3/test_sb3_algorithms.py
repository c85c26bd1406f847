"""Algorithms of Stable-Baselines3 as rows of recipes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_topics import refused

from srd_agents.integrations.sb3_features import OnFeatures
from srd_agents.sb3.algorithms import Sb3Algorithm, Sb3AlgorithmConfig
from srd_agents.training.validation import Validation
from srd_gym.data import generate
from srd_gym.testing import check_ranker

FOLD = generate("tiny", n_topics=20, seed=0).folds(4, seed=0)[0]
FAST: dict[str, dict[str, Any]] = {
    "MaskablePPO": {"n_steps": 10, "batch_size": 20},
    "TRPO": {"n_steps": 10, "batch_size": 20},
    "PPO": {"n_steps": 10, "batch_size": 20},
    "A2C": {},
    "DQN": {"learning_starts": 20, "buffer_size": 100},
}


def fitted(
    algorithm: str, steps: int = 60, validations: int = 2, kind: type[Sb3Algorithm] = Sb3Algorithm, **others: Any
) -> Sb3Algorithm:
    config = Sb3AlgorithmConfig(
        algorithm=algorithm,  # type: ignore[arg-type]
        steps=steps,
        environments=2,
        validations=validations,
        options=FAST[algorithm],
        **others,
    )
    learner = kind(config)
    told = learner.fit(FOLD.train, FOLD.validation, seed=1)
    assert steps <= told["steps"] <= steps + 40
    return learner


@pytest.mark.parametrize("algorithm", FAST)
def test_each_algorithm_trains_and_ranks(algorithm: str) -> None:
    check_ranker(fitted(algorithm), list(FOLD.test)[:1])


@pytest.mark.parametrize(("algorithm", "policy"), [("A2C", "candidates"), ("A2C", "stock"), ("DQN", "stock")])
def test_episodes_end_with_the_candidates_of_their_topic(algorithm: Any, policy: Any) -> None:
    four = generate("tiny", n_topics=6, seed=1, candidates=(4, 4))
    config = Sb3AlgorithmConfig(algorithm=algorithm, policy=policy, steps=60, environments=2, options=FAST[algorithm])
    told = Sb3Algorithm(config).fit(four, FOLD.validation)
    assert told["episodes"] == 2 * (told["steps"] // 2 // 4), "two environments, four steps an episode"


def test_the_same_seed_learns_the_same() -> None:
    one, other = (fitted("A2C").rank_batch(FOLD.test, 10) for _ in range(2))
    assert [ranking.tolist() for ranking in one] == [ranking.tolist() for ranking in other]


def test_a_stock_policy_takes_full_observations_or_features() -> None:
    check_ranker(fitted("PPO", policy="stock"), list(FOLD.test)[:1])
    check_ranker(fitted("MaskablePPO", kind=OnFeatures, policy="stock"), list(FOLD.test)[:1])


def test_the_weights_that_validate_best_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    plain = Validation.mean

    def mean(self: Validation, ranker: Any) -> float:
        seen.append(plain(self, ranker))
        return seen[-1]

    monkeypatch.setattr(Validation, "mean", mean)
    learner = fitted("A2C", steps=400, validations=8)
    assert len(seen) >= 8
    assert len({*seen}) > 1
    assert plain(Validation(FOLD.validation, "alpha_nDCG@10"), learner) == max(seen)


def test_every_place_plays_each_topic_once_an_epoch() -> None:
    from srd_agents.sb3.algorithms import _ShuffledVecEnv
    from srd_gym.core import SelectionCore

    env = _ShuffledVecEnv(SelectionCore(FOLD.train, horizon=3), 5, seed=0)
    env.reset()
    dealt = [env.core.topic_index.copy()]
    while len(dealt) < len(FOLD.train):
        env.step_async(env.core.allowed.argmax(axis=1))
        if env.step_wait()[2].all():
            dealt.append(env.core.topic_index.copy())
    played = np.concatenate(dealt).reshape(-1, len(FOLD.train))
    assert (np.sort(played, axis=1) == np.arange(len(FOLD.train))).all()


def test_bad_input_is_refused() -> None:
    refused(lambda: Sb3AlgorithmConfig(algorithm="PPPO"), "PPO")  # type: ignore[arg-type]
    refused(lambda: Sb3Algorithm(Sb3AlgorithmConfig()).rank(FOLD.test[0], 5), "not trained")
    refused(lambda: Sb3Algorithm(Sb3AlgorithmConfig()).fit(FOLD.train, FOLD.train), "in training and in validation")
