"""Topic sets by description: what recipes name, and how it is loaded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from srd_agents.training.options import Count, Positive, at_least
from srd_gym import data
from srd_gym.checks import check_option, unknown
from srd_gym.data.collection import Retrieve
from srd_gym.data.notices import tell
from srd_gym.data.synthetic import PRESETS
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.split import Parts
from srd_train.experiment.twins import Groups, alike, twins_of, without_documents_of_twins

DATA_VARIABLE = "SRD_DATA_DIR"
"""The environment variable that says where the recipes' real files are."""
MADE_VECTORS = ("lsa", "simulated")
"""Vectors that are made of the topics, not read from a file."""
_TEXTS = (
    *("perspectives", "key-points", "author-names", "word-senses", "medical-questions"),
    *("reference-lists", "textbook-sections", "clarifying-questions", "expert-questions"),
)
COLLECTIONS = tuple(f"texts/{name}" for name in _TEXTS)
"""Collections of texts, whose candidates a first stage finds."""
FOLDERS = {name: name for name in ("ambient", "rl4srd", "du-div", *COLLECTIONS)}
FOLDERS |= {"trec-indri": "trec-web"}
"""Topic sets of real files, and where these are below SRD_DATA_DIR."""
SOURCES = ("words", *FOLDERS)
"""Topic sets by name, besides files and synthetic ones."""
_SYNTHETIC = "synthetic:"
CONTENT = (
    *("source", "vectors", "qrels", "years", "retrieve", "width", "noise", "catalogue", "limit", "candidates", "drop"),
    "twins",
)
"""Options of a topic set that decide what is in it."""
Lacking = Literal["retrieval_scores", "query_vector", "subtopics", "pool"]
"""Parts that can be removed from topics."""
_EXCLUDED = {
    "shares make one split": ("shares", ("run_folds", "folds_file", "one_seed_a_fold")),
    "twins are kept together in folds that are drawn": ("twins", ("shares", "folds_file")),
    "together is for folds that are drawn by ids alone": ("together", ("twins", "shares", "folds_file")),
    "macro-averages are over topics that have all seeds": ("one_seed_a_fold", ("average",)),
}
"""Options that cannot be given with another one, by the reason."""


@dataclass(frozen=True, kw_only=True)
class TopicsEntry(Parts):
    """A topic set of a benchmark, and how it is split."""

    name: str
    """Its name in the tables."""
    source: str
    """A Parquet file, "words", "synthetic:PRESET[:TOPICS[:SEED]]", or real files: ambient, rl4srd, trec-indri,
    du-div, or texts/NAME."""
    vectors: str | None = None
    """None: those of the source. "lsa": fitted on the training fold only. "simulated": drawn from the judgments.
    Otherwise a file below SRD_DATA_DIR."""
    qrels: tuple[str, ...] = ()
    """Official judgments below SRD_DATA_DIR (patterns), for rl4srd: they give the pool."""
    years: tuple[int, ...] = ()
    """Years of the Web Track to keep, of trec-indri; none named: all."""
    retrieve: Retrieve | None = None
    """First stage of texts/NAME, as of `srd data build texts`; None: bm25."""
    width: Count = 64
    """Width of lsa and simulated embeddings."""
    noise: float | None = None
    """Noise of simulated embeddings; None: the default."""
    catalogue: int | None = None
    """Directions that topics with simulated embeddings share, their subtopics mapped to them at random; None: none."""
    limit: Annotated[int | None, at_least(3)] = None
    """Keep this many topics, drawn at random (always the same)."""
    candidates: Annotated[int | None, at_least(1)] = None
    """Keep only this many candidates of each topic, the first ones; a smaller topic stays whole."""
    drop: tuple[Lacking, ...] = ()
    """Parts of the topics to remove, to see who needs them: "retrieval_scores" (the candidates are shuffled then, as of
    any set without a retrieval order), "query_vector", "subtopics" (their texts and vectors), "pool" (the ideal is then
    the candidates'; topics without a relevant one go)."""
    folds: Annotated[int, at_least(3)] = 5
    """Number of folds to split the set into, or of those in `folds_file`."""
    folds_file: str | None = None
    """Published test sets instead, in a file here or below SRD_DATA_DIR."""
    run_folds: Annotated[tuple[int, ...], at_least(1)] = ()
    """Only these folds; none named: all of them."""
    one_seed_a_fold: bool = False
    """Whether fold i takes the i-th seed alone: as many trainings as folds, each with its own split, draw of training
    queries and test queries. Intervals and tests see how the folds differ. No part of a cell."""
    epochs_factor: Positive = 1.0
    """Factor of the epochs of learners, for sets with fewer training queries than those that the epochs are for."""
    rankers: tuple[str, ...] = ()
    """Rankers to run on it, by their names in the tables; none named: all. No part of a cell."""
    average: str = ""
    """Which macro-average it is part of, if any; see `srd_train.report.macro`. No part of a cell."""
    collection: str = ""
    """Sets of one collection count once in a macro-average. No part of a cell."""
    published: Mapping[str, float] = field(default_factory=dict)
    """Row's name in the tables -> its figure in a paper, of the recipe's first measure. Shown beside ours; no part of
    a cell."""
    published_source: str = ""
    """Which paper, set and measure the figures are of, and what else differs; stands below the table."""

    @property
    def fold_numbers(self) -> tuple[int, ...]:
        """The folds that are run, from 1 on."""
        if self.shares:
            return (1,)
        return self.run_folds or tuple(range(1, self.folds + 1))

    @property
    def content(self) -> TopicsEntry:
        """Settings that decide its topics: entries with equal content differ only in name, split, rows and tables."""
        return TopicsEntry(name="", **{name: getattr(self, name) for name in CONTENT})

    @property
    def parts(self) -> Parts:
        """Its changes of a split."""
        return Parts(**{part.name: getattr(self, part.name) for part in fields(Parts)})

    def __post_init__(self) -> None:
        super().__post_init__()
        for why, (name, others) in _EXCLUDED.items():
            if getattr(self, name) and any(getattr(self, other) for other in others):
                raise ValueError(f"{why}: leave out {name}, or {' and '.join(others)}")
        simulated = self.vectors == "simulated"
        used = {
            "years": self.source == "trec-indri",
            "retrieve": self.source in COLLECTIONS,
            "noise": simulated,
            "catalogue": simulated,
        }
        for name, of_use in used.items():
            if getattr(self, name) and not of_use:
                raise ValueError(f"nothing uses {name} with source {self.source!r} and vectors {self.vectors!r}")
        self._check_source()

    def _check_source(self) -> None:
        """Refuse topic sets that do not exist, before hours of work; a file is looked for when it is read."""
        if self.source.startswith(_SYNTHETIC):
            check_option(f"synthetic preset in {self.source!r}:", self.source.split(":")[1], PRESETS)
        elif self.source not in SOURCES and not (Path(self.source).suffix or os.path.exists(self.source)):
            raise unknown("topic set:", self.source, SOURCES, "A file of your own needs its path with its ending.")


def simulated(topics: TopicSet, width: int | None, noise: float | None, catalogue: int | None, seed: int) -> TopicSet:
    """The judged topics with vectors drawn from their judgments; a notice tells of the others.

    Args:
        topics: those to give vectors.
        width: F; None: 64.
        noise: as of `simulate_vectors`; None: 1.
        catalogue: as of `simulate_vectors`.
        seed: as of `simulate_vectors`.

    Raises:
        ValueError: no topic has judgments.
    """
    judged = topics.replace(topic for topic in topics if topic.labelled)
    if len(judged):
        unjudged = [topic.query_id for topic in topics if not topic.labelled]
        tell(topics.name, "topics have no judgments to draw vectors from and are left out", unjudged)
    drawn_for, noise = judged if len(judged) else topics, 1.0 if noise is None else noise
    return data.simulate_vectors(
        drawn_for, width=64 if width is None else width, noise=noise, catalogue=catalogue, seed=seed
    )


def patterns(entry: TopicsEntry) -> list[str]:
    """Patterns of the files that an entry reads below the folder of the real files."""
    named = [None if entry.vectors in MADE_VECTORS else entry.vectors, FOLDERS.get(entry.source)]
    return [*filter(None, [*named, entry.twins]), *entry.qrels]


def load_entry(entry: TopicsEntry) -> TopicSet:
    """The topic set that a recipe's entry names, with its vectors (lsa vectors are fitted later, on a fold).

    Raises:
        ValueError, FileNotFoundError: something is missing; the message says what to set or give.
    """
    topics = _loaded(entry)
    if entry.twins is not None:
        topics = without_documents_of_twins(topics, groups_in(entry, topics))
    if entry.limit is not None and entry.limit < len(topics):
        chosen = np.random.default_rng(0).choice(len(topics), size=entry.limit, replace=False)
        topics = topics.replace(topics[int(i)] for i in sorted(chosen))
    if entry.vectors == "simulated":
        topics = simulated(topics, entry.width, entry.noise, entry.catalogue, seed=0)
    if entry.candidates is not None or entry.drop:
        topics = topics.replace(_reduced(topic, entry, index) for index, topic in enumerate(topics))
    if "pool" in entry.drop:
        topics = topics.trainable()
    return topics


def groups_in(entry: TopicsEntry, topics: TopicSet) -> Groups:
    """The queries in groups, twins or those of like ids together; none where the entry does not look for them."""
    if entry.together:
        return alike(topics.query_ids, entry.together)
    return () if entry.twins is None else twins_of(topics.query_ids, matching(entry.twins)[0])


def data_root() -> Path:
    """The folder of the real files.

    Raises:
        FileNotFoundError: the variable is unset.
    """
    root = os.environ.get(DATA_VARIABLE)
    if not root:
        raise FileNotFoundError(
            f"the recipe needs real files, but {DATA_VARIABLE} is unset; set it to the folder that holds trec-web/, "
            "ambient/, rl4srd/, du-div/ and texts/ (`srd benchmark smoke` needs none)"
        )
    return Path(root)


def matching(pattern: str) -> list[Path]:
    """Files below the folder of the real files.

    Raises:
        FileNotFoundError: none matches.
    """
    root = data_root()
    files = sorted(root.glob(pattern))
    if not files:
        raise FileNotFoundError(
            f"the recipe needs {pattern}, but there is no such file below {root}, the folder that {DATA_VARIABLE} names"
        )
    return files


def folds_path(entry: TopicsEntry) -> Path | None:
    """The file of published folds that the entry names, if it names one."""
    if entry.folds_file is None:
        return None
    own = Path(entry.folds_file)
    return own if own.is_file() else matching(entry.folds_file)[0]


def _loaded(entry: TopicsEntry) -> TopicSet:
    """The entry's topics as its source has them."""
    file = None if entry.vectors in (None, *MADE_VECTORS) else matching(str(entry.vectors))[0]
    qrels = [path for pattern in entry.qrels for path in matching(pattern)]
    if entry.source == "ambient":
        return data.load_ambient(data_root() / "ambient", vectors=file)
    if entry.source in COLLECTIONS:
        # `srd data build` tells what is odd; a benchmark reads the set again and again.
        with warnings.catch_warnings(action="ignore", category=data.DataNotice):
            return data.load_texts(data_root() / entry.source, vectors=file, retrieve=entry.retrieve or "bm25")
    if entry.source == "du-div":
        return data.load_du_div(data_root() / "du-div", documents=file)
    if entry.source == "rl4srd":
        return data.load_rl4srd(data_root() / "rl4srd", documents=file, qrels=qrels or None)
    if entry.source == "trec-indri":
        run, judged, texts = (
            [path for year in entry.years or "*" for path in matching(f"trec-web/{year}.{ending}")]
            for ending in ("indri.run*", "diversity.qrels*", "topics.xml")
        )
        return data.load_trec(run=run, qrels=qrels or judged, topics=texts, vectors=file, name="trec-indri")
    if file is not None:
        raise ValueError(f"topics {entry.name!r}: {entry.source} brings its own vectors; leave vectors out")
    return data.load_topics(entry.source)


def _reduced(topic: Topic, entry: TopicsEntry, topic_index: int) -> Topic:
    """The topic with the candidates that the entry keeps, without what it removes."""
    topic = topic.take(np.arange(min(topic.n_candidates, entry.candidates or topic.n_candidates)))
    if "retrieval_scores" in entry.drop:
        order = np.random.default_rng([0, topic_index]).permutation(topic.n_candidates)  # another for each topic
        topic = replace(topic.take(order), retrieval_scores=None)
    if "subtopics" in entry.drop:
        topic = replace(topic, subtopic_texts=None, subtopic_vectors=None, subtopic_scores=None)
    if "pool" in entry.drop:
        topic = replace(topic, pool=None, pool_ids=None)
    return replace(topic, query_vector=None) if "query_vector" in entry.drop else topic
