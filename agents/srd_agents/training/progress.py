"""Progress of a training run: its history, where it stands, and its figures as loggers take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from srd_agents.training.options import check_type, config_from
from srd_gym.checks import check_integer
from srd_gym.showing import short_repr


@dataclass(kw_only=True)
class History:
    """Course of a training run, in plain values."""

    __repr__ = short_repr

    measure: str | None = None
    """The measure of "validation" in the records; None where there was no validation set."""
    records: list[dict[str, Any]] = field(default_factory=list)
    """One dict an epoch: epoch (from 1), topics (seen in all), episodes and steps (played in the environment in all; 0
    for learners that play none), seconds (in all), cpu_seconds (processor time of updates and of what was trained
    before them, without validation), validation (float or None) and beside it the same of the order that a ranker
    should exceed ("validation/initial_ranking", where topics have none "validation/random_order"), "validation/MEASURE"
    for each other measure that was asked for, and the learner's own figures, averaged over the epoch's topics. With a
    validation set, the first record is of epoch 0: the weights before any update."""
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
        history = config_from(cls, values, owner)
        for number, record in enumerate(history.records, start=1):
            check_type(f"{owner}: record {number}", record, dict[str, float | bool | None])
            for name in ("epoch", "topics"):
                check_integer(f"{owner}: {name} of record {number}", record.get(name), 0)
        return history


@dataclass(frozen=True, kw_only=True)
class Progress:
    """State of a training run while it runs."""

    __repr__ = short_repr

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
    measure: str | None = None
    """The measure of "validation" in the records."""

    def latest(self) -> tuple[int, dict[str, float]]:
        """The last record as loggers take it: (environment steps so far, figures by tag), as `by_tag`.

        Raises:
            ValueError: there is none yet.
        """
        if not self.records:
            raise ValueError("no epoch has ended yet, so there are no figures; ask where topics_done is 0")
        return next(by_tag(self.records, self.measure, len(self.records) - 1))


OnProgress = Callable[[Progress], None]
"""Called at the end of every epoch and up to ten times a second in between; raising `KeyboardInterrupt` saves and ends
the run."""


_CLOCK = ("epoch", "topics", "episodes", "seconds", "cpu_seconds")
"""Figures of the training loop; the others are the learner's."""


def by_tag(
    records: Sequence[Mapping[str, Any]], measure: str | None, start: int = 0
) -> Iterator[tuple[int, dict[str, float]]]:
    """Records as TensorBoard and other loggers take them: the place on the x axis, and figures by tag.

    x is the number of environment steps so far, or of topics seen for learners that play no episodes. Tags:
    `validation/MEASURE` and, for comparison, `validation/initial_ranking` or `validation/random_order`; `train/NAME`
    for the learner's own figures, where it has them (return, loss, entropy, learning_rate, grad_norm, ...);
    `time/NAME` for epoch, topics, episodes, seconds, cpu_seconds and steps_per_second (of wall time since the record
    before, validation included).

    Args:
        records: of a `History`, from the first on.
        measure: of "validation" in the records.
        start: the first record that is wanted.

    Yields:
        (x, tag -> value) of each record.
    """
    for number in range(start, len(records)):
        record, before = records[number], records[number - 1] if number else {}
        figures = {_tag(name, measure): value for name, value in record.items() if value is not None}
        for name in ("steps", "partial"):
            figures.pop(f"train/{name}", None)
        steps, seconds = ((record.get(name) or 0) - (before.get(name) or 0) for name in ("steps", "seconds"))
        if steps > 0 and seconds > 0:
            figures["time/steps_per_second"] = steps / seconds
        yield int(record.get("steps") or record["topics"]), figures


def _tag(name: str, measure: str | None) -> str:
    """The tag of an entry of a record."""
    if name == "validation":
        return f"validation/{measure}"
    return name if "/" in name else f"time/{name}" if name in _CLOCK else f"train/{name}"


def topics_seen(advance: Callable[[int], None]) -> OnProgress:
    """Feeds a progress bar with the topics seen, of one training or of several in turn.

    Args:
        advance: called with the number of topics seen since the last call.
    """
    done = 0

    def on_progress(progress: Progress) -> None:
        nonlocal done
        now = progress.epoch * progress.topics + progress.topics_done
        advance(now - done if now >= done else now)  # fewer: the next training begins
        done = now

    return on_progress
