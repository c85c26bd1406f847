"""SRD-v0 under the checkers and learners of other libraries; skipped where they are not installed."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import srd_gym  # noqa: F401 registers the environments

TOPICS = "synthetic:tiny:20"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"mask_dtype": "bool"}, {"observation": "compact"}, {"horizon": None}, {"pay": "end"},
     {"reward": "alpha_nDCG@5"}, {"share_documents": True, "disable_env_checker": True}],
    ids=str,
)  # fmt: skip
def test_stable_baselines3s_checker(arguments: dict[str, Any]) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        # It would rather have images than matrices, and no integers beyond Discrete: advice, not errors.
        warnings.simplefilter("ignore", UserWarning)
        checker.check_env(gym.make("SRD-v0", topics=TOPICS, **arguments), warn=True)


def test_stable_baselines3_makes_vector_environments_of_it() -> None:
    make_vec_env = pytest.importorskip("stable_baselines3.common.env_util").make_vec_env
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it asks for render_mode="rgb_array", which Gymnasium notes
        vector = make_vec_env("SRD-v0", n_envs=2, seed=0, env_kwargs={"topics": TOPICS})
    assert vector.reset()["documents"].shape[0] == 2
    masks = np.stack(vector.env_method("action_masks"))
    assert masks.dtype == np.bool_
    _, rewards, *_ = vector.step(masks.argmax(axis=1))
    assert rewards.shape == (2,)


@pytest.mark.slow
def test_maskable_ppo_never_wastes_a_rank() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    env = gym.make("SRD-v0", topics=TOPICS, horizon=5)
    model = contrib.MaskablePPO("MultiInputPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=0)
    model.learn(256)
    observation, info = env.reset(seed=0)
    terminated = False
    while not terminated:
        action, _ = model.predict(observation, action_masks=info["action_mask"].astype(bool), deterministic=True)
        observation, _, terminated, _, info = env.step(action)
        assert info["invalid_action"] is False
    assert len(info["ranking"]) == 5
