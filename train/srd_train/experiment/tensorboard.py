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
    figures. A resumed run continues in the same folder: its whole history takes the place of what is there.

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
        self._written = 0
        self._writer = SummaryWriter(str(folder), purge_step=0 if there else None)

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Write the records that are not written yet.

        Args:
            records: the whole history so far, as `srd_agents.history.History.records`.
        """
        for record in records[self._written :]:
            for key, value in record.items():
                if key not in _WHERE and value is not None:
                    tag = key if key in _OWN_TAGS else f"training/{key}"
                    self._writer.add_scalar(tag, value, int(record["topics"]))
        self._written = max(self._written, len(records))
        self._writer.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._writer.close()
