"""Training loop that all learners share, and its options."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from srd_agents.training.files import STATE_FILE, Tree, read_tree, sources_of, write_tree
from srd_agents.training.options import Config, Count, CountFromZero, MeasureOption, Positive, as_values
from srd_agents.training.progress import History, OnProgress, Progress
from srd_agents.training.validation import Validation
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.files import PathLike
from srd_gym.interrupts import held_back
from srd_gym.measures import Measure, parse_measure
from srd_gym.reading import reading, shown
from srd_gym.topic import TopicSet

_PROGRESS_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(Config):
    """Options of the training loop; learners add their own fields."""

    epochs: Count = 100
    """Largest number of passes over the training topics."""
    batch_topics: Count = 1
    """Topics per update."""
    patience: CountFromZero = 10
    """Validations without a new best after which training stops; 0: it never stops early."""
    validate_every: Count = 1
    """Epochs between validations."""
    validation_measure: MeasureOption = "alpha_nDCG@10"
    """Measure that chooses the weights on validation topics, in the notation of `srd_gym.measures.parse_measure`."""
    checkpoint_seconds: Positive = 60.0
    """Seconds between checkpoints."""


PLAYED = ("episodes", "steps")
"""Figures of an update whose totals the history holds; of the others it holds means over an epoch."""
HOW_LONG = ("epochs", "patience", "checkpoint_seconds")
"""Options that a resumed run may change: how long it trains and how often it saves, not what it computes."""


@dataclass(kw_only=True)
class _Place:
    """Place of a training run in its epochs; kept with its checkpoint."""

    epoch: int = 0
    """Epochs completed."""
    position: int = 0
    """Topics seen in the running epoch."""
    stale: int = 0
    """Validations without a new best."""
    sums: dict[str, float] = field(default_factory=dict)
    """The learner's figures, summed over the topics of the running epoch."""
    played: dict[str, int]
    """Episodes and environment steps in all."""
    seconds: float
    """Wall time of earlier sessions."""
    cpu_seconds: float
    """Processor time of updates, and of what was trained before them."""


class TrainingLoop:
    """One training run of one ranker: shuffled epochs of updates, validation, early stopping, checkpoints.

    Args:
        learner: a `srd_agents.training.learner.Learner`, built and prepared on `topics`.
        topics: what it trains on.
        validation: what its weights are chosen on; None keeps the last weights.
        out: folder for checkpoints and the model, or None.
        time_budget: seconds at most, or None.
        callback: called while training, or None.
        measures: more of the rankings of the validation topics, for the history.
    """

    def __init__(
        self,
        learner: Any,
        topics: TopicSet,
        validation: TopicSet | None,
        *,
        out: PathLike | None = None,
        time_budget: float | None = None,
        callback: OnProgress | None = None,
        measures: Sequence[str | Measure] = (),
    ) -> None:
        self._learner, self._topics = learner, topics
        self._config: LearnerConfig = learner.config
        self._validation: Validation | None = None if validation is None else learner.validation_on(validation)
        others = [] if validation is None else [Validation(validation, each) for each in measures]
        self._others = [each for each in others if each.name != str(parse_measure(self._config.validation_measure))]
        self._out = None if out is None else Path(out)
        self._time_budget, self._callback = time_budget, callback
        self.history = History(measure=None if self._validation is None else self._validation.name)
        # The order of the topics has its own generator: what a learner draws must not depend on the loop.
        self._rng = np.random.default_rng([learner.seed or 0, 0x5EED])
        self._order = np.arange(len(topics), dtype=np.int64)
        self._place = _Place(
            seconds=learner.pretraining_seconds,
            cpu_seconds=learner.pretraining_cpu_seconds,
            played=dict.fromkeys(PLAYED, 0),
        )
        self._best: dict[str, AnyArray] | None = None
        self._saved_at = self._shown_at = self._began = time.monotonic()
        self._resumed = False

    @cached_property
    def _identity(self) -> dict[str, object]:
        """Values that a resumed run must have in common with its checkpoint."""
        lasting = {name: value for name, value in as_values(self._config).items() if name not in HOW_LONG}
        lasting |= {"content of files": files} if (files := sources_of(lasting, code=False)) else {}
        return {
            **lasting,
            "ranker": self._learner.name,
            "seed": self._learner.seed,
            "topics": self._topics.fingerprint,
            "validation": None if self._validation is None else self._validation.topics.fingerprint,
        }

    @property
    def seconds(self) -> float:
        """Training time so far, earlier sessions included."""
        return self._place.seconds + time.monotonic() - self._began

    def run(self) -> None:
        """Train to the end; the learner then holds the chosen weights.

        Raises:
            KeyboardInterrupt: after a checkpoint.
            FloatingPointError: a figure became NaN or infinite.
            ValueError: weights did.
        """
        with held_back() as let_interrupts_through:
            if not self._resumed:
                self._checkpoint()  # a run that is stopped early has something to resume
            self.begin()
            let_interrupts_through()
            while self.goes_on():
                batch, began = self.next_batch(), time.process_time()
                figures = self._learner._update(batch)
                # A second interrupt comes at once: the state is then neither here nor there, and not kept.
                self.learned(batch, figures, time.process_time() - began)
                try:
                    let_interrupts_through()
                    self._report()
                except KeyboardInterrupt:
                    self._checkpoint()
                    raise
                if time.monotonic() - self._saved_at > self._config.checkpoint_seconds:
                    self._checkpoint()
            self._checkpoint()
            self.finish()

    def begin(self) -> None:
        """Validate the initial weights, which compete: where training makes things worse, they are kept."""
        if self._validation is not None and not self.history.records:
            self._record({})

    def resume(self) -> None:
        """Take over the checkpoint in the folder.

        Raises:
            FileNotFoundError: there is none.
            ValueError: it belongs to another run, or is no checkpoint.
        """
        if self._out is None:
            raise ValueError("resume needs the folder of the run: pass out=FOLDER")
        path = self._out / STATE_FILE
        if not path.exists():
            raise FileNotFoundError(f"no training to resume in {self._out} (no {STATE_FILE}); train without resume")
        self._resumed = True
        what = f"training state of ranker {self._learner.name!r}"
        with reading(path, what, "one that `fit` wrote", "train it again"):
            self._take_over(read_tree(path, what), path)

    def _take_over(self, state: Tree, path: Path) -> None:
        """Go on from a checkpoint; refuse that of another run, saying in what it differs."""
        for name, mine in self._identity.items():
            if (theirs := state["identity"].get(name)) != mine:
                part = {"topics": "training topics' fingerprint", "validation": "validation topics' fingerprint"}
                raise ValueError(
                    f"{path} belongs to another run: {part.get(name, name)} was {shown(theirs)}, now {shown(mine)}. "
                    "Resume with what it began with, or start anew"
                )
        self._learner.check_weights(state["weights"], str(path))
        self._learner._set_weights(state["weights"])
        self._learner._restore_training(state["learner"])
        self._best = state.get("best")
        self._order = state["order"]
        loop = dict(state["loop"])
        self._rng.bit_generator.state = loop.pop("generator")
        self.history = History(**loop.pop("history"))
        self._place = _Place(**loop)
        self.history.stopped_by = None

    def goes_on(self) -> bool:
        """Whether there is more to learn; else the history says why not."""
        if self._place.epoch >= self._config.epochs:
            self.history.stopped_by = "epochs"
        elif self._config.patience and self._place.stale >= self._config.patience:
            self.history.stopped_by = "patience"
        elif self._time_budget is not None and self.seconds >= self._time_budget:
            self.history.stopped_by = "time_budget"
        return self.history.stopped_by is None

    def next_batch(self) -> IntArray:
        """[b] topics of the next update; ask once an update."""
        if self._place.position == 0:
            self._order = self._rng.permutation(len(self._topics)).astype(np.int64)
        return self._order[self._place.position : self._place.position + self._config.batch_topics]

    def learned(self, batch: IntArray, figures: Mapping[str, float], cpu_seconds: float) -> None:
        """Take note of an update, and do what belongs to an epoch's end.

        Args:
            batch: what `next_batch` gave.
            figures: of the learner.
            cpu_seconds: processor time of the update.
        """
        self._place.cpu_seconds += cpu_seconds
        for name, value in figures.items():
            if isinstance(value, Real):  # else it is on a device
                self._check_finite(name, value)
            if name not in PLAYED:
                self._place.sums[name] = self._place.sums.get(name, 0.0) + value * len(batch)
            else:
                self._place.played[name] += round(value * len(batch))
        self._place.position += len(batch)
        if self._place.position >= len(self._topics):
            means = self._means()
            self._place.epoch += 1
            self._place.position, self._place.sums = 0, {}
            due = self._place.epoch % self._config.validate_every == 0 or self._place.epoch == self._config.epochs
            self._record(means, validate=due)

    def _check_finite(self, name: str, value: float) -> None:
        """Stop where a figure is NaN or infinite."""
        if not math.isfinite(value):
            raise FloatingPointError(
                f"training {self._learner.name!r} diverged: {name} is {value} in epoch {self._place.epoch + 1}; "
                "lower the learning rate or clip gradients"
            )

    def _means(self) -> dict[str, float]:
        """The learner's figures, averaged over the topics seen in the running epoch."""
        self._wait_for_figures()
        return {name: total / self._place.position for name, total in self._place.sums.items()}

    def _wait_for_figures(self) -> None:
        """Turn sums that are on a device into numbers."""
        for name, total in self._place.sums.items():
            self._place.sums[name] = float(total)
            self._check_finite(name, self._place.sums[name])

    def _record(self, figures: Mapping[str, object], *, validate: bool = True) -> None:
        """Append a line to the history; keep the current weights if they validate better than all before."""
        value = self._learner.validated(self._validation) if validate and self._validation is not None else None
        line = {
            "epoch": self._place.epoch,
            "topics": self._place.epoch * len(self._topics) + self._place.position,
            **self._place.played,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self._place.cpu_seconds, 4),
            "validation": value,
        }
        if value is not None and self._validation is not None:
            order, baseline = self._validation.baseline
            line |= {f"validation/{order.replace(' ', '_')}": baseline, **self._other_measures()}
        self.history.records.append({**line, **figures})
        if value is None:
            return
        self._place.stale += 1
        if self.history.best_validation is None or value > self.history.best_validation:
            self.history.best_validation, self.history.best_epoch = value, self._place.epoch
            self._best, self._place.stale = self._learner._weights(), 0

    def _other_measures(self) -> dict[str, float]:
        """The measures that choose nothing, of the rankings that were just validated."""
        topics = [] if self._validation is None else list(self._validation.topics)
        rankings = {each.depth: self._learner.rank_batch(topics, each.depth) for each in self._others}
        return {f"validation/{each.name}": float(each.score(rankings[each.depth]).mean()) for each in self._others}

    def finish(self) -> None:
        """Leave the chosen weights in the learner and in the model folder.

        A run cut by its time budget may stand between two validations: what it learned since then gets its chance.
        It comes after the checkpoint, so that a resumed run knows nothing of it.
        """
        last = self.history.records[-1:]
        unseen = self._place.position > 0 or (last and last[0]["validation"] is None)
        if self._validation is not None and (unseen or self._best is None):
            self._record({**self._means(), "partial": True})
        if self._best is not None:
            self._learner._set_weights(self._best)
        if self._out is not None:
            self._learner._write_model(self._out, self._learner._weights())

    def _checkpoint(self) -> None:
        """Write the training state and the best model so far, where there is a folder."""
        self._saved_at = time.monotonic()
        if self._out is None:
            return
        self._wait_for_figures()
        weights = self._learner._weights()
        state: Tree = {
            "identity": self._identity,
            "loop": {
                **asdict(replace(self._place, seconds=self.seconds)),
                "generator": self._rng.bit_generator.state,
                "history": asdict(self.history),
            },
            "order": self._order,
            "weights": weights,
            "learner": self._learner._training_state(),
        }
        if self._best is not None:
            state["best"] = self._best
        write_tree(self._out / STATE_FILE, state)
        self._learner._write_model(self._out, weights if self._best is None else self._best)

    def _report(self) -> None:
        """Tell the caller where the run stands, at epochs' ends and now and then in between."""
        now = time.monotonic()
        if self._callback is None or (self._place.position and now - self._shown_at < _PROGRESS_SECONDS):
            return
        self._shown_at = now
        self._callback(
            Progress(
                epoch=self._place.epoch,
                epochs=self._config.epochs,
                topics_done=self._place.position,
                topics=len(self._topics),
                records=self.history.records,
                measure=self.history.measure,
            )
        )
