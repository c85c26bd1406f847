"""What `make speed` measures of Stable-Baselines3: what SRD-v0 costs inside a rollout, and what a replay holds.

Shapes: N candidates, F vector width, K ranks.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym

import srd_gym  # noqa: F401 - registers the environments
from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from studies.speed.race import Figure, Outcome

if TYPE_CHECKING:
    from srd_gym.protocols import BoolArray

LARGEST_SHARE = 0.10
"""Of a rollout's time that SRD-v0 may take."""
REPLAY = 100_000
"""Transitions of the replay that is measured."""
REPLAY_TARGET = 300.0
"""Megabytes to stay under."""

_ROLLOUT_STEPS = 2_000


class Timed(gym.Wrapper[Any, Any, Any, Any]):
    """Adds up the processor time of everything that an algorithm asks of the environment inside.

    Args:
        env: with `action_masks`.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.seconds, self.looks = 0.0, 0
        self._action_masks = env.get_wrapper_attr("action_masks")

    def reset(self, **arguments: Any) -> Any:
        """Timed."""
        return self._timed(self.env.reset, **arguments)

    def step(self, action: Any) -> Any:
        """Timed."""
        return self._timed(self.env.step, action)

    def action_masks(self) -> BoolArray:
        """Timed."""
        mask: BoolArray = self._timed(self._action_masks)
        return mask

    def _timed(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        start = time.process_time()
        found = call(*given, **named)
        self.seconds += time.process_time() - start
        self.looks += 1
        return found


def _look() -> float:
    """Seconds between two looks at the clock with nothing between them."""
    looks = [time.process_time() for _ in range(10_000)]
    return (looks[-1] - looks[0]) / (len(looks) - 1)


def sb3_rollout(
    environments: int, *, policy: Literal["ours", "stock"] = "ours", rounds: int, size: float = 1.0
) -> Outcome:
    """Rollouts of MaskablePPO in a `DummyVecEnv` of `gym.make("SRD-v0")`, N = 50, F = 64.

    The environment's share of a rollout's time is 1 / ratio: of its own steps a second (with resets and masks) and the
    rollout's. Both rates come from the same rollouts, without the looks at the clock, two for each question.

    Args:
        environments: how many.
        policy: our policy, or the stock "MultiInputPolicy".
        rounds: how many rollouts count, after one that does not.
        size: share of the full work, for tests.

    Raises:
        ImportError: sb3-contrib is not installed.
    """
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    from srd_agents.sb3.policies import policy_arguments, policy_for

    class Clock(BaseCallback):
        seconds = 0.0

        def _on_rollout_start(self) -> None:
            self.start = time.process_time()

        def _on_rollout_end(self) -> None:
            self.seconds = time.process_time() - self.start

        def _on_step(self) -> bool:
            return True

    topics = _topics(50, 64)
    timed = [Timed(gym.make("SRD-v0", topics=topics)) for _ in range(environments)]
    vector = DummyVecEnv([lambda env=env: env for env in timed])  # type: ignore[misc] # a default makes it no Callable[[], Env]
    steps = max(10, int(_ROLLOUT_STEPS * size) // environments)
    model = MaskablePPO(
        policy_for(MaskablePPO) if policy == "ours" else "MultiInputPolicy",
        vector,
        policy_kwargs=policy_arguments(vector) if policy == "ours" else None,
        n_steps=steps,
        batch_size=steps * environments,
        n_epochs=1,
        seed=0,
        device="cpu",
    )
    inside: list[float] = []
    whole: list[float] = []
    clock, look = Clock(), _look()
    for _ in range(rounds + 1):
        for env in timed:
            env.seconds, env.looks = 0.0, 0
        model.learn(steps * environments, callback=clock, reset_num_timesteps=False)
        looked = look * sum(env.looks for env in timed)
        inside.append(sum(env.seconds for env in timed) - looked)
        whole.append(clock.seconds - 2 * looked)
    taken = steps * environments
    one = "environment" if environments == 1 else "environments"
    which = "our" if policy == "ours" else "the stock"
    return Outcome(
        what=f"SRD-v0 inside a rollout of MaskablePPO, {environments} {one}, {which} policy, N = 50, F = 64",
        unit="steps/s",
        ours=Figure.of([taken / seconds for seconds in inside[1:]]),
        peer="the whole rollout",
        theirs=Figure.of([taken / seconds for seconds in whole[1:]]),
        ratio=Figure.of([all_of_it / part for all_of_it, part in zip(whole[1:], inside[1:], strict=True)]),
        target=1 / LARGEST_SHARE,
    )


def replay_memory(transitions: int = REPLAY, observation: Literal["compact", "full"] = "compact") -> float:
    """Megabytes that a filled DQN replay and its networks add to a process, N = 200, F = 100.

    Args:
        transitions: how many it holds, all of them played.
        observation: of SRD-v0.

    Raises:
        ImportError: stable-baselines3 is not installed.
        RuntimeError: the process failed; the message is its own.
    """
    import stable_baselines3  # noqa: F401 - says here what is missing, not in another process

    program = f"from studies.speed.sb3 import _filled\nprint('added=%.3f' % _filled({transitions}, {observation!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    added = re.search(r"^added=([\d.]+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or added is None:
        raise RuntimeError(f"filling the replay for the memory figure failed: {done.stderr.strip()[-500:]}")
    return float(added[1])


def _filled(transitions: int, observation: str) -> float:
    """Fill a replay in this process; megabytes that it added."""
    from stable_baselines3 import DQN

    from srd_agents.sb3.policies import policy_arguments, policy_for

    env = gym.make("SRD-v0", topics=_topics(200, 100), observation=observation)
    env.reset(seed=0)
    arguments = policy_arguments(env)
    before = _resident()
    model = DQN(
        policy_for(DQN),
        env,
        buffer_size=transitions,
        learning_starts=transitions + 1,  # it only plays
        policy_kwargs=arguments,
        seed=0,
        device="cpu",
    )
    model.learn(transitions)
    if not model.replay_buffer or not model.replay_buffer.full:
        raise RuntimeError(f"the replay was to be full after {transitions} steps")
    return _resident() - before


def _resident() -> float:
    """Megabytes of this process in memory; where the system does not say, the most so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _topics(candidates: int, width: int) -> TopicSet:
    """Generated topics of one size."""
    return generate("web", n_topics=100, seed=0, width=width, candidates=(candidates, candidates))
