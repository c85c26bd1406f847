"""Pruning as wrappers: sugar for the argument `pruning` of `SRD-v0`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from srd_gym.envs.observation import Observation
from srd_gym.envs.selection import SelectionEnv
from srd_gym.protocols import BoolArray, Pruning
from srd_gym.pruning import KNN, ByRanker, Chain
from srd_gym.pruning.by_ranker import When
from srd_gym.pruning.distances import Metric

SelectionWrapper = gym.Wrapper[Observation, np.int64, Observation, np.int64]


class KNNPruning(SelectionWrapper, RecordConstructorArgs):
    """Installs `srd_gym.pruning.KNN` in the environment, after strategies that are there already.

    Wrap before `reset`: a running episode is not pruned backwards.

    Args:
        env: `SRD-v0`, wrapped or not.
        fraction: as `KNN`.
        k: as `KNN`.
        metric: as `KNN`.

    Raises:
        TypeError: another environment.
        ValueError: as `KNN`.
    """

    def __init__(
        self,
        env: gym.Env[Observation, np.int64],
        fraction: float | None = None,
        k: int | None = None,
        metric: Metric = "euclidean",
    ) -> None:
        RecordConstructorArgs.__init__(self, fraction=fraction, k=k, metric=metric)
        super().__init__(env)
        _install(env, KNN(fraction, k=k, metric=metric))

    def action_masks(self) -> BoolArray:
        """[N] bool, the candidates on offer."""
        return _selection(self.env).action_masks()


class RankerPruning(SelectionWrapper, RecordConstructorArgs):
    """Installs `srd_gym.pruning.ByRanker` in the environment, after strategies that are there already.

    Wrap before `reset`: a running episode is not pruned backwards.

    Args:
        env: `SRD-v0`, wrapped or not.
        ranker: as `ByRanker`.
        keep: as `ByRanker`.
        when: as `ByRanker`.
        readmit: as `ByRanker`.

    Raises:
        TypeError: another environment, or as `ByRanker`.
        ValueError: as `ByRanker`.
    """

    def __init__(
        self,
        env: gym.Env[Observation, np.int64],
        ranker: Any,
        keep: float,
        when: When = "reset",
        readmit: bool = False,
    ) -> None:
        strategy = ByRanker(ranker, keep, when=when, readmit=readmit)
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, ranker=strategy.ranker, keep=keep, when=when, readmit=readmit
        )
        super().__init__(env)
        _install(env, strategy)

    def action_masks(self) -> BoolArray:
        """[N] bool, the candidates on offer."""
        return _selection(self.env).action_masks()


def _install(env: gym.Env[Any, Any], strategy: Pruning) -> None:
    """Add a strategy to the environment's simulator, after those that are there already."""
    core = _selection(env).core
    core.prune_by(strategy if core.pruning is None else Chain((core.pruning, strategy)))


def _selection(env: gym.Env[Any, Any]) -> SelectionEnv:
    """The environment under all wrappers, if it selects documents."""
    inner = env.unwrapped
    if not isinstance(inner, SelectionEnv):
        raise TypeError(
            f"pruning wrappers go around SRD-v0, got {type(inner).__name__}; "
            "vector environments take the argument `pruning` instead"
        )
    return inner
