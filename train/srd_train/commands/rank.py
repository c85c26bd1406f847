"""`srd rank`: topics into a TREC run, or JSON lines from standard input to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from srd_agents.heuristic.config import TradeOffConfig
from srd_agents.own_code import import_own
from srd_agents.registry import RANKERS, find_untrained, model_folder, pretrained_names
from srd_agents.training.files import CONFIG_FILE
from srd_agents.training.machine import versions
from srd_gym.checks import check_integer
from srd_gym.trec_files import write_run
from srd_train.commands.console import Output
from srd_train.commands.help import overview
from srd_train.commands.options import SomeFile, parsed, parsed_with_ranker
from srd_train.experiment.provenance import commit
from srd_train.serving.json_lines import OPTIONAL, OnError, rank_lines
from srd_train.serving.models import Model, load_model, ranking_options
from srd_train.serving.ranking import TopicStream, rank_on_processes, rank_on_ray, rank_stream, topic_stream

_MORE = """Optional keys of JSON lines: {}.

Ranker options: srd rank mmr --help. Trained rankers may have options of ranking: srd rank DIR --help
(mcts: --rank-by). Trained policies of the package: {}."""


@dataclass(frozen=True, kw_only=True)
class Rank:
    """Rank topics with a trained ranker's folder, or with a ranker that needs no training.

    With --topics, the command writes a TREC run. A model that records a fold ranks the test topics of that fold;
    --all ranks every topic.

    Without --topics, the command reads JSON lines from standard input and answers one by one:
      {"query_id": "7", "doc_ids": ["a", "b"], "doc_vectors": [[1, 0], [0, 1]]}
      {"query_id": "7", "ranking": ["b", "a"]}

    Optional keys are the arguments of `srd_agents.diversify` (srd rank --help lists them). Its scores are
    retrieval_scores here; its texts are doc_texts, in place of vectors, and a ranker by name compares their words;
    already_shown and pinned hold ids. groups need max_per_group or min_per_group, costs a budget. Vectors may be base64
    of float32.

    Examples:
      srd rank model --topics topics.parquet --k 10 --out model.run
      srd rank mmr --lambda 0.3 --topics topics.parquet --out mmr.run
      srd rank mcts-model --rank-by value --topics topics.parquet --out value.run
      srd rank model --all --topics 'parts/*.parquet' --out parts.run
      srd rank model --k 10 < candidates.jsonl > rankings.jsonl
      srd rank safe --on-error record < candidates.jsonl > rankings.jsonl
    """

    OURS: ClassVar = rb"\S+ Q0 |# ir_metadata"
    MEANT: ClassVar = {
        "--run": "A run becomes topics by `srd data build trec --run FILE`. ",
        "--diversity": "It is a key of JSON lines; of mmr, --lambda is 1 less diversity. ",
    }
    """Help with options of others that are asked for here."""

    topics: Annotated[str | None, tyro.conf.arg(metavar="FILE|synthetic:PRESET")] = None
    """Topic file (Parquet), a folder of such files, a pattern ("parts/*.parquet"), "words", or
    "synthetic:PRESET[:TOPICS[:SEED]]". Files are read in parts, so a set may be larger than memory."""
    k: int = 10
    """Documents per ranking."""
    out: SomeFile = None
    """Run to write; needed with --topics."""
    actor: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Your name: --out begins with an ir_metadata header of it, the ranker, its options, the topics, versions and date.
    `srd compare` shows it; trec_eval, ndeval, ir_measures, ranx and PyTerrier refuse such a file."""
    all: bool = False
    """Rank every topic, including those that the model was trained on."""
    seed: int = 0
    """Random seed of a ranker that samples (random)."""
    jobs: int = 1
    """Processes that rank, each a row group of the files at a time. The run is that of one process."""
    engine: Literal["local", "ray"] = "local"
    """Place to rank: this machine, or Ray Data on the cluster that RAY_ADDRESS names or that runs here."""
    on_error: OnError = "stop"
    """Treatment of a JSON line that cannot be ranked. stop: end the command. skip: leave it out, with a notice. record:
    answer with the line's number and the error. After skip and record the exit code is 1."""
    pass_through: Annotated[Sequence[str], tyro.conf.arg(metavar="KEY...", constructor=list)] = ()
    """Further keys of JSON lines, which the answers repeat."""
    trust: bool = False
    """Let a ranker run code: "module:Class" of your own, a folder trained from one, or a file that can hold code (sb3:
    a zip file of Stable-Baselines3). Give it for files that you, or people you trust, have made."""
    json: bool = False
    """Print JSON about the run written."""


def first_words() -> dict[str, str]:
    """The rankers that need no training, and what each is."""
    return {spec.name: spec.summary for spec in RANKERS.values() if not spec.trainable}


def parse(args: Sequence[str], prog: str) -> RankCommand:
    """The command from its words; the first names a folder or a ranker.

    Raises:
        ValueError: none named.
    """
    words = list(args)
    if words[:1] in (["-h"], ["--help"]):
        last = _MORE.format(", ".join(OPTIONAL), ", ".join(pretrained_names()))
        overview("srd rank DIR|RANKER [OPTIONS]", Rank.__doc__, "Without training:", first_words(), last)
    if not words or words[0].startswith("-"):
        raise ValueError(f"name a model folder or a ranker first: {prog} DIR|RANKER --topics FILE --out RUN")
    target = words.pop(0)
    if words and not words[0].startswith("-"):
        raise ValueError(
            f"one ranker ranks, got {target} and {words[0]}; a topic file is named by --topics, and JSON lines come on "
            f"standard input: {prog} {target} < FILE"
        )
    prog, trust = f"{prog} {target}", "--trust" in words
    config: Any = None
    names: tuple[str, ...] = ()  # none of a folder without a trained ranker, which is refused when it is loaded
    folder = model_folder(target)
    if folder is not None and (folder / CONFIG_FILE).is_file():
        config, names = ranking_options(folder, trust=trust)
    elif folder is None:
        import_own(target, trust=trust)
        helped = not {"-h", "--help"}.isdisjoint(words)
        spec = RANKERS.find(target) if helped else find_untrained(target)
        config = spec.configure()
        if isinstance(config, TradeOffConfig):  # the weight means here what it means to `diversify`
            config = replace(config, relevance="matched")
        names = spec.ranking_options if spec.trainable else tuple(entry.name for entry in fields(config))
    if not names:
        return RankCommand(target, parsed(Rank, words, prog, reads=[target]), {})
    return RankCommand(target, *parsed_with_ranker(Rank, config, words, prog, only=names, reads=[target]))


@dataclass(frozen=True)
class RankCommand:
    """`srd rank`, ready to run."""

    target: str
    options: Rank
    config: dict[str, Any]

    def execute(self, output: Output) -> int:
        """Rank.

        Raises:
            ValueError: topics that the ranker cannot rank, or a malformed line (the message gives its number).
        """
        options = self.options
        check_integer("--k", options.k, 1)
        if (options.topics is None) != (options.out is None):
            raise ValueError("give both --topics FILE and --out FILE, or neither: JSON lines have answers, not a run")
        if options.topics is not None and (options.on_error != "stop" or options.pass_through):
            raise ValueError("--on-error and --pass-through are for JSON lines, not for --topics")
        if options.actor is not None and options.out is None:
            raise ValueError("--actor is for the header of a run: give it with --topics FILE and --out FILE")
        check_integer("--jobs", options.jobs, 1)
        if options.topics is None and (options.engine == "ray" or options.jobs > 1):
            who = "--engine ray" if options.engine == "ray" else "--jobs"
            raise ValueError(f"{who} needs --topics FILES; JSON lines are answered by this process")
        # Workers of Ray stand in folders of their own.
        target = str(Path(self.target).resolve()) if Path(self.target).is_dir() else self.target
        load = partial(load_model, target, self.config, options.seed, trust=options.trust)
        model = load()
        if not model.finished:
            output.notice(
                f"{self.target}: training has not ended (finish it with --resume); ranking by the best so far"
            )
        if options.topics is None or options.out is None:
            if sys.stdin is None:
                raise ValueError("standard input is closed; pipe JSON lines in, or give --topics FILE and --out FILE")
            # Bytes, as JSON is UTF-8 whatever the locale says (text without bytes behind it comes from tests).
            lines = getattr(sys.stdin, "buffer", sys.stdin)
            choices: Any = {"on_error": options.on_error, "pass_through": options.pass_through}
            return int(rank_lines(model, lines, output.text, options.k, notice=output.notice, **choices) > 0)
        self._rank_topics(load, model, topic_stream(options.topics), options.out, output)
        return 0

    def _rank_topics(
        self, load: Callable[[], Model], model: Model, topics: TopicStream, out: Path, output: Output
    ) -> None:
        """Write the run."""
        options = self.options
        topics.tell_foreign(model)
        test = None if options.all else model.test_query_ids
        query_ids = topics.query_ids(test)
        every = len(query_ids)
        count = every if test is None else len(test)
        if test is None:
            topics.tell_trained(model, query_ids)
        wanted = None if test is None else frozenset(test)
        with output.progress("rank", count) as advance:
            if options.engine == "ray":
                rankings = rank_on_ray(load, topics, options.k, wanted, advance)
            elif options.jobs > 1:
                rankings = rank_on_processes(load, topics, options.k, wanted, advance, options.jobs)
            else:
                rankings = rank_stream(model, topics, options.k, wanted, advance)
            write_run(out, rankings, model.name, self._metadata(model) if options.actor else None)
        part = "" if count == every else f" of {every} (the model's test fold; --all ranks every one)"
        about = {"run": str(out), "ranker": model.name, "topics": count, "k": options.k}
        output.outcome(about, f"{out}: top {options.k} of {count} topics{part}")

    def _metadata(self, model: Model) -> dict[str, Any]:
        """Who ranked what, with which model and when, by the keys of ir_metadata; the date is ours."""
        options = self.options
        ranker = {"name": model.name, "method": self.target, **self.config, "k": options.k}
        training = {key: value for key, value in model.metadata.items() if key != "test_query_ids"}
        return {
            "schema-version": 0.1,
            "tag": model.name,
            "actor": {"name": options.actor},
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "platform": {"software": {"libraries": versions()}},
            "implementation": {"source": {"commit": commit()}},
            "method": {"automatic": True, "retrieval": [ranker]},
            "data": {"test collection": {"name": options.topics}, "training data": training},
        }
