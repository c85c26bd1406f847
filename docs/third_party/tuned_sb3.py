"""Tuned settings of Stable-Baselines3's PPO and DQN and of sb3-contrib's MaskablePPO: `python tuned_sb3.py`."""

from __future__ import annotations

from typing import Any

from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from tuned import TASK, Curve, record

from srd_agents.sb3.policies import policy_arguments, policy_for

ON_POLICY = {
    "n_steps": 40,
    "batch_size": 160,
    "n_epochs": 6,
    "learning_rate": 1e-3,
    "gamma": 1.0,  # the return is then the measure
    "gae_lambda": 0.9,
    "ent_coef": 0.0,
}
SETTINGS: dict[type[Any], dict[str, Any]] = {
    PPO: ON_POLICY,
    MaskablePPO: ON_POLICY,
    DQN: {
        "buffer_size": 20_000,
        "learning_starts": 1_000,
        "batch_size": 64,
        "train_freq": 2,
        "gradient_steps": 2,
        "learning_rate": 1e-3,
        "gamma": 1.0,
        "target_update_interval": 400,
        "exploration_fraction": 0.3,
        "exploration_final_eps": 0.02,
    },
}


class Points(BaseCallback):
    """Adds to a curve."""

    def __init__(self, curve: Curve, masked: bool) -> None:
        super().__init__()
        self.curve, self.masked = curve, masked

    def _on_step(self) -> bool:
        def act(observation: dict[str, Any]) -> Any:
            masks = {"action_masks": observation["action_mask"].astype(bool)} if self.masked else {}
            return self.model.predict(observation, deterministic=True, **masks)[0]

        self.curve(self.num_timesteps, act)
        return True


def training(kind: type[Any]) -> Any:
    """How this algorithm trains."""

    def train(steps: int, seed: int, curve: Curve) -> None:
        env = make_vec_env("srd_gym:SRD-v0", n_envs=8 if kind is DQN else 16, seed=seed, env_kwargs=TASK)
        stock = ("MultiInputPolicy", {"net_arch": [128, 128]}) if kind is PPO else None
        policy, arguments = stock or (policy_for(kind), policy_arguments(env))
        model = kind(policy, env, policy_kwargs=arguments, seed=seed, **SETTINGS[kind])
        model.learn(steps, callback=Points(curve, kind is MaskablePPO))

    return train


if __name__ == "__main__":
    names = {PPO: "PPO (stock policy)", MaskablePPO: "MaskablePPO", DQN: "DQN"}
    record("Stable-Baselines3", {names[kind]: training(kind) for kind in SETTINGS})
