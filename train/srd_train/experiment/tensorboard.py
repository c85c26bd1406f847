"""The course of a training run as event files, which TensorBoard and its like show."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from srd_agents.training.progress import by_tag
from srd_gym.installing import how_to_install

Log = Callable[[Sequence[Mapping[str, Any]], str | None], None]
"""Takes the whole history so far, and the measure of its validation."""


@contextlib.contextmanager
def event_log(folder: Path, *, resume: bool = False) -> Iterator[Log]:
    """Write the records of a history, each once: x axis and tags are those of `srd_agents.training.progress.by_tag`.

    A resumed run continues in the same folder: its whole history takes the place of what is there.

    Args:
        folder: of the event files.
        resume: continue in a folder that has some.

    Yields:
        A function to call with the whole history so far, `History.records` and `History.measure`.

    Raises:
        ImportError: tensorboard is not installed.
        ValueError: event files are there and `resume` was not asked for.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError(f"--tensorboard needs tensorboard: {how_to_install('tensorboard')}") from error
    there = sorted(folder.glob("events.out.tfevents.*"))
    if there and not resume:
        raise ValueError(
            f"{folder} already holds the events of a run ({there[0].name}); continue with --resume, or give another "
            "--tensorboard folder"
        )
    written = 0
    with SummaryWriter(str(folder), purge_step=0 if there else None) as writer:

        def add(records: Sequence[Mapping[str, object]], measure: str | None) -> None:
            nonlocal written
            for x, figures in by_tag(records, measure, written):
                for tag, value in figures.items():
                    writer.add_scalar(tag, value, x)
            written = max(written, len(records))
            writer.flush()

        yield add
