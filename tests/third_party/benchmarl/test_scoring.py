"""`scoring_v0` behind the TorchRL that BenchMARL pins: specs, state, and padding that can only score 0."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import check_env_specs

from srd_gym import scoring_v0
from srd_gym.data.synthetic import generate

TOPICS = generate("tiny", n_topics=6, seed=0)


def wrapped(observation: str) -> PettingZooWrapper:
    env = scoring_v0.parallel_env(topics=TOPICS, n_scores=4, observation=observation)
    return PettingZooWrapper(env, return_state=True, categorical_actions=True, seed=0)


@pytest.mark.parametrize("observation", ["full", "local", "flat"])
def test_specs_hold(observation: str) -> None:
    env = wrapped(observation)
    check_env_specs(env, seed=0)
    n, width = TOPICS.max_candidates, TOPICS.vector_width
    assert env.observation_spec["state"].shape == (width * (1 + n),)
    assert env.group_map == {"doc": [f"doc_{i}" for i in range(n)]}


def test_padding_scores_zero_and_all_are_paid_alike() -> None:
    env = wrapped("local")
    padded = set()
    for _ in range(2 * len(TOPICS)):
        episode = env.rollout(5)
        assert len(episode) == 1
        padding = episode["doc", "info", "padding"][0].bool()
        padded.add(int(padding.sum()))
        assert (episode["doc", "action"][0][padding] == 0).all()
        assert (episode["doc", "action_mask"][0].sum(-1) == torch.where(padding, 1, 4)).all()
        assert episode["next", "doc", "reward"].unique().numel() == 1
    assert padded == {TOPICS.max_candidates - topic.n_candidates for topic in TOPICS}
    assert max(padded) > 0


def test_state_is_query_and_documents() -> None:
    env = wrapped("local")
    episode = env.rollout(1)[0]
    documents = episode["doc", "observation", "document"]
    query = episode["doc", "observation", "query"][0]
    np.testing.assert_array_equal(episode["state"], torch.cat([query, documents.reshape(-1)]))
