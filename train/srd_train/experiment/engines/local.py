"""Running several cells of a benchmark at once, in processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from multiprocessing import connection, resource_tracker
from typing import Any

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
        waiting = iter(tasks)
        workers: list[_Worker] = []
        try:
            more = True
            while more or workers:
                while more and len(workers) < jobs:
                    task = next(waiting, None)
                    more = task is not None
                    if task is not None:
                        with _interrupts_blocked():
                            workers.append(_Worker(task))
                if workers:
                    yield from _step(workers, waiting)
        finally:
            with _interrupts_blocked():
                for worker in workers:
                    worker.stop()

    return engine


def _step(workers: list[_Worker], waiting: Iterator[Task]) -> Iterator[tuple[Cell, CellResult]]:
    """Wait for messages of processes; those that are done get the next task, or end."""
    ready = connection.wait([worker.pipe for worker in workers])
    for worker in [worker for worker in workers if worker.pipe in ready]:
        try:
            result = worker.pipe.recv()
        except (EOFError, OSError):
            workers.remove(worker)
            yield from worker.died()
            continue
        if result is None:  # it has started
            worker.begin()
            continue
        yield worker.left.pop(0), result
        if not worker.left:
            task = next(waiting, None)
            if task is None:
                worker.stop()
                workers.remove(worker)  # last: an interrupt must leave no process that nobody stops
            else:
                worker.give(task)


class _Worker:
    """A process that runs tasks, seen from here.

    Args:
        task: its first; it is begun once the process says that it has started.
    """

    def __init__(self, task: Task) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.left = list(task.cells)
        """Cells of the task whose results are still to come."""
        self._task = task
        self._topics: TopicSet | None = None
        self._started = False
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _one_thread():
            self._process.start()
        theirs.close()

    def begin(self) -> None:
        """Send the first task: the process has started."""
        self._started = True
        self.give(self._task)

    def give(self, task: Task) -> None:
        """Send a task; its topics only where they are others than the last task's."""
        self._task, self.left = task, list(task.cells)
        topics = None if task.topics is self._topics else task.topics
        self._topics = task.topics
        with contextlib.suppress(OSError):  # a process that has died is noticed when its pipe is read
            self.pipe.send((task.cells, topics))

    def died(self) -> Iterator[tuple[Cell, CellResult]]:
        """Its cells as failures.

        Raises:
            RuntimeError: it could not start.
        """
        self._process.join()
        code = self._process.exitcode or 0
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        if not self._started and code >= 0:
            raise RuntimeError(
                f"a process for cells ended {how} before it had started; a script that runs a benchmark in several "
                'processes needs `if __name__ == "__main__":` around it'
            )
        message = f"the process that ran it ended {how}"
        if how.endswith("SIGKILL"):
            message += "; did memory run out? Fewer --jobs need less"
        for cell in self.left:
            yield cell, failure(cell, WorkerDiedError(message))

    def stop(self) -> None:
        """End the process, whatever it is doing: it writes nothing."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started in the block compute with one thread each: numpy and torch read this once, when imported."""
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[_THREADS]


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Interrupts wait for the block's end, and never reach processes started in it before these ignore them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it comes with the first process, and lets interrupts through when it comes
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: connection.Connection[Any, Any]) -> None:
    """What a process does: run tasks as they come, and send the result of each cell."""
    for number in STOPS:  # they reach all processes of a terminal; the one that started this one ends it
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    topics: TopicSet | None = None
    pipe.send(None)
    while True:
        try:
            cells, given = pipe.recv()
        except EOFError:
            return
        topics = topics if given is None else given
        if topics is None:
            raise RuntimeError("the first task came without its topics")
        for result in run_fit(cells, topics):
            pipe.send(result)


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
