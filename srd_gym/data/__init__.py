"""Topic sets from everywhere: TREC files, texts, nuggets, AMBIENT, MDP-DIV's and DU-DIV's files, Parquet, a generator.

`load_topics` takes what the environments and the command take as `topics`. The loaders of published sets are
`load_trec`, `load_texts`, `load_nuggets`, `load_ambient`, `load_rl4srd` and `load_du_div`; what they have to say and
stop nothing by (documents left out, columns ignored) is a `DataNotice` warning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from weakref import WeakValueDictionary

from srd_gym.checks import near
from srd_gym.data.ambient import load_ambient
from srd_gym.data.attach import attach_vectors, embed_topics
from srd_gym.data.fusion import fuse_runs, with_runs
from srd_gym.data.ir_datasets import load_ir_datasets
from srd_gym.data.label_files import load_du_div, load_rl4srd
from srd_gym.data.lsa import LsaVectorizer
from srd_gym.data.notices import DataNotice
from srd_gym.data.nuggets import load_nuggets
from srd_gym.data.parquet import iter_topics, read_topics, write_topics
from srd_gym.data.queries import read_queries, read_subtopics, read_topics_xml
from srd_gym.data.simulate import simulate_vectors
from srd_gym.data.splits import read_folds
from srd_gym.data.synthetic import PRESETS, generate
from srd_gym.data.texts import load_texts
from srd_gym.data.trec import load_trec, topic_qrels, write_qrels
from srd_gym.data.vectors import VectorTable, embed_texts, read_vectors
from srd_gym.files import PathLike
from srd_gym.in_memory import as_qrels, as_run
from srd_gym.reading import shown, shown_text
from srd_gym.topic import Topic, TopicSet, as_topic_set
from srd_gym.trec_files import read_qrels, read_run, read_weights, write_run

__all__ = [
    "DataNotice",
    "LsaVectorizer",
    "VectorTable",
    "as_qrels",
    "as_run",
    "attach_vectors",
    "embed_texts",
    "embed_topics",
    "fuse_runs",
    "generate",
    "iter_topics",
    "load_ambient",
    "load_du_div",
    "load_ir_datasets",
    "load_nuggets",
    "load_rl4srd",
    "load_texts",
    "load_topics",
    "load_trec",
    "read_folds",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_subtopics",
    "read_topics",
    "read_topics_xml",
    "read_vectors",
    "read_weights",
    "simulate_vectors",
    "topic_qrels",
    "with_runs",
    "write_qrels",
    "write_run",
    "write_topics",
]

DEFAULT_TOPICS = 1_000
"""Topics of "synthetic:PRESET"."""

WORDS = Path(__file__).parent / "collections" / "words.parquet"
"""The file of "words": 40 queries with results to read, written for this package."""

_PREFIX = "synthetic:"
_NAME = re.compile(rf"{_PREFIX}([^:]*)(?::([0-9]+)(?::([0-9]+))?)?")


def load_topics(source: TopicSet | Iterable[Topic] | PathLike, *, vectors: bool = True) -> TopicSet:
    """Topic set of a name, a path or a set; read or generated once while somebody holds it and a file stays as it is.

    Args:
        source: a topic set (returned as it is); topics in a list; the path of a Parquet file; "words", the collection
            to read that comes with the package; or "synthetic:PRESET[:TOPICS[:SEED]]", the generator's topics (1,000
            topics and seed 0 unless given).
        vectors: False reads no vectors of a file, which hold most of it: judgments and texts need none.

    Raises:
        FileNotFoundError: no such file.
        TypeError: none of these.
        ValueError: an unknown preset, numbers that are none, a folder, or a file that is not a topic set.
    """
    if not isinstance(source, str | os.PathLike):
        return as_topic_set(source)
    if isinstance(source, str) and source.startswith(_PREFIX):
        return _synthetic(source)
    path = WORDS if source == WORDS.stem else Path(source)
    if not os.path.exists(path):
        alike = near(str(source), [WORDS.stem, *(f"{_PREFIX}{preset}" for preset in PRESETS)])
        meant = f"did you mean {' or '.join(alike)}? Or give" if alike else "give"
        raise FileNotFoundError(
            f'topics: no file at {shown_text(str(path))}; {meant} the path of a Parquet file, "{WORDS.stem}" for the '
            f'collection that comes with the package, or "{_PREFIX}serp" for generated topics'
        )
    if path.is_dir():
        raise ValueError(
            f"topics: {path} is a folder; make a Parquet file of it with `srd data build texts|ambient|"
            "rl4srd|du-div DIR --out FILE`, or load it in Python with srd_gym.data.load_ambient and its like"
        )
    state = path.stat()
    key = (str(path.resolve()), state.st_mtime_ns, state.st_ctime_ns, state.st_size, vectors)
    topics = _FILES.get(key)
    if topics is None:
        topics = _FILES[key] = read_topics(path, vectors=vectors)
    return topics


_FILES: WeakValueDictionary[tuple[str, int, int, int, bool], TopicSet] = WeakValueDictionary()


@lru_cache(maxsize=4)
def _synthetic(source: str) -> TopicSet:
    """The generator's topics, by name."""
    match = _NAME.fullmatch(source)
    if match is None:
        raise ValueError(
            f'topics: expected "{_PREFIX}PRESET[:TOPICS[:SEED]]" such as "{_PREFIX}serp:200:1", got {shown(source)}'
        )
    preset, count, seed = match.groups()
    topics = generate(preset, n_topics=int(count or DEFAULT_TOPICS), seed=int(seed or 0))
    topics._named = (load_topics, (source,))
    return topics
