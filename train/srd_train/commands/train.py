"""`srd train`: fit a ranker on the training topics of a file, choosing on its validation topics."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from srd_agents.own_code import import_own
from srd_agents.registry import RANKERS, RankerSpec, check_saved
from srd_agents.training.files import CONFIG_FILE, MODEL_FILE, STATE_FILE
from srd_agents.training.learner import Learner
from srd_agents.training.progress import Progress, topics_seen
from srd_agents.training.validation import Validation
from srd_gym.data import load_topics
from srd_gym.reading import shown
from srd_gym.topic import TopicSet
from srd_train.commands.console import Output
from srd_train.commands.help import overview
from srd_train.commands.options import Folder, SomeFile, SomeFolder, parsed_with_ranker
from srd_train.experiment.lock import locked
from srd_train.experiment.provenance import commit
from srd_train.experiment.selection import Fitted, ResolvedRanker, fit_ranker
from srd_train.experiment.split import Split, split_topics, with_lsa
from srd_train.experiment.tensorboard import event_log
from srd_train.serving.models import VECTORIZER_FOLDER, digest_of, saved_vectorizer, write_heuristic


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a ranker and write a folder for `srd rank`.

    A learner is trained on the fold's training topics and keeps the weights that are best on its validation topics.
    Parameters of a heuristic (mmr) are chosen on the validation topics. The test topics are not touched. Without a
    fold, a fifth of the topics is for validation and none for testing.

    Examples:
      srd train reinforce --topics topics.parquet --fold 1/5 --out model
      srd train mmr --topics topics.parquet --folds folds.yml --fold 2 --out model
      srd train reinforce --topics texts.parquet --vectors lsa --out model
      srd train reinforce --topics words --vectors lsa --out model --time-budget 60
      srd train reinforce --topics words --vectors lsa --out model --resume
      srd train reinforce --topics topics.parquet --out model --tensorboard logs
      srd train policy:MyPolicy --topics topics.parquet --out model --trust
    """

    topics: Annotated[str, tyro.conf.arg(metavar="FILE|synthetic:PRESET")]
    """Topic file (Parquet, from `srd data build`), "words", or "synthetic:PRESET[:TOPICS[:SEED]]"."""
    out: Folder
    """Model directory to write, with its checkpoints."""
    fold: Annotated[str | None, tyro.conf.arg(metavar="I/N")] = None
    """Fold I of N, shuffled by query id; with --folds, its number "I"."""
    folds: SomeFile = None
    """File of published test sets, one list of query ids per fold. Topics in none of them are always for training."""
    vectors: Annotated[Literal["lsa"] | None, tyro.conf.arg(metavar="lsa")] = None
    """lsa: make embeddings of the texts, fitted on the training topics only and saved with the model."""
    width: int = 100
    """Width of LSA embeddings."""
    seed: int = 0
    """Random seed for initialisation, shuffling and sampling, and for the validation topics where no fold is named."""
    time_budget: Annotated[float | None, tyro.conf.arg(metavar="SECONDS")] = None
    """Longest training time."""
    threads: int = 1
    """Threads of torch. One is the fastest for policies of this size."""
    resume: bool = False
    """Continue the training in --out. The weights will be, bit for bit, those of a training without a break."""
    tensorboard: SomeFolder = None
    """Also write the figures of every epoch into this folder, for TensorBoard."""
    measures: Annotated[Sequence[str], tyro.conf.arg(metavar="NAME...", constructor=list)] = ()
    """Further measures of a learner's validation rankings, for its history and TensorBoard."""
    select_by: str = "alpha_nDCG@10"
    """Measure that chooses a heuristic's parameters (for a learner: --validation-measure)."""
    trust: bool = False
    """Let code of your own run: "module:NAME" as ranker, measure, reward or pruning strategy."""
    json: bool = False
    """Print JSON: ranker, config, chosen, validation, folder."""


def first_words() -> dict[str, str]:
    """The rankers that can be trained, and what each is."""
    return {spec.name: spec.summary for spec in RANKERS.values() if spec.trainable or spec.parameters_to_tune}


def parse(args: Sequence[str], prog: str) -> TrainCommand:
    """The command from its words; the first names the ranker.

    Raises:
        ValueError: no ranker named, or an unknown one.
    """
    words = list(args)
    if words[:1] in (["-h"], ["--help"]):
        last = "Ranker options: srd train mdp-div --help"
        overview("srd train RANKER [OPTIONS]", Train.__doc__, "Rankers:", first_words(), last)
    if not words or words[0].startswith("-"):
        raise ValueError(f"name the ranker first: {prog} RANKER --topics FILE --out DIR (`{prog} --help` lists them)")
    name = words.pop(0)
    import_own(name, trust="--trust" in words)
    spec = RANKERS.find(name)
    if spec.requires_trust:
        raise ValueError(f"ranker {spec.name!r} is trained elsewhere: rank with `srd rank {spec.name} --help`")
    tuned = spec.parameters_to_tune
    options, config = parsed_with_ranker(Train, spec.configure(), words, f"{prog} {spec.name}", tuned=tuned)
    import_own([options.select_by, options.measures, config], trust=options.trust)
    return TrainCommand(ResolvedRanker.of(spec.name, config), options)


@dataclass(frozen=True)
class TrainCommand:
    """`srd train`, ready to run."""

    ranker: ResolvedRanker
    options: Train

    def execute(self, output: Output) -> int:
        """Train and save.

        Raises:
            ValueError: topics that cannot be split or learned from, a folder that is used already or that another run
                writes to, or a run that cannot be resumed.
        """
        options, spec = self.options, self.ranker.spec
        check_saved(spec)
        untrained = spec.build(self.ranker.configured({}))
        _check_options(options, spec, learner=isinstance(untrained, Learner))
        if isinstance(untrained, Learner):
            untrained.check_device()  # topics can take minutes to read
        with locked(options.out):
            _check_folder(options)
            topics = load_topics(options.topics)
            _check_vectors(options, spec, topics)
            split = split_topics(topics, fold=options.fold, folds=options.folds, seed=options.seed)
            if options.vectors == "lsa":
                split = with_lsa(split, options.width, saved_vectorizer(options.out) if options.resume else None)
            metadata = _metadata(options, topics, split)
            if split.vectorizer is not None and not options.resume:
                split.vectorizer.save(options.out / VECTORIZER_FOLDER)
            if isinstance(untrained, Learner):
                judge = untrained.validation_on(split.validation)
            else:
                judge = Validation(split.validation, options.select_by)
            fitted = self._fit(split, metadata, judge, output)
            if not isinstance(fitted.ranker, Learner):
                write_heuristic(options.out, spec, fitted.config, split.train.vector_width, metadata)
        self._show(fitted, split, judge, output)
        self._say(fitted, judge, output)
        return 0

    def _fit(self, split: Split, metadata: dict[str, object], judge: Validation, output: Output) -> Fitted:
        """Train with a progress bar, and a log for TensorBoard where one is wanted."""
        options = self.options
        order, baseline = judge.baseline
        events: contextlib.AbstractContextManager[Any] = contextlib.nullcontext(lambda *_: None)
        if options.tensorboard is not None:
            events = event_log(options.tensorboard, resume=options.resume)
        with output.progress(f"train {self.ranker.spec.name}") as advance, events as log:
            show = topics_seen(advance)

            def on_progress(progress: Progress) -> None:
                show(progress)
                values = [line["validation"] for line in progress.records if line["validation"] is not None]
                advance(0, f"train {self.ranker.spec.name}: {values[-1]:.4f} ({order} {baseline:.4f})")
                log(progress.records, progress.measure)

            try:
                fitted = fit_ranker(
                    self.ranker,
                    split,
                    select_by=options.select_by,
                    seed=options.seed,
                    threads=options.threads,
                    metadata=metadata,
                    out=options.out,
                    resume=options.resume,
                    time_budget=options.time_budget,
                    callback=on_progress,
                    measures=options.measures,
                )
            except KeyboardInterrupt as stop:
                advice = "there is no checkpoint yet, and the same command begins anew"
                if (options.out / STATE_FILE).exists():
                    advice = f"the same command with --resume goes on from the checkpoint in {options.out}"
                stop.add_note(advice)
                raise
            history = fitted.history or {}
            log(history.get("records", ()), history.get("measure"))
            return fitted

    def _say(self, fitted: Fitted, judge: Validation, output: Output) -> None:
        """Tell what a table's reader would have to work out: that nothing was learned, that nothing is diversified."""
        order, baseline = judge.baseline
        if fitted.validation is not None and fitted.validation < baseline:
            output.notice(
                f"the {order} of the validation topics is better than this model ({baseline:.4f}, it has "
                f"{fitted.validation:.4f}): try more epochs (--epochs, --patience), more topics or another ranker"
            )
        if fitted.history is not None and fitted.history["best_epoch"] == 0:
            output.notice("no epoch beat the initial weights, so these are kept: this model has learned nothing")
        # PM-2's lambda is no share of relevance.
        if fitted.chosen.get("lambda_") == 1.0 and self.ranker.spec.name != "pm2":
            output.notice("chosen lambda 1.0 is relevance alone: nothing is diversified")

    def _show(self, fitted: Fitted, split: Split, judge: Validation, output: Output) -> None:
        """Show the result."""
        options, spec = self.options, self.ranker.spec
        history, (order, baseline) = fitted.history or {}, judge.baseline
        if options.json:
            outcome = {name: getattr(fitted, name) for name in ("config", "chosen", "validation", "history")}
            about = {"ranker": spec.name, "folder": str(options.out), "split": dict(split.description)}
            about |= {"baseline": {order: baseline}}
            output.data(about | outcome)
            return
        rows = [["training topics", str(len(split.train))], ["validation topics", str(len(split.validation))]]
        rows += [[f"chosen {name.rstrip('_')}", str(value)] for name, value in fitted.chosen.items()]
        if fitted.validation is not None:
            rows.append([f"{judge.name} on validation", f"{fitted.validation:.4f}"])
        rows.append([f"{judge.name} of the {order}", f"{baseline:.4f}"])
        if history:
            rows.append(["best epoch", f"{history['best_epoch']} of {history['records'][-1]['epoch']}"])
            rows.append(["stopped by", str(history["stopped_by"])])
        marks = ", ".join(split.train.marks)
        caption = f"saved in {options.out}" + (f"; vectors: {marks}" if marks else "")
        output.table(f"Trained {spec.name}", ["", "value"], rows, caption)


def _check_options(options: Train, spec: RankerSpec, *, learner: bool) -> None:
    """Refuse to train what has nothing to fit, and options that it has no use for."""
    if not spec.trainable and not spec.parameters_to_tune:
        raise ValueError(f"ranker {spec.name!r} has nothing to train or choose; `srd rank {spec.name}` ranks at once")
    for option in ("select_by",) if learner else ("resume", "tensorboard", "measures", "time_budget", "threads"):
        if getattr(options, option) != getattr(Train, option):
            what = "is a learner: --validation-measure judges it" if learner else "is not a learner and has no epochs"
            raise ValueError(f"ranker {spec.name!r} {what}; leave --{option.replace('_', '-')} out")


def _check_folder(options: Train) -> None:
    """Refuse to overwrite a trained model."""
    used = [name for name in (CONFIG_FILE, MODEL_FILE, STATE_FILE) if (options.out / name).exists()]
    if used and not options.resume:
        raise ValueError(
            f"{options.out} already holds a training run ({', '.join(used)}); continue it with --resume, or give "
            "another --out"
        )


def _check_vectors(options: Train, spec: RankerSpec, topics: TopicSet) -> None:
    """Refuse topics without vectors for a ranker that needs some; made here, they see the training topics only."""
    if topics.vector_width is not None or options.vectors is not None or "vectors" not in spec.needs:
        return
    what = f"topic set {shown(topics.name)} has no document vectors, which ranker {spec.name!r} needs"
    if all(topic.doc_texts is not None for topic in topics):
        raise ValueError(f"{what}; `srd train {spec.name} --vectors lsa ...` makes them of its training topics' texts")
    raise ValueError(f"{what}, and no texts to make some of; give it vectors: `srd data build ... --vectors FILE`")


def _metadata(options: Train, topics: TopicSet, split: Split) -> dict[str, Any]:
    """The metadata that the model folder records of its training."""
    return {
        "topic_set": {**split.train.origin, "fingerprint": topics.fingerprint, "queries": digest_of(topics.query_ids)},
        "split": dict(split.description),
        "test_query_ids": None if split.test is None else list(split.test.query_ids),
        "vectors": options.vectors,
        "commit": commit(),
    }
