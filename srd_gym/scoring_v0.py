"""The multi-agent environment, in PettingZoo's manner: `from srd_gym import scoring_v0; scoring_v0.parallel_env()`.

`scoring_v0.vector_env(num_envs=64)` has 64 queries at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from pettingzoo import AECEnv
from pettingzoo.utils.conversions import parallel_to_aec

from srd_gym.envs.scoring import ScoringEnv
from srd_gym.envs.scoring_vector import ScoringVectorEnv

P = ParamSpec("P")

parallel_env = ScoringEnv
vector_env = ScoringVectorEnv


def _in_turns(make: Callable[P, ScoringEnv]) -> Callable[P, AECEnv]:
    """Make environments in which agents act one after the other, of the same arguments."""

    @functools.wraps(make, assigned=(), updated=())
    def env(*arguments: P.args, **options: P.kwargs) -> AECEnv:
        """The same environment with agents that act one after the other (PettingZoo's AEC interface).

        Documents score themselves in the order of `possible_agents`; the list is sorted and paid after the last one.
        `env().unwrapped` is the parallel environment, with `ranking` and `measures`. Arguments and errors as
        `parallel_env`.
        """
        return parallel_to_aec(make(*arguments, **options))

    return env


env = _in_turns(ScoringEnv)

__all__ = ["env", "parallel_env", "vector_env"]
