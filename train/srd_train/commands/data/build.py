"""`srd data build`: a topic file from a data set, one command a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from srd_gym import data
from srd_gym.data.ambient import Order
from srd_gym.data.attach import Embedding
from srd_gym.data.collection import Retrieve
from srd_gym.data.fusion import Fusion
from srd_gym.data.synthetic import PRESETS
from srd_gym.in_memory import RunSource
from srd_gym.reading import twice_in
from srd_gym.topic import TopicSet
from srd_gym.trec_files import Order as RunOrder
from srd_gym.trec_files import Run
from srd_train.commands.console import Output
from srd_train.commands.options import File, Files, SomeFile
from srd_train.commands.runs import named_run
from srd_train.experiment.sources import MADE_VECTORS, simulated

RUNS = "runs"
"""Vectors that are ranks and scores of runs."""


@dataclass(frozen=True, kw_only=True)
class Build(ABC):
    """Options of every source, and the way from them to a file."""

    OURS: ClassVar = b"PAR1"

    out: File
    """The topic file to write (Parquet)."""
    vectors: Annotated[str | None, tyro.conf.arg(metavar="FILE|lsa|simulated|model:NAME|runs")] = None
    """Source of the embeddings. FILE: embeddings by document id (TSV, JSON, .npy, .npz, Parquet). model:NAME: a
    sentence-transformers model, by name or folder. lsa: fitted on the texts of all topics, and marked transductive
    (`srd train --vectors lsa` fits them on training topics only). simulated: drawn from the judgments, and marked
    simulated. runs: ranks and scores of the runs that --fuse fuses (trec)."""
    query_vectors: SomeFile = None
    """Embeddings by query id or query text."""
    missing: Literal["error", "drop"] = "error"
    """Treatment of documents without an embedding: stop, or drop them, and topics that are left without any."""
    width: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Width of lsa embeddings (default: 100) or simulated ones (default: 64)."""
    noise: float | None = None
    """Noise of simulated embeddings (default: 1) or synthetic topics (default: the preset's)."""
    catalogue: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Simulated embeddings: number of directions that all topics share. Each topic's subtopics are mapped to some of
    them at random (default: every topic has its own directions)."""
    seed: int = 0
    """Random seed of simulated embeddings and synthetic topics."""
    json: bool = False
    """Print JSON about the file written."""

    @property
    def any_vectors(self) -> Path | data.LsaVectorizer | Embedding | None:
        """The vectors that --vectors names, but for simulated ones: a file, or what makes vectors of texts."""
        if self.vectors in (None, "simulated", RUNS):
            return None
        if self.vectors == "lsa":
            return data.LsaVectorizer(self.width or 100)
        if self.vectors.startswith("model:"):
            model = partial(data.embed_texts, self.vectors.removeprefix("model:"))
            model.encoder = self.vectors  # type: ignore[attr-defined]  # what the topic file keeps
            return model
        return Path(self.vectors)

    @property
    def vector_file(self) -> Path | None:
        """The file that --vectors names, if it names one."""
        return vectors if isinstance(vectors := self.any_vectors, Path) else None

    def own(self, *without: str) -> dict[str, Any]:
        """The options that this source alone has, but for some, as its loader takes them; no files are None."""
        names = {entry.name for entry in fields(self)} - {entry.name for entry in fields(FolderBuild)} - {*without}
        return {name: None if (value := getattr(self, name)) == () else value for name in names}

    def check(self) -> None:
        """Refuse options that nothing would use, before files are read.

        Raises:
            ValueError: --noise, --catalogue or --width without vectors that are made with them.
        """
        for option, kinds in {"noise": ["simulated"], "catalogue": ["simulated"], "width": MADE_VECTORS}.items():
            if getattr(self, option) is not None and self.vectors not in kinds:
                wanted = " or ".join(f"--vectors {kind}" for kind in kinds)
                raise ValueError(f"--{option} is of vectors that are made: give {wanted} with it, or leave it out")
        if self.vectors == RUNS and not (isinstance(self, Trec) and self.fuse):
            raise ValueError(
                "--vectors runs are ranks and scores of fused runs: use `srd data build trec` with several files as "
                "--run, and --fuse"
            )

    @abstractmethod
    def load(self, output: Output) -> TopicSet:
        """The topics of the source, with vectors where a file has them."""

    def execute(self, output: Output) -> int:
        """Load, add vectors, write.

        Raises:
            FileNotFoundError, ValueError: what the source or the vectors lack; the message says what to do.
        """
        self.check()
        topics = self.load(output)
        if topics.vector_width is None:
            topics = self._with_made_vectors(topics)
        if self.query_vectors is not None:
            topics = data.attach_vectors(
                topics, queries=data.read_vectors(self.query_vectors, part="query"), missing=self.missing
            )
        data.write_topics(self.out, topics)
        about = {"file": str(self.out), "name": topics.name, "topics": len(topics)}
        about |= {"vector_width": topics.vector_width, "marks": list(topics.marks)}
        then = "texts wait for them" if any(topic.doc_texts for topic in topics) else "--vectors adds some"
        width = f"vector width {topics.vector_width}" if topics.vector_width else f"no vectors ({then})"
        judged = [] if any(topic.labelled for topic in topics) else ["none of them judged"]
        output.outcome(about, ", ".join([f"{self.out}: {len(topics)} topics", width, *judged, *topics.marks]))
        return 0

    def _with_made_vectors(self, topics: TopicSet) -> TopicSet:
        """The topics with vectors made of their judgments or texts, where --vectors says so."""
        if self.vectors == "simulated":
            return simulated(topics, self.width, self.noise, self.catalogue, self.seed)
        made = self.any_vectors
        if isinstance(made, data.LsaVectorizer):
            return made.fit_topics(topics).apply(topics, transductive=True)
        return data.embed_topics(topics, made, encoder=self.vectors) if callable(made) else topics


@dataclass(frozen=True, kw_only=True)
class FolderBuild(Build):
    """Options of a source in a folder."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """The folder that holds the files."""


@dataclass(frozen=True, kw_only=True)
class Ambient(FolderBuild):
    """Make a topic file from a folder in AMBIENT's format.

    The folder holds topics.txt, subTopics.txt, results.txt and STRel.txt (tab-separated).

    Examples:
      srd data build ambient ambient --out texts.parquet
      srd data build ambient ambient --vectors minilm.npz --out ambient.parquet
      srd data build ambient other-set --order bm25 --out other.parquet
    """

    order: Order = "file"
    """Order of the candidates. file: by the numbers of the results, a search engine's ranks. none: a fixed shuffle,
    where these numbers mean nothing. bm25: needs the package bm25s. cosine: needs --vectors of results and
    queries."""
    strict: bool = False
    """Stop at judgments that name results of another topic. They are left out otherwise."""

    def load(self, output: Output) -> TopicSet:
        """AMBIENT's topics."""
        return data.load_ambient(self.folder, vectors=self.vector_file, missing=self.missing, **self.own())


def run_names(words: Files) -> list[str]:
    """The names of runs that are fused, NAME of "NAME=FILE[,FILE]" or that of the file, each another.

    Raises:
        ValueError: two runs of one name.
    """
    names = [run.name or run.file_name for run in map(named_run, words)]
    if twice := twice_in(names):
        raise ValueError(f"runs: {twice!r} is the name of two; name one of them: --run NAME=FILE")
    return names


def separate_runs(words: Files, order: RunOrder) -> list[Run]:
    """The runs of words, each of one file or of parts joined by commas."""
    return [data.read_run(named_run(word).files, order=order) for word in words]


def candidates(files: Files, fuse: Fusion | None, order: RunOrder = "score") -> RunSource | None:
    """The run of these files: parts of one, or several fused into one; None without files."""
    if fuse:
        return data.fuse_runs(separate_runs(files, order), fuse)
    return files or None if order == "score" else data.read_run(files, order=order)


@dataclass(frozen=True, kw_only=True)
class Texts(FolderBuild):
    """Make a topic file from a collection of texts; candidates come from a first stage or a run.

    The folder holds corpus.jsonl and queries.jsonl, and optionally subtopics.jsonl and diversity.qrels (plain or .gz).

    Examples:
      srd data build texts my-texts --vectors lsa --out mine.parquet
      srd data build texts my-texts --retrieve bm25 --out texts.parquet
      srd data build texts my-texts --run my.run --out reranked.parquet
    """

    run: Files = ()
    """A TREC run, in place of the first stage: candidates and their scores. Several files are parts of one run."""
    fuse: Fusion | None = None
    """Take the files of --run as several runs, and fuse them: by reciprocal ranks, CombSUM or CombMNZ."""
    retrieve: Retrieve = "cosine"
    """The first stage. cosine: needs --vectors, of documents and queries. bm25: needs the package bm25s. hybrid: both,
    fused by reciprocal ranks. none: the candidates are the judged documents of each query, in a fixed shuffle."""
    depth: int = 100
    """Largest number of candidates per query."""

    def load(self, output: Output) -> TopicSet:
        """The folder's topics."""
        with output.progress("retrieve") as advance:
            run, own = candidates(self.run, self.fuse), self.own("run", "fuse")
            return data.load_texts(
                self.folder, advance=advance, vectors=self.any_vectors, run=run, missing=self.missing, **own
            )


@dataclass(frozen=True, kw_only=True)
class Rl4srd(FolderBuild):
    r"""Make a topic file from MDP-DIV's published files.

    The folder holds query_doc.json and query_permutation.json, and optionally query_representation.dat and
    doc_representation.dat (plain or .gz). The published order leaks the labels, so candidates are shuffled.

    Example:
      srd data build rl4srd rl4srd --qrels trec-web/*.qrels.gz \
          --vectors simulated --out topics.parquet
    """

    qrels: Files = ()
    """Official diversity judgments, which give the pool. Without them the ideal ranking is of the candidates."""

    def load(self, output: Output) -> TopicSet:
        """MDP-DIV's topics."""
        return data.load_rl4srd(self.folder, documents=self.vector_file, missing=self.missing, **self.own())


@dataclass(frozen=True, kw_only=True)
class DuDiv(FolderBuild):
    """Make a topic file from the DU-DIV label file.

    The folder holds query_doc_subtopics_doc15_2.json (plain or .gz). Its order leaks the labels, so candidates
    are shuffled.

    Example:
      srd data build du-div du-div --vectors simulated --out topics.parquet
    """

    def load(self, output: Output) -> TopicSet:
        """DU-DIV's topics."""
        return data.load_du_div(self.folder, documents=self.vector_file, missing=self.missing)


@dataclass(frozen=True, kw_only=True)
class Synthetic(Build):
    """Generate a topic file.

    Examples:
      srd data build synthetic serp --topics 1000 --out serp.parquet
      srd data build synthetic tiny --out tiny.parquet
    """

    preset: tyro.conf.Positional[str]
    """Preset: tiny (for trials), serp (15 documents, shared subtopics) or web (200 documents, query-specific
    subtopics)."""
    topics: int = 1000
    """Number of topics."""

    def check(self) -> None:
        """Refuse vectors from elsewhere."""
        if (self.vectors, self.query_vectors, self.catalogue) != (None, None, None):
            presets = ", ".join(PRESETS)
            raise ValueError(
                f"synthetic topics come with vectors: leave out --vectors and --catalogue (presets: {presets})"
            )

    def load(self, output: Output) -> TopicSet:
        """Generated topics."""
        given = {name: value for name in ("noise", "width") if (value := getattr(self, name)) is not None}
        topics = data.generate(self.preset, n_topics=self.topics, seed=self.seed, **given)
        marks = ", ".join(f"{name} {value:g}" for name, value in given.items())
        return topics.replace(topics, name=f"{topics.name} ({marks})") if marks else topics


@dataclass(frozen=True, kw_only=True)
class IrDatasets(Build):
    r"""Make a topic file from a dataset of the library ir_datasets (pip install "srd-gym[ir]").

    Candidates are the run's, else the dataset's scored documents.

    Example:
      srd data build ir-datasets clueweb09/en/trec-web-2009/diversity \
          --run r.gz --no-texts --out topics.parquet
    """

    dataset: tyro.conf.Positional[str]
    """Id of the dataset; https://ir-datasets.com lists them."""
    run: Files = ()
    """The retrieval run: candidates and their scores."""
    no_texts: bool = False
    """Leave out the documents' texts, which need the collection itself."""

    def load(self, output: Output) -> TopicSet:
        """The dataset's topics."""
        run, texts, vectors = self.run or None, not self.no_texts, self.vector_file
        return data.load_ir_datasets(self.dataset, run=run, texts=texts, vectors=vectors, missing=self.missing)


@dataclass(frozen=True, kw_only=True)
class Nuggets(Build):
    r"""Make a topic file from nugget judgments, with nuggets as subtopics.

    Reads the files of TREC RAG (nuggetizer), FreshStack and CRUX: JSON lines, whose keys tell their kind.

    Examples:
      srd data build nuggets assignments.jsonl --out rag.parquet
      srd data build nuggets topic.jsonl subtopics.jsonl ratings.jsonl \
          --threshold 4 --run bm25.run --out crux.parquet
    """

    files: tyro.conf.Positional[Files]
    """Files of judgments, plain or gzip."""
    run: Files = ()
    """TREC runs, whose documents are the candidates. Without them: the judged passages, in a fixed shuffle."""
    threshold: Annotated[int | None, tyro.conf.arg(metavar="GRADE")] = None
    """Lowest grade that counts as relevant. nuggetizer: 2 is support (default), 1 partial support. FreshStack: 1.
    CRUX: 0 to 5 (default: 3)."""
    importance: Literal["all", "vital"] = "all"
    """Nuggets that count (nuggetizer): all, or the vital ones only."""
    texts: Annotated[Files, tyro.conf.arg(aliases=["--corpus"])] = ()
    """The documents' texts: JSON lines in BEIR's format (corpus.jsonl), plain or gzip."""

    def load(self, output: Output) -> TopicSet:
        """The topics of the files."""
        return data.load_nuggets(self.files, vectors=self.vector_file, missing=self.missing, **self.own("files"))


@dataclass(frozen=True, kw_only=True)
class Trec(Build):
    r"""Make a topic file from TREC files.

    Example:
      srd data build trec --qrels q.gz --run r.gz --topics t.xml \
          --vectors docs.tsv --missing drop --out topics.parquet
    """

    run: Files
    """The retrieval run: candidates and their scores. Several files are parts of one run."""
    fuse: Fusion | None = None
    """Take the files of --run as several runs, [NAME=]FILE[,FILE], and fuse them: by reciprocal ranks, CombSUM or
    CombMNZ."""
    order: RunOrder = "score"
    """Order of a run: by score, by its rank column, or as pyndeval; see srd compare."""
    qrels: Files = ()
    """Diversity judgments, plain or gzip. Topics without judgments can be ranked, not trained on."""
    topics: Files = ()
    """Queries: lines id<TAB>text or id:text, JSON lines (BEIR, MS MARCO), TREC <top> or Web Track XML."""
    subtopics: Files = ()
    """Named subtopics, in place of those of Web Track XML: lines query<TAB>subtopic<TAB>text or query<TAB>text, or JSON
    lines {"query_id": ..., "subtopics": [...]}."""
    texts: Annotated[Files, tyro.conf.arg(aliases=["--corpus"])] = ()
    """The documents' texts: JSON lines in BEIR's format (corpus.jsonl), plain or gzip; --vectors lsa needs them."""

    def load(self, output: Output) -> TopicSet:
        """TREC's topics."""
        own = self.own("fuse", "order") | {"run": candidates(self.run, self.fuse, self.order)}
        topics = data.load_trec(vectors=self.vector_file, missing=self.missing, **own)
        if self.vectors != RUNS:
            return topics
        return data.with_runs(topics, dict(zip(run_names(self.run), separate_runs(self.run, self.order), strict=True)))
