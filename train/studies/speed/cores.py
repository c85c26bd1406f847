"""What `make speed` measures in processes of their own: work on two cores, and the whole command `srd evaluate`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from srd_agents.registry import make_ranker
from srd_agents.training.learner import Learner
from srd_gym.data.synthetic import generate
from studies.speed.heuristics import drawn
from studies.speed.race import MissingError, Outcome, compared

WORKS = {
    "relational-pretrained": "ranking, the top 20 of 1,000",
    "mdp-div-batched": "training",
    "reinforce": "training",
}
_SECONDS, _TARGET = 3.0, 1.75
_EVALUATE_SECONDS = 0.5

_CHILD = """
import sys, time
from studies.speed.cores import prepared
work, limit = prepared(sys.argv[1]), float(sys.argv[2])
work()
print("ready", flush=True)
sys.stdin.readline()
start, units = time.perf_counter(), 0
while (taken := time.perf_counter() - start) < limit or not units:
    units += work()
print(units / taken, flush=True)
"""


def prepared(name: str) -> Callable[[], int]:
    """A piece of the work of a key of `WORKS`; it gives how many topics or episodes that were."""
    ranker = make_ranker(name)
    if not isinstance(ranker, Learner) or WORKS[name] != "training":
        topics = drawn(4, 1_000, 384)
        return lambda: sum(len(ranker.rank(topic, 20)) > 0 for topic in topics)
    learned = generate("web", n_topics=64, seed=0, width=100, candidates=(210, 210)).trainable()

    def train() -> int:
        learner = make_ranker(name, epochs=1, horizon=10)
        if isinstance(learner, Learner):
            learner.fit(learned, None, seed=0)
        return len(learned)

    return train


def together(name: str, processes: int, threads: int, seconds: float) -> float:
    """Units a second, by the clock, of some processes that do the same work side by side.

    Args:
        name: a key of `WORKS`.
        processes: how many.
        threads: of each.
        seconds: that each works, once all are ready.

    Raises:
        RuntimeError: a process failed.
    """
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    words = [sys.executable, "-c", _CHILD, name, str(seconds)]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    words, env=os.environ | variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for _ in range(processes)
        ]
        ready = [process.stdout.readline() for process in running if process.stdout]
        found = _all_told(running)
    if ready != ["ready\n"] * processes or not all(found):
        raise RuntimeError(f"work on {name} in a process of its own failed")
    return sum(map(float, found))


def _all_told(running: list[subprocess.Popen[str]]) -> list[str]:
    """Start all, then wait for all."""
    for process in running:
        if process.stdin:
            process.stdin.write("\n")
            process.stdin.flush()
    return [process.communicate()[0] for process in running]


def two_cores(name: str, *, threads: bool, rounds: int, size: float = 1.0) -> Outcome:
    """Two processes, or one with two threads, against one process of one thread; by the clock.

    Args:
        name: a key of `WORKS`.
        threads: two threads instead of two processes.
        rounds: how many count.
        size: share of the time, for tests.

    Raises:
        MissingError: this machine has one core.
    """
    if (os.cpu_count() or 1) < 2:
        raise MissingError("there is one core")
    both = partial(together, name, *((1, 2) if threads else (2, 1)), _SECONDS * size)
    rates = [(both(), together(name, 1, 1, _SECONDS * size)) for _ in range(rounds)]
    return compared(
        f"{name}, {WORKS[name]}, {'two threads' if threads else 'two processes'}, by the clock",
        "episodes/s" if WORKS[name] == "training" else "topics/s",
        [ours for ours, _ in rates],
        "one thread",
        [theirs for _, theirs in rates],
        target=_TARGET,
    )


def evaluate(*, rounds: int) -> Outcome:
    """`srd evaluate` on the four TREC runs, the whole process, against the time that it may take.

    Raises:
        MissingError: the files are not here.
    """
    folder = Path(os.environ.get("SRD_DATA_DIR", "")) / "trec-web"
    qrels, runs = sorted(folder.glob("*.qrels.gz")), sorted(folder.glob("*.run.gz"))
    if not (qrels and runs):
        raise MissingError("it reads the TREC files below $SRD_DATA_DIR")
    words = [sys.executable, "-m", "srd_train.cli", "evaluate", "--qrels", *map(str, qrels), "--run", *map(str, runs)]

    def seconds() -> float:
        before = _of_children()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return _of_children() - before

    rates = [1 / seconds() for _ in range(rounds + 1)][1:]
    return compared(
        "srd evaluate, four TREC runs, the whole process",
        "runs/s",
        rates,
        f"{_EVALUATE_SECONDS:g} s",
        [1 / _EVALUATE_SECONDS] * rounds,
        target=1.0,
    )


def core_cases(rounds: int, size: float = 1.0) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The lines of the speed table: a name to show while it runs, and the case."""
    yield "srd evaluate", partial(evaluate, rounds=rounds)
    for name in WORKS:
        yield f"two processes, {name}", partial(two_cores, name, threads=False, rounds=rounds, size=size)
        if WORKS[name] == "training":
            yield f"two threads, {name}", partial(two_cores, name, threads=True, rounds=rounds, size=size)


def _of_children() -> float:
    """Processor seconds of all processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
