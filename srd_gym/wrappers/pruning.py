"""Pruning as wrappers: sugar for the argument `pruning` of `SRD-v0`."""

from __future__ import annotations

from os import PathLike

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from srd_gym.core.protocols import Pruning
from srd_gym.envs.observations import Observation
from srd_gym.envs.selection import SelectionEnv
from srd_gym.protocols import Ranker, SequentialScorer
from srd_gym.pruning import KNN, ByRanker, Chain
from srd_gym.pruning.by_ranker import When
from srd_gym.pruning.knn import Metric

Env = gym.Env[Observation, np.int64]
AnyRanker = str | PathLike[str] | Ranker | SequentialScorer


class _Pruned(gym.Wrapper[Observation, np.int64, Observation, np.int64], RecordConstructorArgs):
    """Adds a strategy to the environment's simulator, after those that are there already."""

    def __init__(self, env: Env, strategy: Pruning) -> None:
        given = {name: value for name, value in vars(strategy).items() if name != "kind"}
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **given)
        super().__init__(env)
        inner = env.unwrapped
        if not isinstance(inner, SelectionEnv):
            raise TypeError(
                f"pruning wrappers go around SRD-v0, got {type(inner).__name__}; "
                "vector environments take the argument `pruning` instead"
            )
        there = inner.core.pruning
        inner.core.prune_by(strategy if there is None else Chain((there, strategy)))
        self.action_masks = inner.action_masks


class KNNPruning(_Pruned):
    """Installs `srd_gym.pruning.KNN` in the environment, after strategies that are there already.

    Wrap before `reset`: a running episode is not pruned backwards.

    Args:
        env: `SRD-v0`, wrapped or not.
        fraction: as `KNN`, like the next two.
        k: how many are dropped, instead of a fraction.
        metric: "euclidean" or "cosine".

    Raises:
        TypeError: another environment.
        ValueError: as `KNN`.
    """

    def __init__(
        self, env: Env, fraction: float | None = None, k: int | None = None, metric: Metric = "euclidean"
    ) -> None:
        super().__init__(env, KNN(fraction, k, metric))


class RankerPruning(_Pruned):
    """Installs `srd_gym.pruning.ByRanker` in the environment, after strategies that are there already.

    Arguments and errors as `KNNPruning`, those of `ByRanker` in place of `KNN`'s.
    """

    def __init__(
        self,
        env: Env,
        ranker: AnyRanker,
        keep: float,
        when: When = "reset",
    ) -> None:
        super().__init__(env, ByRanker(ranker, keep, when))
