"""RLlib's runners are worker processes: they know the environment by the id with its module."""

from __future__ import annotations

import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

from srd_gym.wrappers import FlatObservation


def made(config: dict[str, object]) -> object:
    import gymnasium as gym

    return FlatObservation(gym.make("srd_gym:SRD-v0", **config))


@pytest.mark.usefixtures("cluster")
def test_runners_in_processes_of_their_own_make_the_environment() -> None:
    register_env("srd-workers", made)
    config = (
        PPOConfig()
        .environment("srd-workers", env_config={"topics": "synthetic:tiny:5", "horizon": 3})
        .env_runners(num_env_runners=1)
        .training(train_batch_size_per_learner=60, minibatch_size=30, num_epochs=1)
    )
    algorithm = config.build_algo()
    try:
        assert algorithm.train()["env_runners"]["num_env_steps_sampled"] >= 60
    finally:
        algorithm.stop()
