"""Memory for the speed table: the most that a process of its own takes, or what it grows by."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from studies.speed.race import learner
from studies.speed.topics import judged, web

_REPLAY = 100_000


def _of_a_process(function: str, *arguments: object) -> float:
    """The figure of one of the functions below in a process of its own; or the process's peak, in megabytes.

    Raises:
        RuntimeError: it failed; the message is its own.
    """
    program = f"from studies.speed import memory\nprint('MB', memory.{function}(*{arguments!r}) or memory._highest())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    figure = re.search(r"^MB ([\d.]+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or figure is None:
        raise RuntimeError(f"the run for a memory figure failed: {done.stderr.strip()[-500:]}")
    return float(figure[1])


def train(name: str) -> float:
    """Training by the command, on 198 topics of 65 to 419 candidates, F = 100."""
    from srd_gym.data.parquet import write_topics
    from srd_gym.data.synthetic import generate

    with tempfile.TemporaryDirectory() as folder:
        write_topics(f"{folder}/t.parquet", generate("web", n_topics=198, seed=0, width=100, candidates=(65, 419)))
        return _of_a_process("_train", name, folder)


def train_qmix() -> float:
    """An epoch of QMIX in the paper's setting for DU-DIV; its replay is as large at the first visit as at the last."""
    return _of_a_process("_train_qmix")


def search(trees: int = 32, simulations: int = 5_000) -> float:
    """One M2Div search with the paper's network."""
    return _of_a_process("_search", trees, simulations)


def fill_replay() -> float:
    """What a filled DQN replay of compact observations and its networks add, N = 200, F = 100.

    Raises:
        ImportError: stable-baselines3 is not installed.
    """
    import stable_baselines3  # noqa: F401 - says here what is missing, not in another process

    return _of_a_process("_fill_replay")


def _train(name: str, folder: str) -> None:
    from srd_train.cli import main

    if main(["train", name, "--topics", f"{folder}/t.parquet", "--epochs", "2", "--out", f"{folder}/model"]):
        raise RuntimeError(f"srd train {name} failed")


def _train_qmix() -> None:
    topics = judged(4_473, 15, 1_024)
    learner("ma4div", state="documents", max_candidates=None, epochs=1).fit(topics[100:], topics[:100], seed=0)


def _search(trees: int, simulations: int) -> None:
    from studies.speed.learners import searched

    searched(trees, simulations)()


def _fill_replay() -> float:
    import gymnasium as gym
    from stable_baselines3 import DQN

    from srd_agents.sb3.policies import policy_arguments, policy_for

    env = gym.make("SRD-v0", topics=web(100, 200), observation="compact")
    env.reset(seed=0)
    policy, arguments, before = policy_for(DQN), policy_arguments(env), _resident()
    # It only plays: learning starts behind the last step.
    sizes: dict[str, Any] = {"buffer_size": _REPLAY, "learning_starts": _REPLAY + 1}
    model = DQN(policy, env, policy_kwargs=arguments, seed=0, device="cpu", **sizes).learn(_REPLAY)
    if not model.replay_buffer or not model.replay_buffer.full:
        raise RuntimeError(f"the replay was to be full after {_REPLAY} steps")
    return _resident() - before


def _highest() -> float:
    """Megabytes of this process at the highest."""
    try:
        return int(Path("/proc/self/status").read_text("ascii").split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / 1e6 if sys.platform == "darwin" else most * 1024 / 1e6


def _resident() -> float:
    """Megabytes of this process in memory; where the system does not say, the most so far."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return _highest()
