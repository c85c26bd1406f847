"""What the `topics` argument of an environment may be."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from weakref import WeakValueDictionary

from srd_gym.core.arrays import TopicArrays
from srd_gym.topic import TopicSet

TopicSource = TopicSet | TopicArrays | str | os.PathLike[str]

DEFAULT_TOPICS = "synthetic:serp"
"""The embedded topics: 1,000 of preset serp, seed 0."""


def topic_arrays(source: TopicSource, max_candidates: int | None) -> TopicArrays:
    """The arrays behind a `topics` argument; sub-environments with the same argument share one copy.

    Args:
        source: a topic set, its arrays, the path of a Parquet file, or a name such as "synthetic:serp".
        max_candidates: N; None takes the largest topic's.

    Raises:
        TypeError: something else.
        ValueError: an unknown name, a bad file, or a topic larger than `max_candidates`.
    """
    if isinstance(source, TopicSet | TopicArrays):
        return TopicArrays.of(source, max_candidates)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "topics must be a TopicSet, TopicArrays, the path of a Parquet file, or a name such as "
            f"{DEFAULT_TOPICS!r}; got {type(source).__name__}"
        )
    return TopicArrays.of(_loaded(source), max_candidates)


def _loaded(source: str | os.PathLike[str]) -> TopicSet:
    """The topic set of a name or a file; read once while somebody holds it and the file stays as it is."""
    if isinstance(source, str) and source.startswith("synthetic:"):
        return _generated(source)
    path = Path(source)
    state = path.stat() if path.is_file() else None
    key = (str(path.resolve()), 0 if state is None else state.st_mtime_ns, 0 if state is None else state.st_size)
    topics = _FILES.get(key)
    if topics is None:
        from srd_gym.data import load_topics

        topics = load_topics(source)
        _FILES[key] = topics
    return topics


@lru_cache(maxsize=4)
def _generated(name: str) -> TopicSet:
    """Synthetic topics, made once a process."""
    from srd_gym.data import load_topics

    topics: TopicSet = load_topics(name)
    return topics


_FILES: WeakValueDictionary[tuple[str, int, int], TopicSet] = WeakValueDictionary()
