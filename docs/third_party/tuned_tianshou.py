"""Tuned settings of Tianshou's DQN and PPO: `python tuned_tianshou.py`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from tianshou.algorithm import DQN, PPO
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net.common import ActionReprNet
from tuned import TASK, Curve, Network, record

from srd_gym.wrappers import TianshouObservation

ENVS = 16
DQN_SETTINGS: dict[str, Any] = {"gamma": 1.0, "target_update_freq": 250, "is_double": True}
DQN_LEARNING_RATE, DQN_EXPLORATION, DQN_BATCH, DQN_UPDATES_PER_STEP = 1e-3, (0.3, 0.02), 64, 0.15
PPO_SETTINGS: dict[str, Any] = {
    "gamma": 1.0,
    "gae_lambda": 0.95,
    "eps_clip": 0.2,
    "ent_coef": 0.01,
    "max_grad_norm": 0.5,
}
PPO_LEARNING_RATE, PPO_STEPS, PPO_PASSES, PPO_MINIBATCH = 1e-3, 640, 6, 160


class Part(ActionReprNet):
    """Scores or value of the network; as PPO's actor it masks. DQN masks by itself, and shows no mask."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.network, self.index = Network(), index

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> Any:
        """([B, N], state) or [B, 1]."""
        inner, masked = (obs.obs, True) if "mask" in obs.keys() else (obs, False)  # noqa: SIM118 - no mapping
        seen = {name: torch.as_tensor(part) for name, part in inner.items()}
        seen["action_mask"] = torch.as_tensor(obs.mask) if masked else torch.ones(seen["documents"].shape[:2])
        found = self.network(seen)[self.index]
        return found[:, None] if self.index else (found, state)


def collector(algorithm: Any, seed: int, size: int) -> Collector:
    """Plays the episodes."""
    envs = DummyVectorEnv([lambda: TianshouObservation(gym.make("srd_gym:SRD-v0", **TASK), flat=False)] * ENVS)
    envs.seed(seed)
    return Collector(algorithm, envs, VectorReplayBuffer(size, ENVS), exploration_noise=True)


def dqn(steps: int, seed: int, curve: Curve) -> None:
    """Train action values."""
    space: Any = gym.make("srd_gym:SRD-v0", **TASK).action_space
    scores = Part(0)
    policy = DiscreteQLearningPolicy(model=scores, action_space=space, eps_training=DQN_EXPLORATION[0])
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=DQN_LEARNING_RATE), **DQN_SETTINGS)
    high, low = DQN_EXPLORATION

    def explore(epoch: int, done: int) -> None:
        policy.set_eps_training(max(low, high - (high - low) * done / (steps / 2)))
        curve(done, scores.network.act)

    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector(algorithm, seed, 20_000),
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=160,
            batch_size=DQN_BATCH,
            update_step_num_gradient_steps_per_sample=DQN_UPDATES_PER_STEP,
            training_fn=explore,
            test_in_training=False,
            show_progress=False,
            verbose=False,
        )
    )
    curve(steps, scores.network.act)


def ppo(steps: int, seed: int, curve: Curve) -> None:
    """Train an actor and a critic that share nothing."""
    space: Any = gym.make("srd_gym:SRD-v0", **TASK).action_space
    scores = Part(0)
    policy = DiscreteActorPolicy(actor=scores, action_space=space)
    adam = AdamOptimizerFactory(lr=PPO_LEARNING_RATE)
    algorithm = PPO(policy=policy, critic=Part(1), optim=adam, **PPO_SETTINGS)
    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector(algorithm, seed, PPO_STEPS),
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=PPO_STEPS,
            batch_size=PPO_MINIBATCH,
            update_step_num_repetitions=PPO_PASSES,
            training_fn=lambda epoch, done: curve(done, scores.network.act),
            test_in_training=False,
            show_progress=False,
            verbose=False,
        )
    )
    curve(steps, scores.network.act)


if __name__ == "__main__":
    record("Tianshou", {"DQN": dqn, "PPO": ppo})
