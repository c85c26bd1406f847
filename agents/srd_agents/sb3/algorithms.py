"""Algorithms of Stable-Baselines3 as rows of recipes: their own loops on `SRD-v0`, and what ranks best on validation.

[[rankers]]
ranker = "srd_agents.sb3.algorithms:Sb3Algorithm"
config = { algorithm = "A2C", steps = 20_000 }
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from srd_agents.heuristic.stepwise import SideBySide
from srd_agents.sb3.policies import policy_for
from srd_agents.sb3.ranker import ALGORITHMS, SB3Ranker
from srd_agents.sb3.vec_env import RolloutVecEnv
from srd_agents.training.options import Config, Count, RewardOption
from srd_agents.training.validation import Validation, checked_topics
from srd_gym.core import SelectionCore
from srd_gym.dtypes import BoolArray, IntArray
from srd_gym.protocols import Ranker
from srd_gym.sources import TopicShuffle
from srd_gym.topic import Topic, TopicSet


@dataclass(frozen=True, kw_only=True)
class Sb3AlgorithmConfig(Config):
    """An algorithm, its policy, and how long it plays."""

    algorithm: Literal["MaskablePPO", "TRPO", "PPO", "A2C", "DQN"] = "MaskablePPO"
    """Class of stable_baselines3 or sb3_contrib."""
    policy: Literal["candidates", "stock"] = "candidates"
    """Ours, which scores every candidate alike (`srd_agents.sb3.policies`), or SB3's "MultiInputPolicy"."""
    steps: Count = 20_000
    """Environment steps; an episode has `horizon`, or fewer where its topic has fewer candidates."""
    environments: Count = 16
    """Environments side by side."""
    validations: Count = 10
    """Moments of training, the end among them, of which the best on the validation topics is kept."""
    reward: RewardOption = "alpha_nDCG@10"
    """Measure whose gains are the rewards."""
    horizon: Count = 10
    """Ranks of an episode."""
    options: Mapping[str, Any] | None = None
    """Arguments of the algorithm (n_steps, learning_rate, ...)."""


class Sb3Algorithm(SideBySide):
    """Trains as Stable-Baselines3 does by itself, one environment after the other, and ranks with what it learned.

    Args:
        config: the options.
    """

    config_class: ClassVar[type[Any]] = Sb3AlgorithmConfig
    observation: ClassVar[str] = "full"
    """Observations of a stock policy."""

    def __init__(self, config: Sb3AlgorithmConfig) -> None:
        self.config = config
        self._ranker: Ranker | None = None

    def fit(self, train: TopicSet, validation: TopicSet | None = None, *, seed: int = 0) -> dict[str, int]:
        """Train; without validation topics the last weights are kept.

        Args:
            train: judged topics.
            validation: likewise.
            seed: of SB3, which seeds the global generators with it.

        Returns:
            The episodes that ended, and the steps that were played.

        Raises:
            ValueError: topics that cannot be learned from.
        """
        config = self.config
        train, _ = checked_topics("sb3", train, validation)
        largest = max(train.max_candidates, 0 if validation is None else validation.max_candidates)
        playing: dict[str, Any] = {"reward": config.reward, "horizon": min(config.horizon, largest)}
        playing["max_candidates"] = largest
        kind: Any = getattr(importlib.import_module(ALGORITHMS[config.algorithm]), config.algorithm)
        env: VecEnv
        if config.policy == "candidates":
            env = _ShuffledVecEnv(SelectionCore(train, **playing), config.environments, seed)
            policy: object = policy_for(kind)
            its: dict[str, object] = {"features_extractor_kwargs": {"topics": env.core.arrays}}
        else:
            given = {"topics": train, "observation": self.observation, **playing}
            env = make_vec_env("srd_gym:SRD-v0", config.environments, seed=seed, env_kwargs=given)
            policy, its = "MultiInputPolicy", {}
        made = {"policy_kwargs": its, "gamma": 1.0, "device": "cpu", **(config.options or {})}
        model = kind(policy, env, seed=seed, **made)
        self._ranker = self._ranking_with(model)
        played = _Episodes()
        best = None if validation is None else _Best(self._ranker, validation, config.steps / config.validations)
        model.learn(config.steps, callback=[played] if best is None else [played, best])
        if best is not None:
            best.restore()
        return {"episodes": played.ended, "steps": model.num_timesteps}

    def _ranking_with(self, model: Any) -> Ranker:
        """The model as a ranker."""
        return SB3Ranker(model)

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic, in their order.

        Raises:
            ValueError: not fitted.
        """
        if self._ranker is None:
            raise ValueError(f"{self.config.algorithm} is not trained: call fit")
        return self._ranker.rank_batch(topics, k)


class _ShuffledVecEnv(RolloutVecEnv):
    """The batched simulator; every place plays one topic after the other, from one shuffle.

    Args:
        core: the simulator.
        episodes: B.
        seed: of the shuffle, and of users.
    """

    def __init__(self, core: SelectionCore, episodes: int, seed: int) -> None:
        self._order, self._generator = TopicShuffle(len(core.arrays)), np.random.default_rng(seed)
        super().__init__(core, episodes, None if core.users is None else np.random.default_rng([seed, 1]))

    def reset(self) -> VecEnvObs:
        """Begin an episode in every place."""
        self._deal(np.ones(self.num_envs, np.bool_))
        return super().reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Take the actions."""
        self._deal(self.core.rank + 1 >= self.core.length)
        return super().step_wait()

    def _deal(self, places: BoolArray) -> None:
        """Give places the topics of their next episodes."""
        self._topics[places] = [self._order.next(self._generator) for _ in range(int(places.sum()))]


class _Episodes(BaseCallback):
    """Counts the episodes that have ended."""

    ended = 0

    def _on_step(self) -> bool:
        self.ended += int(self.locals["dones"].sum())
        return True


class _Best(BaseCallback):
    """Keeps the weights that rank the validation topics best.

    Args:
        ranker: by the model.
        topics: for validation.
        every: steps between two looks.
    """

    def __init__(self, ranker: Ranker, topics: TopicSet, every: float) -> None:
        super().__init__()
        self._ranker, self._judge, self._every = ranker, Validation(topics, "alpha_nDCG@10"), every
        self._looks, self._score = 0, -np.inf
        self._weights: dict[str, Any] = {}

    def _on_step(self) -> bool:
        if self.num_timesteps >= self._every * (self._looks + 1):
            self._look()
        return True

    def _on_training_end(self) -> None:
        self._look()

    def _look(self) -> None:
        """Keep the present weights, where they are the best so far."""
        self._looks += 1
        if (score := self._judge.mean(self._ranker)) > self._score:
            self._score, self._weights = score, copy.deepcopy(self.model.policy.state_dict())

    def restore(self) -> None:
        """Give the model the best weights."""
        self.model.policy.load_state_dict(self._weights)
