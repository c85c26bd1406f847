"""Tianshou on the forms that its page does not show: observations left a dictionary, looked up by the network."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from wrapper_stacks import TOPICS

from srd_gym.wrappers import TianshouObservation, lookup, tables


class Scores(torch.nn.Module):
    """A score for each candidate from itself and the query; compact observations are completed first."""

    def __init__(self, known: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.known = {name: torch.from_numpy(table.copy()) for name, table in known.items()}
        self.layer = torch.nn.Linear(2 * known["query"].shape[-1], 1)

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        seen = {name: torch.as_tensor(obs[name]) for name in obs.get_keys()}
        if "topic" in seen:
            seen = lookup(seen, self.known)
        query = seen["query"][:, None].expand_as(seen["documents"])
        return self.layer(torch.cat([seen["documents"], query], -1)).squeeze(-1), state


@pytest.mark.parametrize("observation", ["full", "compact"])
def test_dqn_masks_and_keeps_the_small_observation(observation: Any) -> None:
    def make() -> gym.Env[Any, Any]:
        return TianshouObservation(gym.make("SRD-v0", topics=TOPICS, horizon=4, observation=observation), flat=False)

    np.random.seed(0)  # noqa: NPY002 Tianshou explores with it
    torch.manual_seed(0)
    env = make()
    policy = DiscreteQLearningPolicy(model=Scores(tables(env)), action_space=env.action_space, eps_training=0.5)
    dqn = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=20)
    experience = Collector(dqn, DummyVectorEnv([make] * 2), VectorReplayBuffer(400, 2))
    before = policy.model.layer.weight.detach().clone()
    dqn.run_training(
        OffPolicyTrainerParams(
            training_collector=experience, max_epochs=1, epoch_num_steps=200, collection_step_num_env_steps=20,
            batch_size=32, update_step_num_gradient_steps_per_sample=0.1, show_progress=False, verbose=False,
        )
    )  # fmt: skip
    assert not torch.equal(before, policy.model.layer.weight)
    assert not experience.buffer.info["invalid_action"].any()
    kept = {"full": {"query", "documents", "retrieval_scores", "ranking"}, "compact": {"topic", "ranking"}}
    assert set(experience.buffer.obs.obs.get_keys()) == kept[observation]
