"""`srd data build`: a topic file from a data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from srd_gym.data.ambient import load_ambient
from srd_gym.data.du_div import load_du_div
from srd_gym.data.parquet import write_topics
from srd_gym.data.rl4srd import load_rl4srd
from srd_gym.data.synthetic import PRESETS, generate
from srd_gym.data.trec import load_trec
from srd_gym.topic import TopicSet
from srd_train.commands.options import File, Files, SomeFile, SomeNumber, parsed
from srd_train.commands.output import Output
from srd_train.experiment.sources import MADE_VECTORS, Vectors, with_made_vectors, with_query_vectors


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """What every source takes."""

    out: File
    """The topic file to write (Parquet)."""
    vectors: Annotated[str | None, tyro.conf.arg(metavar="FILE|lsa|simulated|model:NAME")] = None
    """FILE: vectors by document id (TSV, .npy, .npz, Parquet). lsa: of the texts of all topics, marked transductive
    (better: leave it out and give `srd train --vectors lsa`). simulated: drawn from the judgments, marked simulated.
    model:NAME: a sentence-transformers model, by name or folder."""
    query_vectors: SomeFile = None
    """FILE: vectors by query id or query text."""
    missing: Literal["error", "drop"] = "error"
    """What to do about documents without a vector: stop, or leave them out (then topics left without any)."""
    width: SomeNumber = None
    """F of lsa vectors (default 100) and simulated ones (default 64)."""
    noise: float = 1.0
    """Of simulated vectors."""
    seed: int = 0
    """Of simulated vectors and synthetic topics."""
    json: bool = False
    """Print JSON about the file written."""

    @property
    def vector_file(self) -> Path | None:
        """The file that --vectors names, if it names one."""
        if self.vectors is None or self.vectors in MADE_VECTORS or self.vectors.startswith("model:"):
            return None
        return Path(self.vectors)


@dataclass(frozen=True, kw_only=True)
class FolderOptions(BuildOptions):
    """What a source in a folder takes."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """The folder that holds the files."""


@dataclass(frozen=True, kw_only=True)
class Ambient(FolderOptions):
    """Make a topic file from a folder in AMBIENT's format.

    The folder holds topics.txt, subTopics.txt, results.txt and STRel.txt (tab-separated).

    Examples:
      srd data build ambient ambient --out texts.parquet
      srd data build ambient ambient --vectors ambient/minilm-384.npz --out ambient.parquet
    """


@dataclass(frozen=True, kw_only=True)
class Rl4srd(FolderOptions):
    """Make a topic file from MDP-DIV's published files.

    The folder holds query_doc.json, query_permutation.json, and where at hand query_representation.dat and
    doc_representation.dat (plain or .gz). The published order leaks the labels: candidates are shuffled.

    Example:
      srd data build rl4srd rl4srd --qrels trec-web/*.qrels.gz --vectors simulated --out topics.parquet
    """

    qrels: Files = ()
    """Official diversity judgments, which give the pool; without them the ideal comes from the candidates."""


@dataclass(frozen=True, kw_only=True)
class DuDiv(FolderOptions):
    """Make a topic file from the DU-DIV label file.

    The folder holds query_doc_subtopics_doc15_2.json (plain or .gz). Its order leaks the labels: candidates are
    shuffled.

    Example:
      srd data build du-div du-div --vectors simulated --noise 2 --out topics.parquet
    """


@dataclass(frozen=True, kw_only=True)
class Synthetic(BuildOptions):
    """Generate a topic file.

    Examples:
      srd data build synthetic serp --topics 1000 --out serp.parquet
      srd data build synthetic tiny --out tiny.parquet
    """

    preset: tyro.conf.Positional[str]
    """tiny (for trying things), serp (15 documents, shared subtopics) or web (200 documents, private subtopics)."""
    topics: int = 1000
    """How many topics."""


@dataclass(frozen=True, kw_only=True)
class Trec(BuildOptions):
    """Make a topic file from TREC files.

    Example:
      srd data build trec --qrels q.gz --run r.gz --topics t.xml --vectors docs.tsv --missing drop --out topics.parquet
    """

    run: Files
    """The retrieval run: candidates and their scores."""
    qrels: Files = ()
    """Diversity judgments, plain or gzip; without them the topics can be ranked, not trained on."""
    topics: Files = ()
    """Topics files (XML) with query and subtopic texts."""


def _ambient(options: Ambient) -> TopicSet:
    return load_ambient(options.folder, vectors=options.vector_file, missing=options.missing)


def _rl4srd(options: Rl4srd) -> TopicSet:
    return load_rl4srd(
        options.folder, documents=options.vector_file, qrels=options.qrels or None, missing=options.missing
    )


def _du_div(options: DuDiv) -> TopicSet:
    return load_du_div(options.folder, documents=options.vector_file, missing=options.missing)


def _synthetic(options: Synthetic) -> TopicSet:
    if options.vectors is not None or options.query_vectors is not None:
        raise ValueError(f"synthetic topics come with vectors: leave out --vectors (presets: {', '.join(PRESETS)})")
    return generate(options.preset, n_topics=options.topics, seed=options.seed)


def _trec(options: Trec) -> TopicSet:
    return load_trec(
        qrels=options.qrels or None,
        run=options.run,
        topics=options.topics or None,
        vectors=options.vector_file,
        missing=options.missing,
    )


@dataclass(frozen=True)
class BuildCommand:
    """`srd data build SOURCE`, ready to run."""

    options: BuildOptions
    load: Callable[[], TopicSet]

    def run(self, output: Output) -> int:
        """Load, add vectors, write.

        Raises:
            FileNotFoundError, ValueError: what the source or the vectors lack; the message says what to do.
        """
        options = self.options
        topics = self.load()
        made = options.vectors if options.vector_file is None else None
        if made is not None:
            wanted = Vectors(kind=made, width=options.width, noise=options.noise, seed=options.seed)
            topics = with_made_vectors(topics, wanted)
        if options.query_vectors is not None:
            topics = with_query_vectors(topics, options.query_vectors, options.missing)
        write_topics(options.out, topics)
        marks = ", ".join(topics.marks)
        if options.json:
            output.data(
                {
                    "file": str(options.out),
                    "name": topics.name,
                    "topics": len(topics),
                    "vector_width": topics.vector_width,
                    "marks": list(topics.marks),
                }
            )
            return 0
        width = f"vector width {topics.vector_width}" if topics.vector_width else "no vectors (texts wait for them)"
        output.notice(f"{options.out}: {len(topics)} topics, {width}{f', {marks}' if marks else ''}")
        return 0


def parse_ambient(args: Sequence[str], prog: str) -> BuildCommand:
    """`srd data build ambient` from its words."""
    options = parsed(Ambient, args, prog)
    return BuildCommand(options, lambda: _ambient(options))


def parse_rl4srd(args: Sequence[str], prog: str) -> BuildCommand:
    """`srd data build rl4srd` from its words."""
    options = parsed(Rl4srd, args, prog)
    return BuildCommand(options, lambda: _rl4srd(options))


def parse_du_div(args: Sequence[str], prog: str) -> BuildCommand:
    """`srd data build du-div` from its words."""
    options = parsed(DuDiv, args, prog)
    return BuildCommand(options, lambda: _du_div(options))


def parse_synthetic(args: Sequence[str], prog: str) -> BuildCommand:
    """`srd data build synthetic` from its words."""
    options = parsed(Synthetic, args, prog)
    return BuildCommand(options, lambda: _synthetic(options))


def parse_trec(args: Sequence[str], prog: str) -> BuildCommand:
    """`srd data build trec` from its words."""
    options = parsed(Trec, args, prog)
    return BuildCommand(options, lambda: _trec(options))
