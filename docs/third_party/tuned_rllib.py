"""Tuned settings of RLlib's PPO: `python tuned_rllib.py`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env
from tuned import TASK, Curve, Network, record

SETTINGS: dict[str, Any] = {
    "train_batch_size": 640,
    "minibatch_size": 160,
    "num_epochs": 6,
    "lr": 1e-3,
    "gamma": 1.0,
    "lambda_": 0.95,
    "clip_param": 0.2,
    "vf_clip_param": 1.0,
    "entropy_coeff": 0.01,
    "use_kl_loss": False,
    "grad_clip": 0.5,
}


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """The network as RLlib wants it: an actor and a critic that share nothing."""

    def setup(self) -> None:
        """Make the networks."""
        self.actor, self.critic = Network(), Network()

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.actor(batch[Columns.OBS])[0]}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """[B]."""
        value: torch.Tensor = self.critic(batch[Columns.OBS])[1]
        return value


def ppo(steps: int, seed: int, curve: Curve) -> None:
    """Train in this process."""
    config = (
        PPOConfig()
        .environment("srd")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedModule))
        .training(**SETTINGS)
        .debugging(seed=seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    done = 0
    while True:
        module: Any = algorithm.get_module()
        curve(done, module.actor.act)
        if done >= steps:
            break
        done = int(algorithm.train()["num_env_steps_sampled_lifetime"])
    algorithm.stop()


if __name__ == "__main__":
    register_env("srd", lambda config: gym.make("srd_gym:SRD-v0", **TASK, **config))
    ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR")
    record("RLlib", {"PPO": ppo})
    ray.shutdown()
