"""`python -m studies.device SECONDS`: what a device does, as lines of JSON, the most important sections first.

It takes the GPU where there is one, else the CPU (or `--device NAME`), and begins no section that time does not suffice
for. Sections: equality with `SelectionCore`, whether anything waits for the device, random steps, updates of learners
and of QMIX, many seeds at once, whether trainings repeat, and what they learn. It ends with status 1 where a law does
not hold.

Shapes: B episodes, N candidates.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from srd_agents.qmix.replay import Visits
from srd_agents.registry import make_ranker
from srd_agents.simulators import SelectionSimulator
from srd_agents.training.validation import Validation
from srd_gym.core import Clicks, SelectionCore
from srd_gym.data.synthetic import generate
from srd_gym.pruning import KNN
from srd_gym.topic import TopicSet
from srd_train.experiment.provenance import commit

_TASKS: tuple[dict[str, Any], ...] = (
    {"reward": "alpha_DCG"},
    {"reward": "alpha_nDCG", "reward_type": "sparse", "pruning": KNN(0.3)},
    {"reward": "Dsharp_nDCG", "on_invalid": "next"},
    {"reward": "ERR_IA"},
    {"reward": "MAP_IA"},
    {"reward": "NRBP"},
    {"reward": Clicks(model="dbn", boredom=0.4)},
    {"reward": Clicks(model="pbm", decay=0.7)},
)
_LEARNERS = ("reinforce", "mdp-div-batched")
_SCORERS = ("qmix", "vdn", "iql")
_LEAST = 5.0
"""Seconds that must be left for a section to begin."""


@dataclass(frozen=True)
class Check:
    """The device, the time and the sizes of a check.

    Args:
        device: as torch names it.
        ends: when time is over, by `time.monotonic`.
        share: of the usual sizes, from 0 to 1.
    """

    device: str
    ends: float
    share: float

    @property
    def on_gpu(self) -> bool:
        """Whether the device is one of CUDA."""
        return torch.device(self.device).type == "cuda"

    def of(self, count: int, least: int = 1) -> int:
        """The share of a number."""
        return max(least, round(count * self.share))

    def left(self) -> float:
        """Seconds."""
        return self.ends - time.monotonic()

    def wait(self) -> None:
        """Until the device has done its work."""
        if self.on_gpu:
            torch.cuda.synchronize(self.device)

    def rate(self, work: Callable[[], object], count: int, seconds: float) -> float:
        """Items a second, where a call makes `count` of them; the first call is not timed."""
        work()
        self.wait()
        began, calls = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            work()
            self.wait()
            calls += 1
        return count * calls / (time.perf_counter() - began)


Lines = Iterator[dict[str, Any]]
"""Figures; what `holds` says is a law."""


def machine(check: Check) -> Lines:
    """What is measured on."""
    name = torch.cuda.get_device_name(check.device) if check.on_gpu else platform.processor() or platform.machine()
    yield {
        "device": check.device,
        "name": name,
        "memory": torch.cuda.mem_get_info(check.device)[1] if check.on_gpu else None,
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "commit": commit(),
    }


def parity(check: Check) -> Lines:
    """The largest difference of rewards from those of `SelectionCore`, in float64; masks and rankings are equal."""
    topics, count = generate("web", n_topics=12, seed=0, width=16, candidates=(5, 40)), 64
    for options in _TASKS:
        rng = np.random.default_rng(0)
        core = SelectionCore(topics, horizon=6, **options)
        simulator = SelectionSimulator(topics, horizon=6, device=check.device, dtype=torch.float64, **options)
        index, users = rng.integers(len(topics), size=count), rng.integers(2**63, size=count)
        core.reset(index, users=users)
        state = simulator.reset(*(torch.from_numpy(part).to(check.device) for part in (index, users)))
        worst, same = 0.0, True
        for _ in range(7):
            actions = rng.integers(core.arrays.max_candidates, size=count)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of ranks that stay empty
                expected = core.step(actions)
            state, result = simulator.step(state, torch.from_numpy(actions).to(check.device))
            worst = max(worst, float(np.abs(result.reward.cpu().numpy() - expected.reward).max()))
            same &= np.array_equal(state.allowed.cpu(), core.allowed) & np.array_equal(
                state.ranking.cpu(), core.ranking
            )
        task = {name: str(value) for name, value in options.items()}
        yield {**task, "largest_difference": worst, "holds": same and worst <= (1e-12 if core.users else 0.0)}


def waiting(check: Check) -> Lines:
    """Whether an update waits for the device; asked of CUDA, which refuses to."""
    topics = generate("serp", n_topics=64, seed=0)
    for name in (*_LEARNERS, *_SCORERS) if check.on_gpu else ():
        learner: Any = make_ranker(name, batch_topics=32, device=check.device)
        learner.prepare(topics.trainable(), 0)
        learner._update(np.arange(32))  # what is allocated once may wait
        torch.cuda.set_sync_debug_mode("error")
        try:
            learner._update(np.arange(32))
            yield {"update": name, "waits": False, "holds": True}
        except RuntimeError as error:
            yield {"update": name, "waits": str(error).split("\n")[0], "holds": False}
        finally:
            torch.cuda.set_sync_debug_mode("default")
    if not check.on_gpu:
        yield {"update": None, "waits": None}


def steps(check: Check) -> Lines:
    """Random steps a second, 15 candidates, 10 ranks: as they are, compiled, and captured in a CUDA graph."""
    simulator = SelectionSimulator(generate("serp", n_topics=1_000, seed=0), device=check.device)
    for count in (check.of(1_024), check.of(16_384), check.of(131_072), check.of(1_048_576)):
        topic = torch.arange(count, device=check.device) % len(simulator.topics)
        for how in ("eager", "compiled", "graph"):
            if check.left() < 2 * _LEAST or (how != "eager" and not check.on_gpu):
                continue
            episode = _episode(simulator, topic, compiled=how != "eager")
            if how == "graph":
                episode = _captured(episode)
            per_second = check.rate(episode, count * simulator.horizon, 2 * check.share)
            yield {"episodes": count, "how": how, "steps_per_second": round(per_second)}


def _episode(simulator: SelectionSimulator, topic: torch.Tensor, *, compiled: bool) -> Callable[[], object]:
    """Random episodes of these topics."""

    def step(state: Any) -> Any:
        keys = torch.rand(state.allowed.shape, device=simulator.device).masked_fill(~state.allowed, -1.0)
        return simulator.step(state, keys.argmax(1))[0]

    one: Callable[[Any], Any] = torch.compile(step, fullgraph=True) if compiled else step

    def episode() -> object:
        state = simulator.reset(topic)
        for _ in range(simulator.horizon):
            state = one(state)
        return state.returns

    return episode


def _captured(work: Callable[[], object]) -> Callable[[], object]:
    """The work as a CUDA graph."""
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def updates(check: Check) -> Lines:
    """Episodes of training a second, 10 ranks, 8 episodes a topic."""
    for candidates, most in ((15, 1_000), (210, 256)):
        topics = _web(check.of(most, 8), candidates)
        for name in _LEARNERS:
            for count in sorted({min(16, len(topics)), len(topics)}):
                if check.left() < 2 * _LEAST:
                    return
                learner: Any = make_ranker(name, batch_topics=count, device=check.device)
                learner.prepare(topics, 0)
                episodes = count * learner.config.rollouts
                work = lambda: learner._update(np.arange(count))  # noqa: B023, E731 - called before the next
                per_second = check.rate(work, episodes, 2 * check.share)
                yield {"learner": name, "candidates": candidates, "topics": count,
                       "episodes_per_second": round(per_second)}  # fmt: skip


def _web(count: int, candidates: int) -> TopicSet:
    return generate("web", n_topics=count, seed=0, width=100, candidates=(candidates, candidates)).trainable()


def scores(check: Check) -> Lines:
    """Gradient updates of QMIX a second, 15 candidates, alone and with the episodes before them."""
    count, width = check.of(256, 8), check.of(1_024, 16)
    topics = generate("web", n_topics=count, seed=0, width=width, candidates=(15, 15)).trainable()
    for name in _SCORERS:
        learner: Any = make_ranker(name, device=check.device)
        learner.prepare(topics, 0)
        batch = np.arange(len(topics))
        visits = Visits(batch, *learner.play(batch, epsilon=0.5))
        visits = visits._replace(rewards=visits.rewards.float())
        learned = check.rate(lambda: learner.learn(visits), 1, 2 * check.share)  # noqa: B023 - called before the next
        whole = check.rate(lambda: learner._update(batch), learner.config.updates, 2 * check.share)  # noqa: B023
        yield {"learner": name, "topics": len(topics), "updates_per_second": round(learned, 2),
               "with_episodes_per_second": round(whole, 2)}  # fmt: skip


def seeds(check: Check) -> Lines:
    """Seconds of training for a seed where many learn at once, beside one alone."""
    topics = generate("serp", n_topics=check.of(1_000, 32), seed=0)
    options: dict[str, Any] = {"epochs": 2, "device": check.device}
    for name in (*_LEARNERS, "qmix"):
        alone = 0.0
        make_ranker(name, **options).fit_many(topics, seeds=[0])  # type: ignore[attr-defined]
        for count in (1, *sorted({check.of(count, 2) for count in (8, 64, 128, 512)})):
            if check.left() < 2 * _LEAST + count * alone / 4:
                break
            began, learner = time.perf_counter(), make_ranker(name, **options)
            if count == 1:
                learner.fit(topics, seed=0)  # type: ignore[attr-defined]
            else:
                learner.fit_many(topics, seeds=range(count))  # type: ignore[attr-defined]
            seconds = time.perf_counter() - began
            alone = alone or seconds
            yield {"learner": name, "seeds": count, "seconds": round(seconds, 3),
                   "times_one_alone": round(alone * count / seconds, 2)}  # fmt: skip


def repeats(check: Check) -> Lines:
    """Whether a seed gives the same weights twice, as things are and with torch's deterministic algorithms."""
    topics = generate("serp", n_topics=check.of(200, 32), seed=0)
    for deterministic in (False, True):
        torch.use_deterministic_algorithms(deterministic, warn_only=True)
        try:
            for name in _LEARNERS:
                found = [_weights(name, topics, check.device) for _ in range(2)]
                yield {"learner": name, "deterministic_algorithms": deterministic, "same": found[0] == found[1]}
        finally:
            torch.use_deterministic_algorithms(False)


def _weights(name: str, topics: TopicSet, device: str) -> bytes:
    learner: Any = make_ranker(name, epochs=2, device=device)
    learner.fit(topics, seed=0)
    return b"".join(part.tobytes() for part in learner._weights().values())


def learning(check: Check) -> Lines:
    """Held-out alpha_nDCG@10 on generated topics, learned on the device and on the CPU with the same seeds."""
    topics = generate("serp", n_topics=check.of(1_000, 60), seed=0)
    part = len(topics) // 5
    train, valid, test = topics[: 3 * part], topics[3 * part : 4 * part], topics[4 * part :]
    value = Validation(test, "alpha_nDCG@10")
    for seed in range(5):
        for name in _LEARNERS:
            for device in sorted({check.device, "cpu"}):
                if check.left() < _LEAST:
                    return
                learner: Any = make_ranker(name, epochs=check.of(20, 1), device=device)
                began = time.perf_counter()
                learner.fit(train, valid, seed=seed)
                yield {"learner": name, "device": device, "seed": seed, "held_out": round(value.mean(learner), 4),
                       "seconds": round(time.perf_counter() - began, 2)}  # fmt: skip


SECTIONS: tuple[Callable[[Check], Lines], ...] = (
    machine, parity, waiting, steps, updates, scores, seeds, repeats, learning,
)  # fmt: skip


def run(check: Check, show: Callable[[dict[str, Any]], object]) -> bool:
    """All sections that time suffices for; whether all laws hold and nothing failed.

    Args:
        check: what is asked.
        show: called with every figure.
    """
    good = True
    for section in SECTIONS:
        name = section.__name__
        if check.left() < _LEAST:
            show({"section": name, "left_out": "no time"})
            continue
        try:
            for line in section(check):
                good &= line.get("holds", True)
                show({"section": name, **line})
        except Exception as error:  # the sections after it can still be measured
            traceback.print_exc()
            show({"section": name, "error": f"{type(error).__name__}: {error}".split("\n")[0]})
            good = False
    return good


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m studies.device", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("seconds", type=float, help="time that it may take")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="as torch names it")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual sizes, for a rehearsal (0.01)")
    given = parser.parse_args(arguments)
    check = Check(given.device, time.monotonic() + given.seconds, given.share)
    return 0 if run(check, lambda line: sys.stdout.write(json.dumps(line) + "\n") and sys.stdout.flush()) else 1


if __name__ == "__main__":
    sys.exit(main())
