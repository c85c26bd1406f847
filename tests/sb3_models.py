"""Small untrained models of Stable-Baselines3 and sb3-contrib on `SRD-v0`."""

from __future__ import annotations

from typing import Any

import sb3_contrib as contrib
import stable_baselines3 as sb3

from srd_agents.sb3.policies import policy_arguments, policy_for

_STEPS: dict[str, Any] = {"n_steps": 20}
_BATCHES = _STEPS | {"batch_size": 20}
OF: dict[str, tuple[Any, dict[str, Any]]] = {
    "MaskablePPO": (contrib.MaskablePPO, _BATCHES | {"n_epochs": 1}),
    "PPO": (sb3.PPO, _BATCHES | {"n_epochs": 1}),
    "A2C": (sb3.A2C, _STEPS),
    "TRPO": (contrib.TRPO, _BATCHES),
    "DQN": (sb3.DQN, {"buffer_size": 200, "learning_starts": 20, "batch_size": 8}),
}
"""The algorithms, and options that make them quick."""


def model_of(name: str, env: Any, *, ours: bool = True, **options: Any) -> Any:
    """A model with our policy, or with the stock one for dictionaries."""
    algorithm, defaults = OF[name]
    policy = policy_for(algorithm) if ours else "MultiInputPolicy"
    kwargs = policy_arguments(env, hidden=8) if ours else None
    return algorithm(policy, env, policy_kwargs=kwargs, **{"device": "cpu", "seed": 0, **defaults, **options})
