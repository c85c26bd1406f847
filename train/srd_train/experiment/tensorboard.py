"""The course of a training run as event files, which TensorBoard and its like show."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_WHERE = ("topics", "partial")
"""Keys of a record that say where it stands, and are no figures."""
_OWN_TAGS = ("validation", "epoch", "seconds", "cpu_seconds")
"""Figures of the training loop; the others are the learner's."""


@contextlib.contextmanager
def event_log(folder: Path, *, resume: bool = False) -> Iterator[Callable[[Sequence[Mapping[str, Any]]], None]]:
    """Write the records of a history, each once, at the number of topics seen by then.

    Tags: `validation`, `epoch`, `seconds` and `cpu_seconds` (of training), and `training/NAME` for the learner's own
    figures. A resumed run continues in the same folder: its whole history takes the place of what is there.

    Args:
        folder: of the event files.
        resume: continue in a folder that has some.

    Yields:
        A function to call with the whole history so far, as `srd_agents.training.history.History.records`.

    Raises:
        ImportError: tensorboard is not installed.
        ValueError: event files are there and `resume` was not asked for.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError('--tensorboard needs tensorboard: pip install "srd-gym[tensorboard]"') from error
    there = sorted(folder.glob("events.out.tfevents.*"))
    if there and not resume:
        raise ValueError(
            f"{folder} already holds the events of a run ({there[0].name}); continue with --resume, or give another "
            "--tensorboard folder"
        )
    written = 0
    with SummaryWriter(str(folder), purge_step=0 if there else None) as writer:

        def add(records: Sequence[Mapping[str, Any]]) -> None:
            nonlocal written
            for record in records[written:]:
                for key, value in record.items():
                    if key not in _WHERE and value is not None:
                        tag = key if key in _OWN_TAGS else f"training/{key}"
                        writer.add_scalar(tag, value, int(record["topics"]))
            written = max(written, len(records))
            writer.flush()

        yield add
