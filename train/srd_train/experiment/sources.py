"""Topic sets and their vectors by description: what `srd data build` makes and the recipes load."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from srd_gym import data
from srd_gym.checks import unknown
from srd_gym.reading import existing_file
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.recipe import COLLECTIONS, FOLDERS, TopicsEntry

DATA_VARIABLE = "SRD_DATA_DIR"
"""The environment variable that says where the recipes' real files are."""
MADE_VECTORS = ("lsa", "simulated")
"""Vectors that are made of the topics, not read from a file."""
_LSA_WIDTH, _SIMULATED_WIDTH = 100, 64


def with_made_vectors(
    topics: TopicSet,
    kind: str,
    *,
    width: int | None = None,
    noise: float = 1.0,
    seed: int = 0,
    catalogue: int | None = None,
) -> TopicSet:
    """The topics with vectors made of their texts (all of them: transductive) or of their judgments (simulated).

    Args:
        topics: those to give vectors.
        kind: "lsa", "simulated" or "model:NAME".
        width: F; None takes the kind's default.
        noise: of simulated vectors.
        seed: of simulated vectors.
        catalogue: of simulated vectors, as `simulate_vectors` takes it.

    Raises:
        ValueError: topics without texts, or without judgments.
        ImportError: what makes them is not installed.
    """
    if kind == "simulated":
        judged = topics.replace(topic for topic in topics if topic.labelled)
        if 0 < len(judged) < len(topics):
            left_out = [topic.query_id for topic in topics if not topic.labelled]
            warnings.warn(
                f"{topics.name}: {len(left_out)} topics without judgments are left out ({', '.join(left_out[:5])}): "
                "vectors can be simulated for judged topics only",
                data.DataNotice,
                stacklevel=2,
            )
        return data.simulate_vectors(
            judged if len(judged) else topics,
            width=width or _SIMULATED_WIDTH,
            noise=noise,
            seed=seed,
            catalogue=catalogue,
        )
    if kind == "lsa":
        vectorizer = data.LsaVectorizer(width or _LSA_WIDTH).fit_topics(topics)
        return vectorizer.apply(topics, transductive=True)
    if not kind.startswith("model:"):
        raise unknown("vectors", kind, (*MADE_VECTORS, "model:NAME"))

    model = kind.removeprefix("model:")
    return data.embed_topics(topics, lambda texts: data.embed_texts(model, texts))


def patterns(entry: TopicsEntry) -> list[str]:
    """What an entry reads below the folder of the real files."""
    named = [entry.texts, None if entry.vectors in MADE_VECTORS else entry.vectors, FOLDERS.get(entry.source)]
    return [*filter(None, named), *entry.qrels]


def check_files(entry: TopicsEntry) -> None:
    """Refuse an entry whose files are missing, before any is read.

    Raises:
        FileNotFoundError: the message names what is missing.
    """
    for pattern in patterns(entry):
        matching(pattern)
    if entry.source not in FOLDERS and Path(entry.source).suffix:
        existing_file(entry.source, "topic file")
    folds_path(entry)


def load_entry(entry: TopicsEntry) -> TopicSet:
    """The topic set that a recipe's entry names, with its vectors (lsa vectors are fitted later, on a fold).

    Raises:
        ValueError, FileNotFoundError: something is missing; the message says what to set or give.
    """
    topics = _loaded(entry)
    if entry.limit is not None and entry.limit < len(topics):
        chosen = np.random.default_rng(0).choice(len(topics), size=entry.limit, replace=False)
        topics = topics.replace(topics[int(i)] for i in sorted(chosen))
    if entry.vectors == "simulated":
        noise = 1.0 if entry.noise is None else entry.noise
        topics = with_made_vectors(topics, "simulated", width=entry.width, noise=noise, catalogue=entry.catalogue)
    if entry.texts is not None:
        topics = _composed(topics, entry, entry.texts)
    if entry.candidates is not None or entry.without:
        topics = topics.replace(_reduced(topic, entry, index) for index, topic in enumerate(topics))
    if "pool" in entry.without:
        topics = topics.trainable()
    return topics


def data_root() -> Path:
    """The folder of the real files.

    Raises:
        FileNotFoundError: the variable is unset, or names no folder.
    """
    root = os.environ.get(DATA_VARIABLE)
    if not root:
        raise FileNotFoundError(
            f"the recipe needs real files, but {DATA_VARIABLE} is unset; set it to the folder that holds trec-web/, "
            "ambient/, rl4srd/, du-div/, texts/ and wordnet/ (`srd benchmark smoke` needs none)"
        )
    folder = Path(root)
    if not folder.is_dir():
        raise FileNotFoundError(f"{DATA_VARIABLE}={root} is no folder; set it to the one that holds the real files")
    return folder


def matching(pattern: str) -> list[Path]:
    """Files below the folder of the real files.

    Raises:
        FileNotFoundError: none matches.
    """
    root = data_root()
    found = sorted(root.glob(pattern))
    if not found:
        raise FileNotFoundError(f"the recipe needs {pattern}, but there is no such file below {root}")
    return found


def folds_path(entry: TopicsEntry) -> Path | None:
    """The file of published folds that the entry names, if it names one."""
    if entry.folds_file is None:
        return None
    own = Path(entry.folds_file)
    return own if own.is_file() else matching(entry.folds_file)[0]


def _composed(topics: TopicSet, entry: TopicsEntry, texts: str) -> TopicSet:
    """The topics with vectors composed of texts, along the folds that the entry names."""
    folds = folds_path(entry)
    with warnings.catch_warnings(action="ignore", category=data.DataNotice):  # of what nothing is composed of
        collection = data.load_texts(matching(texts)[0], vectors=matching(str(entry.vectors))[0], retrieve="none")
    topics = topics.replace(topic for topic in topics if topic.labelled)
    parts = topics.folds(entry.folds, 0) if folds is None else topics.folds_from(data.read_folds(folds))
    return data.compose_topics(topics, collection, [part.test.query_ids for part in parts], recur=entry.recur)


def _loaded(entry: TopicsEntry) -> TopicSet:
    """The entry's topics as its source has them."""
    made = entry.vectors in (None, *MADE_VECTORS) or entry.texts is not None
    file = None if made else matching(str(entry.vectors))[0]
    qrels = [path for pattern in entry.qrels for path in matching(pattern)]
    if entry.source == "ambient":
        return data.load_ambient(data_root() / "ambient", vectors=file)
    if entry.source in (*COLLECTIONS, "wordnet"):
        load = data.load_wordnet if entry.source == "wordnet" else data.load_texts
        # `srd data build` tells what is odd; a benchmark reads the set again and again.
        with warnings.catch_warnings(action="ignore", category=data.DataNotice):
            return load(data_root() / FOLDERS[entry.source], vectors=file, retrieve=entry.retrieve or "bm25")
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
    if "retrieval_scores" in entry.without:
        order = np.random.default_rng([0, topic_index]).permutation(topic.n_candidates)  # another for each topic
        topic = replace(topic.take(order), retrieval_scores=None)
    if "subtopics" in entry.without:
        topic = replace(topic, subtopic_texts=None, subtopic_vectors=None)
    if "pool" in entry.without:
        topic = replace(topic, pool=None, pool_ids=None)
    return replace(topic, query_vector=None) if "query_vector" in entry.without else topic
