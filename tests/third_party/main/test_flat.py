"""Flat observations under stock networks of Stable-Baselines3 and sb3-contrib."""

from __future__ import annotations

import gymnasium as gym
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv
from wrapper_stacks import TOPICS

from srd_gym.wrappers import FlatObservation


@pytest.mark.parametrize("kind", [PPO, MaskablePPO])
def test_a_stock_policy_learns_from_one_vector(kind: type[PPO] | type[MaskablePPO]) -> None:
    env = DummyVecEnv([lambda: FlatObservation(gym.make("SRD-v0", topics=TOPICS, horizon=4))] * 2)
    model = kind("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0)
    model.learn(128)
    wasted, seen = [], env.reset()
    for _ in range(8):
        masks = {"action_masks": get_action_masks(env)} if kind is MaskablePPO else {}
        seen, _, _, infos = env.step(model.predict(seen, deterministic=True, **masks)[0])
        wasted += [info["invalid_action"] for info in infos]
    assert any(wasted) is (kind is PPO), "masks are found through the wrapper, and PPO cannot know them so soon"
