"""Learners: rankers that are fitted, saved, loaded and resumed. No torch here: weights pass through as numpy arrays.

A learner implements six small methods (`_build`, `_weights`, `_set_weights`, `_prepare`, `_update`, `_rank_batch`) and
the pair `_training_state` / `_restore_training`; the loop around them (`srd_agents.training.loop`) is shared:
shuffling, validation, early stopping, time budget, checkpoints and resuming.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from srd_agents.training.files import (
    CONFIG_FILE,
    MODEL_FILE,
    ModelInfo,
    Tree,
    Weights,
    check_like,
    read_arrays,
    write_arrays,
)
from srd_agents.training.loop import LearnerConfig, TrainingLoop
from srd_agents.training.machine import enough_memory, torch_threads
from srd_agents.training.options import as_values, config_from
from srd_agents.training.progress import History, OnProgress
from srd_agents.training.validation import Validation, checked_topics
from srd_gym.checks import check_integer, check_positive, checked_rankings, unknown
from srd_gym.dtypes import AnyArray, IntArray
from srd_gym.files import PathLike
from srd_gym.measures import Measure
from srd_gym.reading import few, reading, shown
from srd_gym.showing import repr_of
from srd_gym.sources import TopicSource, topics_from
from srd_gym.topic import Topic, TopicSet, one_topic

__all__ = ["Learner", "LearnerConfig"]

C = TypeVar("C", bound=LearnerConfig)


class Learner(ABC, Generic[C]):
    """A ranker with weights.

    Args:
        config: the options; None takes the defaults of `config_class`.

    Attributes:
        vector_width: F of the vectors it was built for; None before `fit` or `load`.
        seed: of the last `fit`.
        history: of the last `fit`; None before. A loaded model has the history of its training.
        metadata: free JSON values that are saved in config.json (fold, name of the topic set, ...).
        pretraining_seconds: wall time that `_prepare` trained something else first; counts towards a time budget.
        pretraining_cpu_seconds: its processor time.
    """

    __repr__ = repr_of("name", "vector_width", "config")

    name: str
    """The name in the registry, which config.json records; the class's own unless the registry built it, "module:Class"
    where it has none."""
    config_class: ClassVar[type[Any]] = LearnerConfig
    """The dataclass of its options."""
    only_training: ClassVar[tuple[str, ...]] = ()
    """Attributes that are let go of when training ends."""

    _origin: dict[str, object] | None = None
    """Origin of the topics of the last fit, where the caller gave none."""

    def __init__(self, config: C | None = None) -> None:
        self.name = self._class_name()
        self.config: C = self.config_class() if config is None else config
        self.vector_width: int | None = None
        self.seed: int | None = None
        self.history: History | None = None
        self.metadata: dict[str, Any] = {}
        self.pretraining_seconds = self.pretraining_cpu_seconds = 0.0
        self._resuming = False

    # What a learner implements.

    @abstractmethod
    def _build(self, vector_width: int) -> None:
        """Make the network, with any weights: `_set_weights` (load) or `_prepare` (fit) gives it the right ones."""

    @abstractmethod
    def _weights(self) -> dict[str, AnyArray]:
        """Copies of the weights, name -> array. Names and shapes depend on the config and the vector width only."""

    @abstractmethod
    def _set_weights(self, weights: Weights) -> None:
        """Take over weights of the names and shapes of `_weights` (already checked); copy, keep no reference."""

    @abstractmethod
    def _prepare(self, topics: TopicSet, seed: int) -> None:
        """Get ready to train: called once by `fit`, after `_build`.

        Draws the initial weights from the seed, makes the optimizer, the generators (from the seed too) and the arrays
        of the topics. The topics are labelled, have vectors and at least one relevant candidate each. Where
        `self._resuming`, weights follow from a checkpoint, so what only makes them need not be done.
        """

    @abstractmethod
    def _update(self, batch: IntArray) -> Mapping[str, float]:
        """Learn from some topics: the smallest piece of work that is never cut in two.

        Args:
            batch: [b] indices into the topics of `_prepare`, b <= config.batch_topics (less at an epoch's end).

        Returns:
            Figures for the history, each the mean over the batch's topics ({"return": 3.1, "entropy": 0.2}). Learners
            share the names return, loss, entropy, learning_rate and grad_norm (before clipping). Of "episodes" and
            "steps", what was played of each topic in the environment, the history has totals. Others than these two
            may be numbers on a device: they are waited for when an epoch ends or a checkpoint is written.
        """

    @abstractmethod
    def _training_state(self) -> Tree:
        """All that `_update` changes besides the weights: optimizer, generators, replay, running baselines.

        Nested dicts of arrays and JSON values; `srd_agents.training.checkpoint` makes them of torch's objects.
        """

    @abstractmethod
    def _restore_training(self, state: Tree) -> None:
        """Take over what `_training_state` gave; called after `_prepare` and `_set_weights`."""

    @abstractmethod
    def _rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank_batch` for checked topics; deterministic, and independent of what else is in the batch."""

    def validated(self, validation: Validation) -> float:
        """The measure on the validation topics; a learner with choices that need no training makes them here."""
        return validation.mean(self)

    def validation_on(self, topics: TopicSet) -> Validation:
        """Validation as the options want it."""
        return Validation(topics, self.config.validation_measure)

    def learnable(self, topics: TopicSet, validation: TopicSet | None) -> tuple[TopicSet, list[str]]:
        """The topics that can be learned from, and the ids of those that cannot.

        Raises:
            ValueError: as of `fit`.
        """
        return checked_topics(self.name, topics, validation)

    def check_device(self) -> None:
        """Refuse to train on what this machine does not have; called first by `fit`.

        Raises:
            ValueError: the options name a device that is not here.
        """

    def _trained_on(self, topics: TopicSet) -> dict[str, object]:
        """The metadata with the origin of these topics, unless the caller gave one."""
        given = self.metadata.get("topic_set")
        if given not in (None, self._origin):
            return self.metadata
        self._origin = topics.origin
        return {**self.metadata, "topic_set": self._origin}

    def _build_for(self, weights: Weights, vector_width: int) -> None:
        """`_build` for the weights of a file."""
        self._build(vector_width)

    def _release(self) -> None:
        """Let go of what only training needed (topics, optimizer); called when `fit` ends."""
        for name in self.only_training:
            self.__dict__.pop(name, None)

    # What every learner then has.

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents of the topic, best first: [min(k, N)] int64."""
        return self.rank_batch([one_topic(topic)], k)[0]

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic, in their order.

        Raises:
            ValueError: not fitted, k below 1, or a topic whose vectors are missing, of another width or too large.
        """
        check_integer("k", k, 1)
        self.check_topics(topics)
        return checked_rankings(self._rank_batch(topics, k) if topics else [], topics, self, k)

    def ranking_with(self, **options: Any) -> Self:
        """The same trained ranker, with its weights and other options of ranking (`RANKING_OPTIONS` of its config).

        Raises:
            ValueError: an option that training depends on, an unknown one, or a value out of range.
        """
        ranking_options: tuple[str, ...] = getattr(self.config_class, "RANKING_OPTIONS", ())
        for name in options:
            if name not in ranking_options:
                raise unknown(f"option of ranking of ranker {self.name!r}:", name, ranking_options)
        twin = copy.copy(self)
        twin.config = replace(self.config, **options)
        return twin

    def check_topics(self, topics: Sequence[Topic]) -> None:
        """Refuse topics that it cannot rank; warn of a topic set whose vectors another encoder made.

        Raises:
            ValueError: not fitted, or a topic without vectors or of another width.
        """
        if self.vector_width is None:
            raise ValueError(f"ranker {self.name!r} is not trained: call fit, or load a trained folder")
        for topic in topics:
            if topic.vector_width != self.vector_width:
                came = "none" if topic.vector_width is None else f"width {topic.vector_width}"
                raise ValueError(
                    f"ranker {self.name!r} was trained on document vectors of width {self.vector_width}, but topic "
                    f"{shown(topic.query_id)} has {came}; make its vectors the same way as those of training"
                )
        if isinstance(topics, TopicSet):
            tell_foreign(f"ranker {self.name!r}", self.metadata, [topics.origin])

    def fit(
        self,
        topics: TopicSource,
        validation: TopicSource | None = None,
        *,
        seed: int = 0,
        threads: int = 1,
        out: PathLike | None = None,
        resume: bool = False,
        time_budget: float | None = None,
        callback: OnProgress | None = None,
        measures: Sequence[str | Measure] = (),
    ) -> History:
        """Train; the learner then holds the weights that were best on the validation topics (without any: the last).

        Args:
            topics: labelled topics (a set, a list, a name such as "words" or a path); those without a relevant
                candidate are left out with a notice.
            validation: likewise, for model selection and early stopping; must share no query with `topics`.
            seed: the same seed and topics give bitwise the same weights (one machine, same versions and threads).
            threads: of torch while it trains, whatever their number before and after; one is the fastest for networks
                of these sizes.
            out: folder for the model and for checkpoints; None keeps everything in memory.
            resume: continue the run whose checkpoint lies in `out`, to bitwise the same weights as if it had never
                stopped. Needs the same topics, seed and config (but for `srd_agents.training.loop.HOW_LONG`: of more
                epochs with `validate_every` above 1, the last one of the first run was validated too, and may be best).
            time_budget: seconds of training at most, earlier sessions of a resumed run included.
            callback: called while training.
            measures: more measures of the rankings of the validation topics, for the history: they choose nothing, and
                cost a ranking of these topics at every validation.

        Returns:
            The history.

        Raises:
            ValueError: unlabelled topics, no vectors, nothing to learn from, a checkpoint of another run, a device that
                is not here, or too little memory.
            FileNotFoundError: `resume` without a checkpoint in `out`.
            KeyboardInterrupt: passed on after a checkpoint was written (where `out` is given). Pretraining that has not
                ended has no checkpoint: it begins anew.
        """
        check_integer("seed", seed, 0)
        if time_budget is not None:
            check_positive("time_budget", time_budget)
        if measures and validation is None:
            raise ValueError(
                "measures are taken on the validation topics, but there are none: pass validation=..., or no measures"
            )
        self.check_device()
        judge = None if validation is None else topics_from(validation)
        trainable, excluded = self.learnable(topics_from(topics), judge)
        self.metadata = self._trained_on(trainable)
        self._resuming = resume
        self.pretraining_seconds = self.pretraining_cpu_seconds = 0.0
        with torch_threads(threads):
            self.prepare(trainable, seed)
            try:
                run = TrainingLoop(
                    self, trainable, judge, out=out, time_budget=time_budget, callback=callback, measures=measures
                )
                run.history.excluded = excluded
                if resume:
                    run.resume()
                self.history = run.history
                with enough_memory(self.name, out):
                    run.run()
                return run.history
            finally:
                self._release()

    def prepare(self, topics: TopicSet, seed: int = 0) -> None:
        """The beginning of `fit`; alone, for experiments that train step by step.

        Args:
            topics: labelled topics with vectors, a relevant candidate each.
            seed: as in `fit`.

        Raises:
            ValueError: topics without vectors.
        """
        self.vector_width, self.seed = topics.require_vectors(f"ranker {self.name!r}"), seed
        with enough_memory(self.name):
            self._build(self.vector_width)
            self._prepare(topics, seed)

    def save(self, folder: PathLike) -> None:
        """Write `model.safetensors` and `config.json`, each whole or not at all.

        Raises:
            ValueError: nothing to save yet.
        """
        if self.vector_width is None:
            raise ValueError(f"ranker {self.name!r} has no weights to save: call fit first")
        self._write_model(folder, self._weights())

    @classmethod
    def load(cls, folder: PathLike, name: str | None = None) -> Self:
        """The ranker that `save` wrote.

        Args:
            folder: where it lies.
            name: of a ranker in the registry that shares this class; None is the class's own.

        Raises:
            FileNotFoundError: no such folder or file.
            ValueError: another ranker's folder, a newer schema, a pickle, or arrays of another width or size.
        """
        where = Path(folder)
        with reading(where, "trained ranker", "the folder of one", "train again"):
            name = cls._class_name() if name is None else name
            info = ModelInfo.read(where)
            if info.ranker != name:
                raise ValueError(
                    f"{where} holds a trained {info.ranker!r}, not {name!r}; "
                    "srd_agents.registry.load_ranker finds the right class"
                )
            learner = cls(config_from(cls.config_class, info.config, f"ranker {name!r} in {where}"))
            learner.name, learner.metadata = name, info.metadata
            learner.vector_width, learner.seed = info.vector_width, info.seed
            if info.history is not None:
                learner.history = History.of(info.history, f"the history in {where / CONFIG_FILE}")
            weights, header = read_arrays(where / MODEL_FILE, f"model of ranker {name!r}")
            if header.get("fingerprint") != info.fingerprint:
                raise ValueError(
                    f"{where}: {MODEL_FILE} and {CONFIG_FILE} come from different trainings; train again, or resume"
                )
            with enough_memory(name):
                learner._build_for(weights, info.vector_width or 0)  # a width of 0 fits no weights
            learner.check_weights(weights, str(where / MODEL_FILE))
            learner._set_weights(weights)
            return learner

    @classmethod
    def _class_name(cls) -> str:
        """The name of what no registry built."""
        return getattr(cls, "name", f"{cls.__module__}:{cls.__qualname__}")

    def check_weights(self, weights: Weights, what: str) -> None:
        """Refuse weights that do not fit the network.

        Raises:
            ValueError: other names or shapes; the message names the first.
        """
        check_like(weights, {name: array.shape for name, array in self._weights().items()}, what)

    def _write_model(self, folder: PathLike, weights: Weights) -> None:
        """Write these weights and the configuration as a model folder."""
        info = ModelInfo(
            ranker=self.name,
            vector_width=self.vector_width,
            seed=self.seed,
            config=as_values(self.config),
            metadata=self.metadata,
            history=None if self.history is None else asdict(self.history),
        )
        # The header says which config the weights belong to, as two files cannot be replaced in one stroke.
        write_arrays(Path(folder) / MODEL_FILE, weights, {"fingerprint": info.fingerprint})
        info.write(folder)


def tell_foreign(who: str, metadata: Mapping[str, Any], ranked: Iterable[Mapping[str, object]]) -> None:
    """Warn, in a line, where topics have vectors of another encoder than those that a model was trained on.

    Where the encoder of either is not known, another topic set, or other marks, count as another one.

    Args:
        who: the model, for the notice.
        metadata: the model's; `topic_set` is the `TopicSet.origin` of its training.
        ranked: the `TopicSet.origin` of the topics to rank, or of each of their files.
    """
    trained = metadata.get("topic_set")
    if not isinstance(trained, Mapping):
        return
    for origin in ranked:
        encoders_known = None not in (origin["encoder"], trained.get("encoder"))
        if any(origin[name] != trained.get(name) for name in (["encoder"] if encoders_known else ["name", "marks"])):
            warnings.warn(
                f"{who} was trained on vectors of {_called(trained)}, and is to rank vectors of {_called(origin)}; "
                "unless one encoder made both, its rankings mean nothing",
                stacklevel=3,
            )
            break


def _called(origin: Mapping[str, object]) -> str:
    """A topic set and what is known of its vectors."""
    marks = origin.get("marks")
    about = [origin.get("encoder") or "unknown encoder", *(marks if isinstance(marks, list) else ())]
    return f"{shown(origin.get('name'))} ({few(about)})"
