"""Stepping `SRD-v0` for the speed table: alone, many at once, and inside a rollout of Stable-Baselines3.

Shapes: N candidates, F vector width.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import srd_gym  # noqa: F401 - registers the environments
from srd_gym.core.arrays import TopicArrays
from srd_gym.dtypes import BoolArray
from studies.speed.race import Side, Work, limit, share, timed
from studies.speed.topics import web

VectorEnv = gym.vector.VectorEnv[Any, Any, Any]
_MANY, _HORIZON = 64, 10
_N, _F = 200, 100


def stepping(name: str, size: float) -> Work:
    """One environment against CartPole-v1, resets included."""
    steps = share(size, 10_000, _HORIZON)
    ours, theirs = gym.make(name, topics=web(100, _N, _F)), gym.make("CartPole-v1")
    return Work(_episodes(ours, steps, lambda step: step), _episodes(theirs, steps, lambda step: step % 2))


def _episodes(env: gym.Env[Any, Any], steps: int, action: Callable[[int], int]) -> Side:
    """So many steps, with resets where episodes end."""

    def run() -> None:
        env.reset(seed=0)
        position = 0
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(action(position))
            position += 1
            if terminated or truncated:
                env.reset()
                position = 0

    return timed(run, steps)


def _native(name: str, count: int = _MANY, candidates: int = _N, width: int = _F, **options: Any) -> VectorEnv:
    """Our vector environment."""
    mode = gym.VectorizeMode.VECTOR_ENTRY_POINT
    return gym.make_vec(name, count, vectorization_mode=mode, topics=web(100, candidates, width), **options)


def beside_sync(name: str, size: float) -> Work:
    """64 environments at once against SyncVectorEnv."""
    # It always fills its own arrays; where both share, it is spared the copy it hands out.
    copies, topics = {"copy": name == "SRD-v0"}, web(100, _N, _F)
    sync = gym.make_vec(name, _MANY, vectorization_mode=gym.VectorizeMode.SYNC, vector_kwargs=copies, topics=topics)
    return Work(_vector_steps(_native(name), share(size, 660, 2)), _vector_steps(sync, share(size, 66, 2)))


def beside_the_copy(size: float) -> Work:
    """64 environments whose documents are copied, against that copy alone, which is the limit."""
    env, which, steps = _native("SRD-v0"), np.arange(_MANY), share(size, 330, 2)
    documents = TopicArrays.of(web(100, _N, _F)).documents
    copies = _vector_steps(env, steps, lambda _: documents.take(which, axis=0))
    return Work(_vector_steps(env, steps), copies, limit(read=4.0 * _N * _F))


def shared(size: float) -> Work:
    """64 environments that share documents."""
    return Work(_vector_steps(_native("SRD-shared-v0"), share(size, 100_000 / _MANY, 2)))


def compact(count: int, size: float) -> Work:
    """Environments with compact observations."""
    return Work(_vector_steps(_native("SRD-v0", count, 15, 2, observation="compact"), share(size, 100_000 / count, 2)))


def _vector_steps(env: VectorEnv, steps: int, step: Callable[[Any], object] | None = None) -> Side:
    """So many batched steps; the step after an end resets, and counts as none."""
    step = step or env.step
    actions = [np.full(env.num_envs, rank, dtype=np.int64) for rank in range(_HORIZON + 1)]
    env.reset(seed=0)  # once: making a thousand generators takes as long as hundreds of steps

    def run() -> None:
        env.reset()
        for number in range(steps):
            step(actions[number % (_HORIZON + 1)])

    return timed(run, env.num_envs * (steps - steps // (_HORIZON + 1)))


class _Timed(gym.Wrapper[Any, Any, Any, Any]):
    """Adds up the processor time of everything that an algorithm asks of the environment inside."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.seconds, self.looks = 0.0, 0

    def reset(self, **arguments: Any) -> Any:
        return self._timed(self.env.reset, **arguments)

    def step(self, action: Any) -> Any:
        return self._timed(self.env.step, action)

    def action_masks(self) -> BoolArray:
        mask: BoolArray = self._timed(self.env.get_wrapper_attr("action_masks"))
        return mask

    def _timed(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        start = time.process_time()
        answer = call(*given, **named)
        self.seconds += time.process_time() - start
        self.looks += 1
        return answer


def sb3_rollout(count: int, size: float) -> Work:
    """Rollouts of MaskablePPO with our policy in a `DummyVecEnv` of `gym.make("SRD-v0")`.

    The environment's share of a rollout's time is 1 / ratio: of its own steps a second (with resets and masks) and the
    rollout's. Both rates come from the same rollouts, without the looks at the clock, two for each question.

    Raises:
        ImportError: sb3-contrib is not installed.
    """
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    from srd_agents.sb3.policies import policy_arguments, policy_for

    class Clock(BaseCallback):
        def _on_rollout_start(self) -> None:
            self.start = time.process_time()

        def _on_rollout_end(self) -> None:
            self.seconds = time.process_time() - self.start

        def _on_step(self) -> bool:
            return True

    topics = web(100, 50, 64)
    inner = [_Timed(gym.make("SRD-v0", topics=topics)) for _ in range(count)]
    vector = DummyVecEnv([lambda env=env: env for env in inner])  # type: ignore[misc] # a default makes it no Callable[[], Env]
    steps = share(size, 2_000 / count, 10)
    sizes: dict[str, Any] = {"n_steps": steps, "batch_size": steps * count, "n_epochs": 1, "seed": 0, "device": "cpu"}
    model = MaskablePPO(policy_for(MaskablePPO), vector, policy_kwargs=policy_arguments(vector), **sizes)
    clock, taken = Clock(), steps * count
    looks = [time.process_time() for _ in range(10_000)]
    look = (looks[-1] - looks[0]) / (len(looks) - 1)

    def inside() -> float:
        for env in inner:
            env.seconds, env.looks = 0.0, 0
        model.learn(taken, callback=clock, reset_num_timesteps=False)
        return taken / (sum(env.seconds for env in inner) - look * sum(env.looks for env in inner))

    return Work(inside, lambda: taken / (clock.seconds - 2 * look * sum(env.looks for env in inner)))
