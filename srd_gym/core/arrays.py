"""A topic set as padded arrays, which simulators and networks index by topic.

Shapes: T topics, N candidates (of the largest topic, or as asked), S subtopics (of the largest topic), F vector width.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any, Literal, cast
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from srd_gym.checks import check_integer
from srd_gym.dtypes import AnyArray
from srd_gym.reading import shown
from srd_gym.topic import FloatArray, GradeArray, Topic, TopicSet, as_topic_set
from srd_gym.topic_fields import read_only


class TopicArrays:
    """Read-only padded arrays of a topic set; padding is 0. Vectors are laid out only when somebody asks for them.

    Args:
        topics: the topics, at least one.
        max_candidates: N; None takes the largest topic's.

    Raises:
        ValueError: an empty set, or a topic with more than `max_candidates` candidates.
    """

    def __init__(self, topics: TopicSet, max_candidates: int | None = None) -> None:
        if len(topics) == 0:
            raise ValueError(f"topic set {shown(topics.name)} is empty; expected at least one topic")
        self.topics = topics
        self.query_ids = topics.query_ids
        self.max_candidates = _checked_width(topics, max_candidates)
        self.max_subtopics = topics.max_subtopics
        self.n_candidates: NDArray[np.int64] = read_only(np.array([topic.n_candidates for topic in topics], np.int64))
        """[T] int64, how many of the N rows are real."""
        self.labelled: NDArray[np.bool_] = read_only(np.array([topic.labelled for topic in topics], np.bool_))
        """[T] bool, whether the topic is judged."""
        self._cache: dict[object, object] = {}

    @classmethod
    def of(cls, topics: Topics, max_candidates: int | None = None) -> TopicArrays:
        """The arrays of a topic set, shared by all who ask for the same set while somebody holds them.

        Args:
            topics: the set, or topics in a list; arrays are returned as they are.
            max_candidates: N; None takes the largest topic's (or what the arrays have).

        Raises:
            TypeError: something else.
            ValueError: as the constructor, or arrays of another N than asked.
        """
        if isinstance(topics, TopicArrays):
            if max_candidates not in (None, topics.max_candidates):
                raise ValueError(
                    f"the topic arrays have room for {topics.max_candidates} candidates, but max_candidates="
                    f"{max_candidates} was asked for; pass the topic set, or leave max_candidates out"
                )
            return topics
        topics = as_topic_set(topics)
        key = (id(topics), _checked_width(topics, max_candidates))
        arrays = _SHARED.get(key)
        if arrays is None:
            arrays = _SHARED[key] = cls(topics, max_candidates)
        return arrays

    def __deepcopy__(self, memo: dict[int, object]) -> TopicArrays:
        # Read-only: copies of environments (and of Gymnasium's specs) share it.
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _arrays_of, (self.topics, self.max_candidates)

    def __len__(self) -> int:
        return len(self.topics)

    def __repr__(self) -> str:
        return f"TopicArrays({self.topics!r}, max_candidates={self.max_candidates})"

    @cached_property
    def judgments(self) -> GradeArray:
        """[T, N, S] int8, stored as given; 0 where unlabelled or padding."""
        return self._padded("judgments", np.int8, self.max_candidates, self.max_subtopics)

    @cached_property
    def documents(self) -> FloatArray:
        """[T, N, F] float32 document vectors; rows of padding are 0.

        Raises:
            ValueError: the topics have no vectors; the message says how to make some.
        """
        return self._padded("doc_vectors", np.float32, self.max_candidates, self.topics.require_vectors(_WHO))

    @property
    def documents_by_topic(self) -> FloatArray | DocumentsOnDemand:
        """`documents`, to be indexed by topic; beyond 512 MiB each topic's rows are laid out as they are asked for."""
        width = self.topics.require_vectors(_WHO)
        if "documents" in self.__dict__ or 4 * len(self) * self.max_candidates * width <= _LAID_OUT:
            return self.documents
        return DocumentsOnDemand(self.topics, (len(self), self.max_candidates, width))

    @cached_property
    def queries(self) -> FloatArray:
        """[T, F] float32 query vectors; 0 where a topic has none.

        Raises:
            ValueError: the topics have no document vectors.
        """
        return self._padded("query_vector", np.float32, self.topics.require_vectors(_WHO))

    @cached_property
    def retrieval_scores(self) -> FloatArray:
        """[T, N] float32; 0 in padding and where a topic has no retrieval order."""
        return self._padded("retrieval_scores", np.float32, self.max_candidates)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """[T, N] bool, the real candidates."""
        return read_only(np.arange(self.max_candidates) < self.n_candidates[:, None])

    def _padded(self, field: str, dtype: type[np.generic], *shape: int) -> AnyArray:
        """[T, *shape] a field of every topic; 0 where it has none."""
        out = np.zeros((len(self), *shape), dtype)
        for row, topic in zip(out, self.topics, strict=True):
            if (given := getattr(topic, field)) is not None:
                row[tuple(map(slice, given.shape))] = given
        return read_only(out)

    def covers(self, rel: int) -> NDArray[np.bool_]:
        """[T, N, S] bool, where the judgment is at least `rel`. Made once."""
        table: NDArray[np.bool_] = self.cache(("covers", rel), lambda: read_only(self.judgments >= rel))
        return table

    def cache(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Result of the first `make()` for this hashable key, kept for all who share the arrays."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


class DocumentsOnDemand:
    """[T, N, F] float32 document vectors of a set that is too large to lay out, such as a mapped one.

    Args:
        topics: the topics.
        shape: (T, N, F).
    """

    dtype = np.dtype(np.float32)

    def __init__(self, topics: TopicSet, shape: tuple[int, int, int]) -> None:
        self._topics, self.shape = topics, shape

    def __getitem__(self, topic: int) -> FloatArray:
        """[N, F], read-only; rows of padding are 0."""
        return read_only(self.take(np.array([topic]))[0])

    def take(
        self, topics: NDArray[np.int64], axis: Literal[0] = 0, out: FloatArray | None = None, mode: str = "raise"
    ) -> FloatArray:
        """[B, N, F], the rows of these topics, as `numpy.ndarray.take` gives them along the first axis."""
        rows = np.empty((len(topics), *self.shape[1:]), np.float32) if out is None else out
        for row, topic in zip(rows, topics.tolist(), strict=True):
            vectors = cast(FloatArray, self._topics[topic].doc_vectors)  # the set has been asked for its width
            row[: len(vectors)], row[len(vectors) :] = vectors, 0
        return rows


def _arrays_of(topics: TopicSet, max_candidates: int) -> TopicArrays:
    return TopicArrays.of(topics, max_candidates)


Topics = TopicSet | Iterable[Topic] | TopicArrays
"""Topics, as simulators take them."""

_WHO = "an environment with observation='full' (not 'compact')"

_LAID_OUT = 2**29
"""Bytes of documents that are laid out at once."""

_SHARED: WeakValueDictionary[tuple[int, int], TopicArrays] = WeakValueDictionary()
# Keyed by identity: arrays hold their topic set, so an id cannot be reused while its entry lives.

ENOUGH = 1_000_000
"""Most candidates, ranks or scores where the topics need no more: arrays of that size are made at once."""


def _checked_width(topics: TopicSet, max_candidates: int | None) -> int:
    """N, if every topic fits."""
    if max_candidates is None:
        return topics.max_candidates
    check_integer("max_candidates", max_candidates, 1, max(topics.max_candidates, ENOUGH))
    large = [topic.query_id for topic in topics if topic.n_candidates > max_candidates]
    if large:
        raise ValueError(
            f"max_candidates={max_candidates}, but {len(large)} topics of {shown(topics.name)} have more (the first "
            f"is {shown(large[0])}); raise it to {topics.max_candidates}, or shorten the topics with Topic.take"
        )
    return int(max_candidates)
