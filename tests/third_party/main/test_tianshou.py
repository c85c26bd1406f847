"""Tianshou on the forms that its page does not show: observations left a dictionary, looked up by the network."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from small_topics import judged_topic
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from wrapper_stacks import TOPICS

from srd_gym import TopicSet
from srd_gym.envs import SelectionEnv
from srd_gym.wrappers import TianshouObservation, expand_observation, topic_tables


class Scores(torch.nn.Module):
    """A score for each candidate from itself and the query; compact observations are completed first."""

    def __init__(self, known: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.known = {name: torch.from_numpy(table.copy()) for name, table in known.items()}
        self.layer = torch.nn.Linear(2 * known["query"].shape[-1], 1)

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        seen = {name: torch.as_tensor(obs[name]) for name in obs.get_keys()}
        if "topic" in seen:
            seen = expand_observation(seen, self.known)
        query = seen["query"][:, None].expand_as(seen["documents"])
        return self.layer(torch.cat([seen["documents"], query], -1)).squeeze(-1), state


@pytest.mark.parametrize("observation", ["full", "compact"])
def test_dqn_masks_and_keeps_the_small_observation(observation: Any) -> None:
    def make() -> gym.Env[Any, Any]:
        return TianshouObservation(gym.make("SRD-v0", topics=TOPICS, horizon=4, observation=observation), flat=False)

    np.random.seed(0)  # noqa: NPY002 Tianshou explores with it
    torch.manual_seed(0)
    env = make()
    policy = DiscreteQLearningPolicy(model=Scores(topic_tables(env)), action_space=env.action_space, eps_training=0.5)
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


def test_a_buffer_keeps_infos_of_topics_with_fewer_candidates_than_ranks() -> None:
    """Rankings are arrays of one length from reset to end: none is stored as zeros, which would be document 0."""
    topics = TopicSet([judged_topic(n, width=4) for n in (2, 3, 9)], name="few")

    def make() -> gym.Env[Any, Any]:
        return TianshouObservation(SelectionEnv(topics, horizon=5), flat=False)

    torch.manual_seed(0)
    env = make()
    policy = DiscreteQLearningPolicy(model=Scores(topic_tables(env)), action_space=env.action_space, eps_training=1.0)
    dqn = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3))
    experience = Collector(dqn, DummyVectorEnv([make] * 2), VectorReplayBuffer(200, 2))
    experience.reset()
    experience.collect(n_step=100)
    kept = experience.buffer[experience.buffer.sample_indices(0)]  # all
    rankings = kept.info["ranking"]
    assert rankings.shape == (len(kept), 5)
    np.testing.assert_array_equal(rankings, kept.obs_next.obs.ranking)
    filled = (rankings >= 0).sum(axis=1)
    assert set(filled[kept.terminated].tolist()) == {2, 3, 5}
    assert not kept.info["wasted"].any()
    for ranking, count in zip(rankings, filled, strict=True):
        assert (ranking[count:] == -1).all()
        assert len(set(ranking[:count].tolist())) == count
