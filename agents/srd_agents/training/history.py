"""What a training run reports: its history, and its progress while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from srd_agents.training.options import check_type, config_from
from srd_gym.checks import check_integer


@dataclass(kw_only=True)
class History:
    """The course of a training run, plain values all of them."""

    measure: str | None = None
    """The measure of "validation" in the records; None where there was no validation set."""
    records: list[dict[str, Any]] = field(default_factory=list)
    """One dict an epoch: epoch (from 1), topics (seen in all), seconds (in all), cpu_seconds (processor time of updates
    and of what was trained before them, without validation), validation (float or None), and the learner's own figures,
    averaged over the epoch's topics. With a validation set, the first record is of epoch 0: the weights before any
    update."""
    best_epoch: int | None = None
    """The epoch whose weights were kept; None where they are the last ones."""
    best_validation: float | None = None
    """Their measure on the validation set."""
    stopped_by: str | None = None
    """"epochs", "patience" or "time_budget"; None while running or interrupted."""
    excluded: list[str] = field(default_factory=list)
    """Query ids left out of training: no candidate of theirs is relevant."""

    @classmethod
    def of(cls, values: Mapping[str, Any], owner: str) -> Self:
        """The history that a file holds.

        Args:
            values: its fields, as `dataclasses.asdict` gives them.
            owner: where they come from, for errors.

        Raises:
            TypeError, ValueError: fields or figures that no training run writes.
        """
        found = config_from(cls, values, owner)
        for number, record in enumerate(found.records, start=1):
            check_type(f"{owner}: record {number}", record, dict[str, float | bool | None])
            for name in ("epoch", "topics"):
                check_integer(f"{owner}: {name} of record {number}", record.get(name), 0)
        return found


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a training run stands."""

    epoch: int
    """Epochs completed."""
    epochs: int
    """Epochs planned."""
    topics_done: int
    """Topics seen in the running epoch."""
    topics: int
    """Topics an epoch."""
    records: Sequence[Mapping[str, Any]]
    """The records of the history so far; it grows while training goes on."""


OnProgress = Callable[[Progress], None]
"""Called at the end of every epoch and up to ten times a second in between; raising `KeyboardInterrupt` saves and ends
the run."""
