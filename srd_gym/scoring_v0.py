"""The multi-agent environment, in PettingZoo's manner: `from srd_gym import scoring_v0; scoring_v0.parallel_env()`."""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv
from pettingzoo.utils.conversions import parallel_to_aec

from srd_gym.checks import hands_on
from srd_gym.core.arrays import TopicSource
from srd_gym.envs.scoring import ScoringEnv

parallel_env = ScoringEnv


@hands_on(ScoringEnv)
def env(topics: TopicSource | None = None, **options: Any) -> AECEnv:
    """The same environment with agents that act one after the other (PettingZoo's AEC interface).

    Documents score themselves in the order of `possible_agents`; the list is sorted and paid after the last one.
    `env().unwrapped` is the parallel environment, with `ranking` and `measures`.

    Args:
        topics: as for `parallel_env`.
        **options: what else it takes.

    Raises:
        TypeError, ValueError: as `parallel_env`.
    """
    return parallel_to_aec(ScoringEnv(topics, **options))


__all__ = ["env", "parallel_env"]
