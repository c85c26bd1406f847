"""Lines of the speed table on two cores: processes of their own that do the same work, by the clock."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from srd_agents.registry import make_ranker
from studies.speed.race import MissingError, Work, learner
from studies.speed.rankings import one_by_one
from studies.speed.topics import alike, web

_SECONDS = 3.0

_CHILD = """
import sys, time
from studies.speed.cores import prepared
(work, units), limit = prepared(sys.argv[1]), float(sys.argv[2])
work()
print("ready", flush=True)
sys.stdin.readline()
start, times = time.perf_counter(), 0
while (taken := time.perf_counter() - start) < limit or not times:
    work()
    times += 1
print(units * times / taken, flush=True)
"""


def prepared(name: str) -> tuple[Callable[[], object], int]:
    """A piece of work, and how many topics or episodes that is: ranking the top 20 of 1,000, or training."""
    if name == "relational-pretrained":
        return one_by_one(make_ranker(name), alike(4, 1_000, 384), 20), 4
    topics = web(64, 210).trainable()
    return lambda: learner(name, epochs=1, horizon=10).fit(topics, None, seed=0), len(topics)


def together(name: str, processes: int, threads: int, seconds: float) -> float:
    """Units a second, by the clock, of some processes that do the same work side by side.

    Args:
        name: of the ranker.
        processes: how many.
        threads: of each.
        seconds: that each works, once all are ready.

    Raises:
        RuntimeError: a process failed.
    """
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    start = partial(
        subprocess.Popen[str],
        [sys.executable, "-c", _CHILD, name, str(seconds)],
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with ExitStack() as stack:
        running = [stack.enter_context(start()) for _ in range(processes)]
        ready = [process.stdout.readline() for process in running if process.stdout]
        for process in running:  # start all, then wait for all
            if process.stdin:
                process.stdin.write("\n")
                process.stdin.flush()
        rates = [process.communicate()[0] for process in running]
    if ready != ["ready\n"] * processes or not all(rates):
        raise RuntimeError(f"work on {name} in a process of its own failed")
    return sum(map(float, rates))


def two_cores(name: str, how: str, size: float) -> Work:
    """Two processes, or one with two threads, against one process of one thread; by the clock.

    Args:
        name: of the ranker.
        how: "processes" or "threads".
        size: share of the time.

    Raises:
        MissingError: this machine has one core.
    """
    if (os.cpu_count() or 1) < 2:
        raise MissingError("there is one core")
    side = partial(together, name, seconds=_SECONDS * size)
    two = (2, 1) if how == "processes" else (1, 2)
    return Work(partial(side, *two), partial(side, 1, 1))
