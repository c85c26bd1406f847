"""Runs as command lines name them: `[NAME=]FILE[,FILE]...`; the file `-` is standard input."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from srd_gym.files import PathLike
from srd_gym.in_memory import as_qrels
from srd_gym.measures import parse_measure
from srd_gym.measures.label_free import LabelFree
from srd_gym.reading import numbered_lines, shown
from srd_gym.topic import TopicSet
from srd_gym.trec_files import Qrels, read_weights

STANDARD_INPUT = "-"
_WIDTH = 256
"""Dimensions of vectors made of words."""


@dataclass(frozen=True)
class NamedRun:
    """One run of a command line."""

    word: str
    """As it was typed."""
    name: str | None
    """Text before "=", if there is one."""
    files: tuple[str, ...]
    """The files that hold it together."""

    @property
    def file_name(self) -> str:
        """The name that it has by its files: theirs, without their endings."""
        stems = [re.sub(r"(?<=.)(\.run|\.txt)?(\.gz|\.xz|\.bz2)?$", "", Path(file).name) for file in self.files]
        return ",".join("standard input" if stem == STANDARD_INPUT else stem for stem in stems)


def named_run(word: str) -> NamedRun:
    """The run that a word of the command line stands for.

    Args:
        word: `FILE`, `NAME=FILE`, or with several files joined by commas. A file that exists under the whole word, or
            under all that follows "NAME=", is that file. A NAME holds neither "/" nor ",".

    Raises:
        ValueError: an empty name, or an empty file name.
    """
    before, equals, files = word.partition("=")
    name: str | None = before
    if os.path.exists(word) or not equals or "/" in before or "," in before:
        name, files = None, word
    several = (files,) if os.path.exists(files) else tuple(files.split(","))
    if name == "" or "" in several:
        what = "name" if name == "" else "file"
        raise ValueError(f"run {word!r}: a {what} is empty; expected FILE, NAME=FILE or FILE,FILE without spaces")
    return NamedRun(word, name, several)


def trec_lines(
    per_topic: Mapping[str, Mapping[str, float]], means: Mapping[str, float], name: str | None = None
) -> str:
    """Lines "measure topic value", separated by tabs as trec_eval writes them; means are of the topic "all".

    Args:
        per_topic: topic -> measure -> value.
        means: measure -> mean.
        name: of the run, which a first line tells.
    """
    lines = [f"runid\tall\t{name}"] if name else []
    for topic, values in [*per_topic.items(), ("all", means)]:
        lines += [f"{measure}\t{topic}\t{value:.6f}" for measure, value in values.items()]
    return "".join(f"{line}\n" for line in lines)


def qrels_of(words: Sequence[PathLike], weights: Sequence[PathLike] = ()) -> Qrels:
    """The qrels that words of the command line stand for, files or a dataset of ir_datasets; with weights of files."""
    qrels = as_qrels(words[0] if len(words) == 1 and isinstance(words[0], str) else words)
    return qrels.weighted(read_weights(weights)) if weights else qrels


def sources_of(file: PathLike | None) -> dict[str, str] | None:
    """Sources of documents, from a file of lines "document<TAB>source"; None without a file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a malformed line, or a document twice; the message gives file and line.
    """
    if not file:
        return None
    sources: dict[str, str] = {}
    for number, line in numbered_lines(file, "sources"):
        doc_id, _, source = (part.strip() for part in line.partition("\t"))
        if not (doc_id and source) or doc_id in sources:
            why = f"document {shown(doc_id)} is duplicated" if doc_id in sources else f"got {shown(line)}"
            raise ValueError(f"sources: {file}:{number}: expected document<TAB>source, each document once; {why}")
        sources[doc_id] = source
    return sources


def needs_vectors(measures: Iterable[str]) -> bool:
    """Whether one of the measures compares documents."""
    asked = [parse_measure(name) for name in measures]
    return any(isinstance(each, LabelFree) and each.needs == "vectors" for each in asked)


def with_vectors(topics: TopicSet, measures: Iterable[str]) -> TopicSet:
    """The topics, their texts made vectors by their words where a measure needs vectors and there are none.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    without = topics.vector_width is None and all(topic.doc_texts is not None for topic in topics)
    if not (without and len(topics) and needs_vectors(measures)):
        return topics
    from srd_gym.data import LsaVectorizer

    width = min(_WIDTH, sum(topic.n_candidates for topic in topics))
    return LsaVectorizer(width).fit_topics(topics).apply(topics, transductive=True)


def inputs(*groups: Sequence[str]) -> list[list[PathLike]]:
    """The files of each group, to be read; `-` is what standard input brings.

    Raises:
        ValueError: standard input twice, or closed.
    """
    if sum(list(group).count(STANDARD_INPUT) for group in groups) > 1:
        raise ValueError(f"{STANDARD_INPUT} (standard input) is given twice; it can be read once")
    return [[_StandardInput() if file == STANDARD_INPUT else file for file in group] for group in groups]


class _StandardInput(os.PathLike[str]):
    """A file of what standard input brings, kept as long as this object; messages call it "standard input"."""

    def __init__(self) -> None:
        if sys.stdin is None:
            raise ValueError("standard input is closed; give a file in place of -")
        self._folder = tempfile.TemporaryDirectory(prefix="srd-")
        with open(self, "wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)

    def __fspath__(self) -> str:
        return os.path.join(self._folder.name, "standard-input")

    def __str__(self) -> str:
        return "standard input"
