"""Running several cells of a benchmark at once, in processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker

from srd_gym.interrupts import STOPS
from srd_gym.topic import TopicSet
from srd_train.experiment.cells import Cell, CellResult, Engine, Task, failure, run_fit

_THREADS = "OMP_NUM_THREADS"


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
        RuntimeError: while running: a process could not start.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")

    def engine(tasks: Iterable[Task]) -> Iterator[tuple[Cell, CellResult]]:
        waiting, idle = iter(tasks), [_Worker() for _ in range(jobs)]
        results: list[tuple[Cell, CellResult]] = []
        running: dict[Future[list[CellResult]], tuple[_Worker, Task]] = {}
        try:
            while True:
                while idle and (task := next(waiting, None)) is not None:
                    with _shielded():
                        running[idle[-1].begin(task)] = (idle[-1], task)
                        idle.pop()
                yield from results  # now that all processes have something to do
                if not running:
                    return
                results = []
                for ended in wait(running, return_when=FIRST_COMPLETED).done:
                    worker, task = running.pop(ended)
                    idle.append(worker if ended.exception() is None else _Worker())
                    found = worker.died(task) if isinstance(ended.exception(), BrokenProcessPool) else ended.result()
                    results += zip(task.cells, found, strict=True)
        finally:
            with _shielded():
                for worker in (*idle, *(worker for worker, _ in running.values())):
                    worker.stop()

    return engine


class _Worker:
    """A process that runs tasks, one after the other; it starts with the first."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_begin)
        self._process: multiprocessing.process.BaseProcess | None = None
        self._topics: TopicSet | None = None

    def begin(self, task: Task) -> Future[list[CellResult]]:
        """Run a task; its topics are sent only where they are others than the last task's."""
        if self._process is None:
            before = multiprocessing.active_children()
            self._started = self._pool.submit(os.getpid)
            self._process = next(child for child in multiprocessing.active_children() if child not in before)
        topics = None if task.topics is self._topics else task.topics
        self._topics = task.topics
        return self._pool.submit(_run, task.cells, topics)

    def died(self, task: Task) -> list[CellResult]:
        """Its cells as failures.

        Raises:
            RuntimeError: it could not start.
        """
        self.stop()
        code = self._process.exitcode or 0 if self._process is not None else 0
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        if self._started.exception() is not None and code >= 0:
            raise RuntimeError(
                f"a process for cells ended {how} before it had started; a script that runs a benchmark in several "
                'processes needs `if __name__ == "__main__":` around it'
            )
        message = f"the process that ran it ended {how}"
        if how.endswith("SIGKILL"):
            message += "; did memory run out? Fewer --jobs need less"
        return [failure(cell, WorkerDiedError(message)) for cell in task.cells]

    def stop(self) -> None:
        """End the process, whatever it is doing: it writes nothing."""
        if self._process is not None:
            self._process.kill()
        self._pool.shutdown()


@contextlib.contextmanager
def _shielded() -> Iterator[None]:
    """Interrupts wait for the block's end, and never reach processes started in it before these ignore them.

    Such processes compute with one thread each: numpy and torch read this once, when imported.
    """
    threads = {} if _THREADS in os.environ else {_THREADS: "1"}
    blocks = hasattr(signal, "pthread_sigmask")  # not on Windows
    os.environ.update(threads)
    if blocks:
        resource_tracker.ensure_running()  # it comes with the first process, and lets interrupts through when it comes
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        for name in threads:
            del os.environ[name]
        if blocks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """What a process does before its first task."""
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


_sent: list[TopicSet] = []
"""The topics that this process was sent last."""


def _run(cells: tuple[Cell, ...], topics: TopicSet | None) -> list[CellResult]:
    """A task, in a process; without topics those of the task before."""
    if topics is not None:
        _sent[:] = [topics]
    return run_fit(cells, _sent[0])
