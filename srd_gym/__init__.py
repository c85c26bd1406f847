"""Search result diversification as reinforcement-learning environments.

`gymnasium.make("srd_gym:SRD-v0")` imports the package, which registers the environments, in every process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.envs.registration import WrapperSpec

from srd_gym.measures import parse_measure
from srd_gym.topic import Topic, TopicSet

if TYPE_CHECKING:
    from srd_gym.core.users import Clicks
    from srd_gym.data import load_topics

__all__ = ["Clicks", "Topic", "TopicSet", "load_topics", "parse_measure"]


def __getattr__(name: str) -> Any:
    """Names imported on first use: pyarrow, with which `load_topics` reads files, is slow to import."""
    if name == "Clicks":
        return import_module("srd_gym.core.users").Clicks
    if name == "__version__":
        return import_module("importlib.metadata").version("srd-gym")
    if name == "scoring_v0":
        return import_module("srd_gym.scoring_v0")
    if name == "load_topics":
        return import_module("srd_gym.data").load_topics
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_ENTRY_POINTS: dict[str, Any] = {
    "entry_point": "srd_gym.envs.selection:SelectionEnv",
    "vector_entry_point": "srd_gym.envs.selection_vector:SelectionVectorEnv",
}
# No max_episode_steps: a time limit would truncate, while the horizon is the task's own end.
# Thresholds: nine tenths of the oracle's mean return with the default topics and reward (docs/environments.md).
gym.register("SRD-v0", **_ENTRY_POINTS, reward_threshold=7.0)
# Hands documents out uncopied, which Gymnasium's checker would refuse.
gym.register(
    "SRD-shared-v0",
    **_ENTRY_POINTS,
    reward_threshold=7.0,
    disable_env_checker=True,
    kwargs={"share_documents": True},
)
# Pays the clicks of a simulated user in place of judgments.
gym.register("SRD-Click-v0", **_ENTRY_POINTS, reward_threshold=0.64, kwargs={"reward": "Clicks"})
# Rewards relevance and diversity apart, as MO-Gymnasium does.
gym.register(
    "SRD-MO-v0",
    entry_point=_ENTRY_POINTS["entry_point"],
    additional_wrappers=(WrapperSpec("VectorReward", "srd_gym.wrappers:VectorReward", {}),),
)
