"""RLlib's runners are worker processes: they know the environments by the id with its module, and by an import."""

from __future__ import annotations

import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

from srd_gym.wrappers import FlatObservation


def made(config: dict[str, object]) -> object:
    import gymnasium as gym

    return FlatObservation(gym.make("srd_gym:SRD-v0", **config))


def scoring(config: dict[str, object]) -> object:
    from srd_gym import scoring_v0

    return ParallelPettingZooEnv(scoring_v0.parallel_env(**config))


@pytest.mark.usefixtures("cluster")
def test_runners_in_processes_of_their_own_make_the_environment() -> None:
    register_env("srd-workers", made)
    trained(PPOConfig().environment("srd-workers", env_config={"topics": "synthetic:tiny:5", "horizon": 3}))


@pytest.mark.usefixtures("cluster")
def test_runners_in_processes_of_their_own_play_scoring() -> None:
    register_env("scoring-workers", scoring)
    options = {"topics": "synthetic:tiny:5", "n_scores": 5, "observation": "flat"}
    config = PPOConfig().environment("scoring-workers", env_config=options)
    trained(config.multi_agent(policies={"document"}, policy_mapping_fn=lambda agent, episode, **kwargs: "document"))


def trained(config: PPOConfig) -> None:
    """Train for a moment on what one runner, in its own process, samples."""
    config = config.env_runners(num_env_runners=1)
    algorithm = config.training(train_batch_size_per_learner=60, minibatch_size=30, num_epochs=1).build_algo()
    try:
        assert algorithm.train()["env_runners"]["num_env_steps_sampled"] >= 60
    finally:
        algorithm.stop()
