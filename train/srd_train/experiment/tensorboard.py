"""The course of a training run as event files, which TensorBoard and its like show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

_WHERE = ("topics", "partial")
"""Keys of a record that say where it stands, and are no figures."""
_OWN_TAGS = ("validation", "epoch", "seconds", "cpu_seconds")
"""Figures of the training loop; the others are the learner's."""


class EventLog:
    """Writes the records of a history, each once, at the number of topics seen by then.

    Tags: `validation`, `epoch`, `seconds` and `cpu_seconds` (of training), and `training/NAME` for the learner's own
    figures. A resumed run continues in the same folder: what is there already is read and not written again, also
    where the run was cut off after its last checkpoint and repeats some epochs.

    Args:
        folder: of the event files.
        resume: continue in a folder that has some.

    Raises:
        ImportError: tensorboard is not installed.
        ValueError: event files are there and `resume` was not asked for.
    """

    def __init__(self, folder: Path, *, resume: bool = False) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError('--tensorboard needs tensorboard: pip install "srd-gym[tensorboard]"') from error
        there = sorted(folder.glob("events.out.tfevents.*"))
        if there and not resume:
            raise ValueError(
                f"{folder} already holds the events of a run ({there[0].name}); continue with --resume, or give "
                "another --tensorboard folder"
            )
        self._written = _steps(folder) if there else set()
        self._writer = SummaryWriter(str(folder))

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Write the records that are not written yet.

        Args:
            records: the whole history so far, as `srd_agents.history.History.records`.
        """
        for record in records:
            step = int(record["topics"])
            if step in self._written:
                continue
            self._written.add(step)
            for key, value in record.items():
                if key not in _WHERE and value is not None:
                    tag = key if key in _OWN_TAGS else f"training/{key}"
                    self._writer.add_scalar(tag, value, step)
        self._writer.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._writer.close()


def _steps(folder: Path) -> set[int]:
    """The steps that event files in the folder hold."""
    from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
        EventAccumulator,
    )

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {event.step for event in events.Scalars("epoch")} if "epoch" in events.Tags()["scalars"] else set()
