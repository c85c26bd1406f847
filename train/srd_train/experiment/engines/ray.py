"""Cells of a benchmark on a Ray cluster: one fit a task, a processor each, begun again where its worker is lost.

Ray carries topics to the workers and results back, in its own store: the nodes share no folder, and need the
same version of this package. The process that started the benchmark writes the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from srd_gym.interrupts import kept
from srd_gym.topic import TopicSet
from srd_train.experiment.cells import Cell, CellResult, Task, failure, run_fit

RETRIES = 3
"""How often a task is begun again whose worker or node was lost; errors of a ranker are not repeated."""
_AHEAD = 16
"""Tasks that wait at Ray beyond those that run: enough for a cluster to see that it should grow."""


def imported_ray() -> Any:
    """The module ray.

    Raises:
        ImportError: it is not installed; the message says how to get it.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError('the engine ray needs Ray: pip install "srd-gym[ray]"') from error
    return ray


def connected_ray() -> Any:
    """Ray, connected: to the cluster that RAY_ADDRESS names or that runs here, else to one started on this machine.

    A connection that is there already is kept as it is.

    Raises:
        ImportError: as `imported_ray`.
        ConnectionError: no cluster at that address.
    """
    ray = imported_ray()
    if not ray.is_initialized():
        with kept():  # Ray handles SIGTERM by a trace of its stack and an exit code of its own
            ray.init(log_to_driver=False, logging_level="warning")
    return ray


def on_ray(tasks: Iterable[Task]) -> Iterator[tuple[Cell, CellResult]]:
    """An engine (`cells.Engine`): cells as Ray tasks.

    Raises:
        ImportError, ConnectionError: as `connected_ray`.
    """
    ray = connected_ray()
    run = ray.remote(num_cpus=1, max_retries=RETRIES)(run_fit)
    running: dict[Any, Task] = {}
    stored: tuple[TopicSet, Any] | None = None
    try:
        for task in tasks:
            if stored is None or stored[0] is not task.topics:
                stored = (task.topics, ray.put(task.topics))
            running[run.remote(task.cells, stored[1])] = task
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
