"""Registers the environments with Gymnasium; importing `srd_gym` does it."""

from __future__ import annotations

import gymnasium as gym

ENTRY_POINT = "srd_gym.envs.selection:SelectionEnv"
VECTOR_ENTRY_POINT = "srd_gym.envs.selection_vector:SelectionVectorEnv"


def register() -> None:
    """Register `SRD-v0`, and `SRD-shared-v0`, which hands documents out uncopied and so has the checker off."""
    # No max_episode_steps: a time limit would truncate, while the horizon is the task's own end.
    gym.register("SRD-v0", entry_point=ENTRY_POINT, vector_entry_point=VECTOR_ENTRY_POINT)
    gym.register(
        "SRD-shared-v0",
        entry_point=ENTRY_POINT,
        vector_entry_point=VECTOR_ENTRY_POINT,
        disable_env_checker=True,
        kwargs={"share_documents": True},
    )
