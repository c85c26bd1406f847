"""What these libraries say where an environment does not suit them: an error that names the reason."""

from __future__ import annotations

import gymnasium as gym
import pytest
import supersuit
from stable_baselines3 import DQN, PPO, SAC
from wrapper_stacks import TOPICS

from srd_gym import scoring_v0
from srd_gym.wrappers import TianshouObservation


def test_stable_baselines3_refuses_algorithms_for_continuous_actions() -> None:
    with pytest.raises(AssertionError, match=r"only supports .*Box.* as action spaces but Discrete"):
        SAC("MultiInputPolicy", gym.make("SRD-v0", topics=TOPICS))


def test_stable_baselines3_asks_for_the_policy_that_reads_dictionaries() -> None:
    with pytest.raises(ValueError, match="You must use `MultiInputPolicy`"):
        DQN("MlpPolicy", gym.make("SRD-v0", topics=TOPICS))


def test_stable_baselines3_refuses_nested_observations() -> None:
    with pytest.raises(NotImplementedError, match=r"[Nn]ested"):
        PPO("MultiInputPolicy", TianshouObservation(gym.make("SRD-v0", topics=TOPICS), flat=False))


def test_supersuit_refuses_documents_that_come_and_go() -> None:
    rows = supersuit.pettingzoo_env_to_vec_env_v1(
        scoring_v0.parallel_env("synthetic:tiny:20", observation="flat", agents="present")
    )
    with pytest.raises(AssertionError, match="environment has agent death"):
        [rows.reset() for _ in range(20)]
