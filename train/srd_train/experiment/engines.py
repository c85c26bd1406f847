"""Engines that run several cells of a benchmark at once: in processes of this machine, or on a Ray cluster.

Ray carries topics to the workers and results back, in its own store: the nodes share no folder, and need the
same version of this package. The process that started the benchmark writes the results.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from srd_gym.checks import check_integer
from srd_gym.installing import how_to_install
from srd_gym.interrupts import STOPS, handlers_kept, held_back
from srd_gym.topic import TopicSet
from srd_train.experiment.benchmark import CellResult, Engine, failure, run_fit
from srd_train.experiment.cells import Cell, Choice, Task
from srd_train.experiment.folds import Cut, cut_of
from srd_train.experiment.sources import TopicsEntry, load_entry

_THREADS = "OMP_NUM_THREADS"
RETRIES = 3
"""Times that a task is begun again whose worker or node was lost; errors of a ranker are not repeated."""
_PATIENCE = 10.0
"""Seconds until an address at which nothing answers is given up."""
_AHEAD = 16
"""Tasks that wait at Ray beyond those that run: enough for a cluster to see that it should grow."""


class WorkerDiedError(RuntimeError):
    """The process that ran a cell ended before the cell did."""


def processes(jobs: int) -> Engine:
    """An engine with this many processes, each with one thread (unless OMP_NUM_THREADS says otherwise).

    The processes are started anew (not forked), so that a script that uses this needs `if __name__ == "__main__":`.
    They write nothing, and end when this process does, however it ends. Where one of them ends on its own (killed
    because memory ran out, say), its cells fail and another process takes its place.

    Args:
        jobs: how many, at least 1.

    Raises:
        ValueError: fewer than one.
    """
    check_integer("jobs", jobs, 1)

    def engine(tasks: Iterable[Task]) -> Iterator[tuple[Cell, CellResult]]:
        waiting, idle = iter(tasks), [_Worker() for _ in range(jobs)]
        results: list[tuple[Cell, CellResult]] = []
        running: dict[Future[list[CellResult]], tuple[_Worker, Task]] = {}
        try:
            while True:
                yield from results  # first: what they chose goes with the next tasks
                results = []
                while idle and (task := next(waiting, None)) is not None:
                    with shielded():
                        try:
                            future = idle[-1].begin(task)
                        except BrokenProcessPool:
                            idle.pop().stop()
                            idle.append(_Worker())
                            future = idle[-1].begin(task)
                        running[future] = (idle.pop(), task)
                if not running:
                    return
                for ended in wait(running, return_when=FIRST_COMPLETED).done:
                    worker, task = running.pop(ended)
                    idle.append(worker if ended.exception() is None else _Worker())
                    of_task = worker.died(task) if isinstance(ended.exception(), BrokenProcessPool) else ended.result()
                    results += zip(task.cells, of_task, strict=True)
        finally:
            with shielded():
                for worker in (*idle, *(worker for worker, _ in running.values())):
                    worker.stop()

    return engine


class _Worker:
    """A process that runs tasks, one after the other; it starts with the first."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=begin_worker)
        self._process: multiprocessing.process.BaseProcess | None = None
        self._topics: TopicSet | None = None

    def begin(self, task: Task) -> Future[list[CellResult]]:
        """Run a task; its topics are sent only where they are others than the last task's.

        Raises:
            BrokenProcessPool: the process ended while it had nothing to do.
        """
        if self._process is None:
            before = multiprocessing.active_children()
            self._pool.submit(os.getpid)
            self._process = next(child for child in multiprocessing.active_children() if child not in before)
        topics = None if task.topics is self._topics else _named(task)
        self._topics = task.topics
        return self._pool.submit(_run, task.cells, topics, task.choice)

    def died(self, task: Task) -> list[CellResult]:
        """Its cells as failures."""
        self.stop()
        code = self._process.exitcode or 0 if self._process is not None else 0
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        hint = "; did memory run out? Fewer --jobs need less" if how.endswith("SIGKILL") else ""
        error = WorkerDiedError(f"the process that ran it ended {how}{hint}")
        return [failure(cell, error) for cell in task.cells]

    def stop(self) -> None:
        """End the process, whatever it is doing: it writes nothing."""
        if self._process is not None:
            self._process.kill()
        self._pool.shutdown()


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Interrupts wait for the block's end, and never reach processes started in it before these ignore them.

    Such processes compute with one thread each: numpy and torch read this once, when imported.
    """
    threads = {} if _THREADS in os.environ else {_THREADS: "1"}
    blocks = hasattr(signal, "pthread_sigmask")  # not on Windows
    with held_back():  # the mask is of this thread and of what it starts: another thread may take a signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ()) if blocks else set()
        os.environ.update(threads)
        try:
            if blocks:
                resource_tracker.ensure_running()  # it comes with the first process, and lets interrupts through then
                signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
            yield
        finally:
            for name in threads:
                del os.environ[name]
            if blocks:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker() -> None:
    """Prepare a process for its first task."""
    for number in STOPS:  # they reach all processes of a terminal; the one that started this one ends it
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _named(task: Task) -> TopicSet | TopicsEntry:
    """The topics of a task; of a file its entry, as a process maps a file with less memory than it needs for a copy."""
    entry = task.cells[0].topics.content
    return entry if Path(entry.source).suffix else task.topics


_sent: list[TopicSet] = []
"""The topics that this process was sent last."""


def _run(cells: tuple[Cell, ...], topics: TopicSet | TopicsEntry | None, choice: Choice | None) -> list[CellResult]:
    """A task, in a process; without topics those of the task before."""
    try:
        if topics is not None:
            _sent.clear()
            _sent.append(load_entry(topics) if isinstance(topics, TopicsEntry) else topics)
        if not _sent or _sent[0].fingerprint != cells[0].topics_fingerprint:
            raise ValueError(f"{cells[0].topics.source} has changed since the benchmark began; run the command again")
    except Exception as error:
        return [failure(cell, error) for cell in cells]
    return run_fit(cells, _sent[0], choice=choice)


def connected_ray() -> Any:
    """Ray, connected: to the cluster that RAY_ADDRESS names or that runs here, else to one started on this machine.

    A connection that is there already is kept as it is.

    Raises:
        ImportError: it is not installed; the message says how to get it.
        ConnectionError: no cluster at that address.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError(f"the engine ray needs Ray: {how_to_install('ray')}") from error
    if not ray.is_initialized():
        _check_reachable(os.environ.get("RAY_ADDRESS", ""))
        with handlers_kept():  # Ray handles SIGTERM by a trace of its stack and an exit code of its own
            ray.init(log_to_driver=False, logging_level="warning")
    return ray


def _check_reachable(address: str) -> None:
    """Refuse the address of a cluster at which nothing answers: Ray would try for minutes.

    Raises:
        ConnectionError: nothing does.
    """
    host, found, port = address.removeprefix("ray://").rpartition(":")
    if not found or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(
            f"nothing answers at RAY_ADDRESS={address} ({error}); start Ray there (ray start --head), or unset the "
            "variable"
        ) from error


def on_ray(tasks: Iterable[Task]) -> Iterator[tuple[Cell, CellResult]]:
    """An engine (`benchmark.Engine`): cells as Ray tasks.

    Raises:
        ImportError, ConnectionError: as `connected_ray`.
    """
    ray = connected_ray()
    run = ray.remote(num_cpus=1, max_retries=RETRIES)(run_fit)
    running: dict[object, Task] = {}
    stored: tuple[TopicSet, object] | None = None
    cuts: dict[str, Cut] = {}  # files of the driver, which other nodes may lack
    try:
        for task in tasks:
            if stored is None or stored[0] is not task.topics:
                stored = (task.topics, ray.put(task.topics))
            entry = task.cells[0].topics
            if entry.name not in cuts:
                cuts[entry.name] = cut_of(task.topics, entry)
            running[run.remote(task.cells, stored[1], choice=task.choice, cut=cuts[entry.name])] = task
            if len(running) >= int(ray.cluster_resources().get("CPU", 1)) + _AHEAD:
                yield from _next_ended(ray, running)
        while running:
            yield from _next_ended(ray, running)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _next_ended(ray: Any, running: dict[Any, Task]) -> Iterator[tuple[Cell, CellResult]]:
    """The results of the next task to end."""
    (reference,), _ = ray.wait(list(running), num_returns=1)
    task = running.pop(reference)
    try:
        results: list[CellResult] = ray.get(reference)
    except ray.exceptions.RayError as error:  # its worker was lost more often than RETRIES, say
        results = [failure(cell, error) for cell in task.cells]
    yield from zip(task.cells, results, strict=True)
